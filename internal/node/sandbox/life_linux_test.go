package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/internal/node/sandbox"
)

func TestExit(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]sandbox.Exit{
		"exit 0":         {},
		"exit 7":         {Code: 7},
		"kill -TERM $$":  {Code: 143, Signal: syscall.SIGTERM},
		"kill -KILL $$":  {Code: 137, Signal: syscall.SIGKILL},
		"ulimit -n 5000": {},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			_, exit := run(t, dbSpec("sh", "-c", script), nil)
			if diff := cmp.Diff(want, exit); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func advises(err error) bool {
	advised, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	return ok && advised.Hint() != ""
}

func TestNothingStarted(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	for name, mode := range map[string]os.FileMode{"plain": 0o644, "broken": 0o755} {
		if err := os.WriteFile(filepath.Join(here, name), []byte("\x00no program"), mode); err != nil {
			t.Fatal(err)
		}
	}
	notFound := func(err error) bool { return errors.As(err, new(*sandbox.NotFoundError)) }
	stage := func(err error) bool { return errors.As(err, new(*sandbox.StageError)) }
	for reason, test := range map[string]struct {
		change func(*sandbox.Spec)
		env    []string
		is     func(error) bool
	}{
		"no such name":       {func(s *sandbox.Spec) { s.Command = []string{"no-such-program"} }, nil, notFound},
		"no such file":       {func(s *sandbox.Spec) { s.Command = []string{here + "/none"} }, nil, notFound},
		"a folder":           {func(s *sandbox.Spec) { s.Command = []string{here} }, nil, notFound},
		"not executable":     {func(s *sandbox.Spec) { s.Command = []string{here + "/plain"} }, nil, notFound},
		"no program in it":   {func(s *sandbox.Spec) { s.Command = []string{here + "/broken"} }, nil, notFound},
		"not in its PATH":    {func(s *sandbox.Spec) { s.Command = []string{"true"} }, []string{"PATH=" + here}, notFound},
		"no such folder":     {func(s *sandbox.Spec) { s.Dir = here + "/none" }, nil, stage},
		"a folder on a file": {func(s *sandbox.Spec) { s.Mounts[0].Path = here + "/plain" }, nil, stage},
		"too large":          {func(*sandbox.Spec) {}, []string{"X=" + strings.Repeat("x", 1<<20)}, stage},
		"far too large":      {func(*sandbox.Spec) {}, []string{"X=" + strings.Repeat("x", 33<<20)}, stage},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			spec := dbSpec("/bin/true")
			spec.Storage.Dir = memory(t)
			test.change(&spec)
			s := build(t, spec, nil)
			needNamespace(t, s)
			err := s.Start(test.env)
			if !test.is(err) || strings.Contains(err.Error(), "\n") || !advises(err) {
				t.Errorf("got %v, which advises: %v", err, advises(err))
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := syscall.Kill(s.PID(), 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the second stage is still there: %v", err)
			}
			if found := left(t, spec.Storage.Dir); len(found) > 0 {
				t.Errorf("left behind: %q", found)
			}
		})
	}
}

func TestEnvironmentAndArgumentsAreExact(t *testing.T) {
	t.Parallel()
	out := output(t)
	spec := dbSpec("/bin/sh", "-c", `printf '%s|' "$@"; cat /proc/$$/environ`, "", "a b", "\xff\xfe", "")
	spec.Stdout, spec.Stderr = out, out
	s := build(t, spec, nil)
	if err := s.Start([]string{"A=1", "B=\xff two\nlines", "A=2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a b|\xff\xfe||A=1\x00B=\xff two\nlines\x00A=2\x00", content(t, out)); diff != "" {
		t.Error(diff)
	}
}

func TestProgramInheritsOnlyWhatItWould(t *testing.T) {
	t.Parallel()
	script := []string{"-c", "umask; ulimit -n; for f in /proc/$$/fd/*; do echo ${f##*/}; done"}
	plain, err := exec.Command("sh", script...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []sandbox.Policy{sandbox.Auto, sandbox.Never} {
		spec := dbSpec(append([]string{"sh"}, script...)...)
		spec.Namespace = policy
		out, _ := run(t, spec, nil)
		if diff := cmp.Diff(string(bytes.TrimSpace(plain)), out); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSignalsArePassedOn(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH, "CONT": syscall.SIGCONT,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := fmt.Sprintf("trap 'echo got; exit 3' %s; echo ready; while :; do sleep 0.01; done", name)
			command, out := helper(t, "auto", memory(t), script)
			if err := command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the signal", func() bool { return strings.Contains(content(t, out), "got") })
			eventually(t, "the end", func() bool { return gone(command.Process.Pid) })
		})
	}
}

// gone says whether a process is no more. As long as its first thread waits to be reaped, others may still hold its files.
func gone(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return errors.Is(err, os.ErrNotExist)
}

// over says whether a process is no more, or waits to be reaped by who knows whom.
func over(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(status), ") Z ")
}

func TestWithoutNamespaces(t *testing.T) {
	t.Parallel()
	place := memory(t)
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), helperVariable+"="+deniedMode, helperPlace+"="+place, helperScript+`=cat "$DB/password"; exit 9`)
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	text, err := command.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || strings.Contains(string(text), "cannot:") {
		t.Skipf("SKIPPED, since it needs user namespaces: %v, %s", err, text)
	}
	want := "isolated: false no namespace can be had: namespaces are forbidden or used up here"
	if !strings.HasPrefix(string(text), want) || !strings.HasSuffix(string(text), "hunter2\n") || exit.ExitCode() != 9 {
		t.Errorf("got %v, %q", exit, text)
	}
	if found := left(t, place); len(found) > 0 {
		t.Errorf("left behind: %q", found)
	}
}

func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	command, out := helper(t, "auto", memory(t), "echo ready $$; while :; do sleep 0.01; done")
	program := programOf(t, out)
	state := func(pid int, want string) func() bool {
		return func() bool {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err == nil && strings.Contains(string(status), ") "+want+" ")
		}
	}
	if err := command.Process.Signal(syscall.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the supervisor to stop", state(command.Process.Pid, "T"))
	eventually(t, "the program to stop", state(program, "T"))
	if err := command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program to go on", func() bool { return !state(program, "T")() })
}

// programOf reads the process id that a script has printed after "ready".
func programOf(t *testing.T, out *os.File) int {
	t.Helper()
	fields := strings.Fields(content(t, out))
	pid, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestCleanedUpHoweverItEnds(t *testing.T) {
	t.Parallel()
	kill := func(c *exec.Cmd, _ int) error { return c.Process.Kill() }
	terminate := func(c *exec.Cmd, _ int) error { return c.Process.Signal(syscall.SIGTERM) }
	killProgram := func(_ *exec.Cmd, program int) error { return syscall.Kill(program, syscall.SIGKILL) }
	for name, test := range map[string]struct {
		mode string
		end  func(*exec.Cmd, int) error
	}{
		"killed, in a namespace":         {"auto", kill},
		"killed, in a folder":            {"never", kill},
		"terminated, in a namespace":     {"auto", terminate},
		"terminated, in a folder":        {"never", terminate},
		"program killed, in a namespace": {"auto", killProgram},
		"program killed, in a folder":    {"never", killProgram},
		"panic":                          {panicMode, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := memory(t)
			command, out := helper(t, test.mode, place, "echo ready $$; exec sleep 600")
			program := programOf(t, out)
			if held := sweep(t, place); held != 1<<10 {
				t.Errorf("a living run holds %d bytes, want what it reserved", held)
			}
			if test.end == nil {
				test.end = func(*exec.Cmd, int) error { return os.WriteFile(filepath.Join(place, panicMode), nil, 0o600) }
			}
			if err := test.end(command, program); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the supervisor to end", func() bool { return gone(command.Process.Pid) })
			eventually(t, "the program to end", func() bool { return over(program) })
			if held := sweep(t, place); held != 0 {
				t.Errorf("%d bytes are still held", held)
			}
			if found := left(t, place); len(found) > 0 {
				t.Errorf("left behind: %q", found)
			}
			mounts, err := os.ReadFile("/proc/self/mountinfo")
			if err != nil || bytes.Contains(mounts, []byte(" /bindings/db ")) {
				t.Errorf("there are mounts on the machine: %s, %v", mounts, err)
			}
		})
	}
}

// TestTerminalSignalsAreNotPassedOn types ^C at a terminal, which sends INT to its whole foreground process group. The
// program has left that group, so what reaches it was passed on.
func TestTerminalSignalsAreNotPassedOn(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	keyboard, screen := terminal(t)
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), helperVariable+"=auto", helperPlace+"="+memory(t), helperScript+
		"=exec setsid sh -c 'trap \"echo interrupted\" INT; trap \"exit 5\" USR1; echo ready; while :; do sleep 0.01; done'")
	out := output(t)
	command.Stdin, command.Stdout, command.Stderr = screen, out, out
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	eventually(t, "the program to run", func() bool { return strings.Contains(content(t, out), "ready") })
	if _, err := keyboard.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	echo := make([]byte, len("^C")) // the terminal shows it once it has sent the signal
	if _, err := io.ReadFull(keyboard, echo); err != nil || string(echo) != "^C" {
		t.Fatalf("the terminal shows %q, %v", echo, err)
	}
	if err := command.Process.Signal(syscall.SIGUSR1); err != nil { // its number is higher, so INT goes first
		t.Fatal(err)
	}
	if exit := (*exec.ExitError)(nil); !errors.As(command.Wait(), &exit) || exit.ExitCode() != 5 {
		t.Errorf("got %v, want the program's exit code", exit)
	}
	if strings.Contains(content(t, out), "interrupted") {
		t.Error("the program was interrupted a second time")
	}
}

// terminal returns both ends of a pseudo terminal.
func terminal(t *testing.T) (*os.File, *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("SKIPPED: there are no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	return keyboard, screen
}

func TestCloseEndsTheProgram(t *testing.T) {
	t.Parallel()
	s := build(t, dbSpec("sleep", "600"), nil)
	if err := s.Start(os.Environ()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := syscall.Kill(s.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the program is still there: %v", err)
	}
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("signalling what has ended: %v", err)
	}
}

// BenchmarkRun is what a run costs over the program: New, Start and the end of a program that does nothing.
func BenchmarkRun(b *testing.B) {
	for name, policy := range map[string]sandbox.Policy{"namespace": sandbox.Auto, "folder": sandbox.Never} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				spec := dbSpec("/bin/true")
				spec.Namespace = policy
				s, err := sandbox.New(b.Context(), spec)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Start(nil); err != nil {
					b.Fatal(err)
				}
				if exit, err := s.Wait(); err != nil || exit.Code != 0 {
					b.Fatal(exit, err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
