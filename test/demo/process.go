package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// grace is how long a program has between being asked to stop and being killed.
const grace = 20 * time.Second

// program prepares one of the binaries with exactly the given environment. It runs in a process group of its own, so
// that Ctrl-C reaches the demo alone, which then ends things in order.
func (s *story) program(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.root, "bin", name), args...)
	cmd.Dir = s.root
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	return cmd
}

// bowline runs the command line tool in this process's environment and shows what it says.
func (s *story) bowline(ctx context.Context, args ...string) error {
	s.sayf("$ bin/bowline %s", strings.Join(args, " "))
	// A file and no pipe: the control plane that "up" leaves running would hold a pipe open, and Wait would not return.
	output, err := os.CreateTemp(s.scratch, "output-")
	if err != nil {
		return fmt.Errorf("making a file for the output: %w", err)
	}
	defer func() { _ = output.Close() }()
	cmd := s.program(ctx, os.Environ(), "bowline", args...)
	cmd.Stdout, cmd.Stderr = output, output
	failure := cmd.Run()
	text, err := os.ReadFile(output.Name())
	if err != nil {
		return fmt.Errorf("reading the output: %w", err)
	}
	s.quote(string(text))
	if failure != nil {
		return fmt.Errorf("running bowline %s: %w", args[0], failure)
	}
	return nil
}

// greeter runs the program with exactly this environment, shows and returns what it says. A status other than 0 is an
// *exec.ExitError.
func (s *story) greeter(ctx context.Context, env []string, args ...string) (string, error) {
	names := make([]string, 0, len(env))
	for _, pair := range env { // the values may be secret
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	s.sayf("$ %s    (environment: %s)", strings.Join(append([]string{"bin/greeter"}, args...), " "), listed(names))
	return s.output(ctx, env, "greeter", args...)
}

// bowlineRun runs a program with what a workload's container has, and nothing else, as whoever runs the demo; it shows and
// returns what it says.
func (s *story) bowlineRun(ctx context.Context, workload []string, program ...string) (string, error) {
	args := append(append([]string{"run"}, workload...), "--clean-env", "--keep-user", "--")
	args = append(args, program...)
	s.sayf("$ bin/bowline %s", strings.Join(args, " "))
	return s.output(ctx, os.Environ(), "bowline", args...)
}

// output runs one of the binaries, shows and returns what it says.
func (s *story) output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	text, err := s.program(ctx, env, name, args...).CombinedOutput()
	s.quote(string(text))
	if err != nil {
		return string(text), fmt.Errorf("running %s: %w", name, err)
	}
	return string(text), nil
}

// mustFail requires greeter to have ended by itself with a status other than 0, saying the words.
func mustFail(output string, err error, words string) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return errors.New("greeter succeeded where it had to fail")
	case !errors.As(err, &exit) || !exit.Exited():
		return err
	case !strings.Contains(output, words):
		return fmt.Errorf("greeter failed (%w), but without saying %q", err, words)
	default:
		return nil
	}
}

// address is the line that "greeter serve" prints once clients can connect.
type address struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// serve starts the NATS server, waits until it is ready and registers its end. It also ends when the demo does, since
// its standard input closes then.
func (s *story) serve(ctx context.Context, credentials string) (address, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := s.program(ctx, []string{}, "greeter", "serve", "--credentials", credentials, "--until-stdin-closes")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return address{}, fmt.Errorf("preparing the NATS server: %w", err)
	}
	cmd.Cancel = stdin.Close
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return address{}, fmt.Errorf("preparing the NATS server: %w", err)
	}
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if err := cmd.Start(); err != nil {
		cancel()
		return address{}, fmt.Errorf("starting the NATS server: %w", err)
	}
	s.later("stop the NATS server", func(context.Context) error {
		cancel()
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("waiting for the NATS server: %w", err)
		}
		return nil
	})
	return readAddress(stdout, &complaint)
}

// readAddress reads the server's line.
func readAddress(stdout io.Reader, complaint fmt.Stringer) (address, error) {
	var at address
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		return at, fmt.Errorf("waiting for the NATS server's port: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return at, nil
}

// listed joins names for a person.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
