package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/node/sandbox"
	"github.com/bowline-dev/bowline/internal/node/storage"
)

const (
	// helperVariable makes this test binary a supervisor that a test can kill.
	helperVariable = "BOWLINE_SANDBOX_HELPER"
	helperPlace    = "BOWLINE_SANDBOX_PLACE"
	// deniedMode is for a supervisor that can have no namespace.
	deniedMode = "denied"
	// panicMode is for a supervisor that panics as soon as a file of this name is in its place.
	panicMode    = "panic"
	helperScript = "BOWLINE_SANDBOX_SCRIPT"
	// deadline is for conditions that come true at once on a quiet machine.
	deadline = time.Minute
	nobody   = 1000
)

func TestMain(m *testing.M) {
	if code, handled := sandbox.Stage(os.Args); handled {
		os.Exit(code)
	}
	if mode := os.Getenv(helperVariable); mode != "" {
		os.Exit(supervise(mode))
	}
	os.Exit(m.Run())
}

// supervise runs a script in a sandbox as bowline would, and ends as it.
func supervise(mode string) int {
	exit, err := superviseScript(mode)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot:", err)
		return 2
	}
	return exit.Code
}

func superviseScript(mode string) (sandbox.Exit, error) {
	spec := dbSpec("sh", "-c", os.Getenv(helperScript))
	spec.Storage.Dir = os.Getenv(helperPlace)
	switch mode {
	case "never":
		spec.Namespace = sandbox.Never
	case deniedMode:
		if err := forbidNamespaces(); err != nil {
			return sandbox.Exit{}, err
		}
	}
	s, err := sandbox.New(context.Background(), spec)
	if err != nil {
		return sandbox.Exit{}, err
	}
	if mode != panicMode {
		defer s.Close()
	}
	is, reason := s.Isolated()
	fmt.Fprintln(os.Stdout, "isolated:", is, reason)
	if err := s.Volume("db").WriteFile("password", []byte("hunter2\n"), 0o644); err != nil {
		return sandbox.Exit{}, err
	}
	if err := s.Start(append(os.Environ(), "DB="+s.Seen("/bindings/db"))); err != nil {
		return sandbox.Exit{}, err
	}
	if mode == panicMode {
		panicWhen(filepath.Join(spec.Storage.Dir, panicMode))
	}
	return s.Wait()
}

// panicWhen panics when a file is there.
func panicWhen(file string) {
	for range time.Tick(time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			panic("as the test wants it")
		}
	}
}

// forbidNamespaces forbids this process's own user namespace to have others within.
func forbidNamespaces() error {
	return errors.Join(
		os.WriteFile("/proc/sys/user/max_mnt_namespaces", []byte("0"), 0),
		os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0))
}

// dbSpec is one secret volume at /bindings/db.
func dbSpec(command ...string) sandbox.Spec {
	return sandbox.Spec{
		Command: command,
		Volumes: []sandbox.Volume{{Name: "db"}},
		Mounts:  []sandbox.Mount{{Volume: "db", Path: "/bindings/db"}},
		Reserve: 1 << 10,
	}
}

// memory is a folder in memory for reservations, so that tests neither see nor disturb what else runs here.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "bowline-test-")
	if err != nil {
		t.Skipf("SKIPPED: there is no /dev/shm to write to: %v", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// output is a file that a program writes to.
func output(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func content(t *testing.T, file *os.File) string {
	t.Helper()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(text))
}

// make makes a sandbox that is closed when the test ends, with its files: "volume/name" to contents.
func build(t *testing.T, spec sandbox.Spec, files map[string]string) *sandbox.Sandbox {
	t.Helper()
	if spec.Storage.Dir == "" {
		spec.Storage.Dir = memory(t)
	}
	s, err := sandbox.New(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, text := range files {
		volume, file, _ := strings.Cut(name, "/")
		if err := s.Volume(volume).MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := s.Volume(volume).WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// needNamespace skips, loudly, where none can be had.
func needNamespace(t *testing.T, s *sandbox.Sandbox) {
	t.Helper()
	if is, reason := s.Isolated(); !is {
		t.Skipf("SKIPPED, since it needs root or user namespaces: %s", reason)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, since it needs root")
	}
}

// run runs a program to its end and returns what it wrote.
func run(t *testing.T, spec sandbox.Spec, files map[string]string) (string, sandbox.Exit) {
	t.Helper()
	out := output(t)
	spec.Stdout, spec.Stderr = out, out
	s := build(t, spec, files)
	if spec.Namespace == sandbox.Auto {
		needNamespace(t, s)
	}
	if err := s.Start(os.Environ()); err != nil {
		t.Fatal(err)
	}
	exit, err := s.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return content(t, out), exit
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker, timeout := time.NewTicker(5*time.Millisecond), time.After(deadline)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// helper starts a supervisor of its own that runs a script, and waits until the script has written "ready".
func helper(t *testing.T, mode, place, script string) (*exec.Cmd, *os.File) {
	t.Helper()
	out := output(t)
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), helperVariable+"="+mode, helperPlace+"="+place, helperScript+"="+script)
	command.Stdout, command.Stderr = out, out
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
	})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	eventually(t, "the program to run", func() bool {
		select {
		case <-ended:
			t.Fatalf("the supervisor ended: %s", content(t, out))
		default:
		}
		return strings.Contains(content(t, out), "ready")
	})
	return command, out
}

// left lists what runs left in a place.
func left(t *testing.T, place string) []string {
	t.Helper()
	found := []string{}
	err := filepath.WalkDir(place, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != place && filepath.Dir(path) != place && filepath.Base(path) != "lock" {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sweep lets a next run clear what is left, and returns what living runs hold.
func sweep(t *testing.T, place string) int64 {
	t.Helper()
	const limit = 1 << 40
	r, err := storage.Reserve(t.Context(), storage.Options{Dir: place, Limit: limit}, limit)
	if err == nil {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		return 0
	}
	over := (*storage.BudgetError)(nil)
	if !errors.As(err, &over) {
		t.Fatal(err)
	}
	return over.Used
}
