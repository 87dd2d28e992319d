package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("content\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte(`test "$1" = one`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		argv   []string
		want   int
	}{
		{"a probe that holds", []string{"sh", "-c", `cd ` + dir + ` && test "$(cat file)" = content && test -s file`}, 0},
		{"one that does not", []string{"sh", "-c", `test "$(cat ` + file + `)" = other`}, 1},
		{"the exit code is the script's", []string{"/bin/sh", "-c", "exit 7"}, 7},
		{"arguments", []string{"sh", "-c", `test "$1" = one`, "zero", "one"}, 0},
		{"a script", []string{"sh", script, "one"}, 0},
		{"a file that is not there", []string{"cat", filepath.Join(dir, "none")}, 1},
		{"test by itself", []string{"test", "-e", file}, 0},
		{"what is in the argument is no script", []string{"test", "$(exit 3)", "=", "$(exit 3)"}, 0},
		{"sleep takes seconds", []string{"sleep", "0.001"}, 0},
		{"and units", []string{"sleep", "1ms"}, 0},
		{"but not words", []string{"sleep", "long"}, 1},
		{"no such command", []string{"sh", "-c", "no-such-command"}, 127},
		{"no such language", []string{"sh", "-c", "if"}, exitUsage},
		{"no such option", []string{"sh", "-q"}, exitUsage},
		{"no such script", []string{"sh", filepath.Join(dir, "none")}, exitUsage},
	} {
		if got := run(context.Background(), c.argv); got != c.want {
			t.Errorf("%s: run(%q) = %d, want %d", c.reason, c.argv, got, c.want)
		}
	}
}
