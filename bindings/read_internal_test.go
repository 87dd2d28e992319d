package bindings

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

// A reader that has followed the link may find the directory half removed. What it reads there is no binding.
func TestWhatIsLeftOfARotationDoesNotCount(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.Add("db", bindingstest.Entries{"type": "mysql", "host": "one", "password": "one"})
	dir := filepath.Join(root.Path(), "db")
	before, err := resolve(dir)
	if err != nil || !before.atomic {
		t.Fatalf("the volume is at %v (%v)", before, err)
	}
	root.Rotate("db", bindingstest.Entries{"type": "mysql", "host": "two", "password": "two"})
	if err := os.Mkdir(before.path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(before.path, "type"), []byte("mysql"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, _, err := readBehindLink(dir, before)
	if changed := (*changedError)(nil); !errors.As(err, &changed) {
		t.Errorf("read %d entries (%v), want a changedError", len(entries), err)
	}
}
