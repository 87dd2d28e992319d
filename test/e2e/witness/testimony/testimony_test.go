package testimony_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/test/e2e/witness/testimony"
)

// volume lays out a folder as the kubelet does and returns it.
func volume(t *testing.T, stamp string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "volume")
	if err := os.MkdirAll(filepath.Join(dir, stamp), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, stamp, "host"), []byte("db"), 0o640); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"..data": stamp, "host": "..data/host", "round": "round", "gone": "..data/gone"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTake(t *testing.T) {
	t.Parallel()
	dir := volume(t, "..2026_11_20_14_10_00.123456789")
	var got []testimony.Entry
	for _, e := range testimony.Take(dir).Normal().Entries {
		path, err := filepath.Rel(dir, e.Path)
		if err != nil {
			t.Fatal(err)
		}
		e.Path, e.UID, e.GID = path, 0, 0
		got = append(got, e)
	}
	want := []testimony.Entry{
		{Path: ".", Type: "directory", Mode: "drwxr-xr-x"},
		{Path: "..TIME", Type: "directory", Mode: "drwxr-xr-x"},
		{Path: "..TIME/host", Type: "file", Mode: "-rw-r-----", Content: testimony.Hash([]byte("db"))},
		{Path: "..data", Type: "link", Mode: "Lrwxrwxrwx", Target: "..TIME"},
		{Path: "gone", Type: "link", Mode: "Lrwxrwxrwx", Target: "..data/gone"},
		{Path: "host", Type: "link", Mode: "Lrwxrwxrwx", Target: "..data/host"},
		{Path: "round", Type: "link", Mode: "Lrwxrwxrwx", Target: "round"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestContentFollowsLinks(t *testing.T) {
	t.Parallel()
	dir := volume(t, "..2026_11_20_14_10_00.123456789")
	found := testimony.Take(dir)
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{name: "host", want: testimony.Hash([]byte("db"))},
		{name: "..data/host", want: testimony.Hash([]byte("db"))},
		{name: "gone", err: fs.ErrNotExist},
		{name: "none", err: fs.ErrNotExist},
		{name: "round", err: fs.ErrInvalid},
	} {
		got, err := found.Content(filepath.Join(dir, c.name))
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("Content(%q) = %q, %v; want %q, %v", c.name, got, err, c.want, c.err)
		}
	}
}

func TestAFolderThatIsNotThere(t *testing.T) {
	t.Parallel()
	found := testimony.Take(filepath.Join(t.TempDir(), "none"))
	if len(found.Entries) != 1 || found.Entries[0].Problem == "" {
		t.Errorf("entries %v, want one with a problem", found.Entries)
	}
}
