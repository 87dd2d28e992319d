package sandbox_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/node/sandbox"
)

func TestMain(m *testing.M) {
	if code, handled := sandbox.Stage(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
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

func text(t *testing.T, file *os.File) string {
	t.Helper()
	content, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(content))
}

func TestSmoke(t *testing.T) {
	out := output(t)
	s, err := sandbox.New(t.Context(), sandbox.Spec{
		Command: []string{"sh", "-c", "cat /bindings/db/password; ls -la / /bindings/db; grep bowline /proc/self/mountinfo; id; touch /bindings/db/x"},
		Volumes: []sandbox.Volume{{Name: "db"}},
		Mounts:  []sandbox.Mount{{Volume: "db", Path: "/bindings/db"}},
		Stdout:  out, Stderr: out,
		Reserve: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	t.Log(s.Isolated())
	if err := s.Volume("db").WriteFile("password", []byte("hunter2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(os.Environ()); err != nil {
		t.Fatal(err)
	}
	exit, err := s.Wait()
	t.Log(exit, err, text(t, out))
	if !strings.Contains(text(t, out), "hunter2") {
		t.Fatal("not seen")
	}
}
