package volume_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/volume"
)

// now is a time in another place than that of the directory names.
func now() time.Time {
	return time.Date(2026, 11, 20, 15, 3, 5, 123456789, time.FixedZone("east", 3600))
}

const (
	firstDir  = "..2026_11_20_14_03_05.123456789"
	secondDir = "..2026_11_20_14_03_06.123456789"
)

func file(path, text string, mode int32) node.File {
	return node.File{Path: path, Value: node.NewValue([]byte(text)), Mode: mode}
}

// open makes a directory for a volume.
func open(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root, dir
}

func write(t *testing.T, root *os.Root, files []node.File, at time.Time) bool {
	t.Helper()
	changed, err := volume.Write(root, files, volume.Owner{}, at)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// listing describes all that lies below dir.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			lines = append(lines, name+" -> "+target)
			return err
		case e.IsDir():
			lines = append(lines, info.Mode().String()+" "+name)
			return nil
		default:
			text, err := os.ReadFile(path)
			lines = append(lines, info.Mode().String()+" "+name+" = "+string(text))
			return err
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestTheFormOfTheKubelet documents the form: a directory named after the time, the link ..data to it, and a link to the
// first part of each path, which goes through ..data.
func TestTheFormOfTheKubelet(t *testing.T) {
	t.Parallel()
	root, dir := open(t)
	files := []node.File{
		file("deep/a", "A", 0o644), file("deep/er/b", "B", 0o400), file("type", "nats\n", 0o444), file(".hidden", "h", 0o600), file("empty", "", 0o777),
	}
	if !write(t, root, files, now()) {
		t.Error("the first write changed nothing")
	}
	want := []string{
		"drwxr-xr-x " + firstDir, "-rw------- " + firstDir + "/.hidden = h", "drwxr-xr-x " + firstDir + "/deep",
		"-rw-r--r-- " + firstDir + "/deep/a = A", "drwxr-xr-x " + firstDir + "/deep/er", "-r-------- " + firstDir + "/deep/er/b = B",
		"-rwxrwxrwx " + firstDir + "/empty = ", "-r--r--r-- " + firstDir + "/type = nats\n",
		"..data -> " + firstDir, ".hidden -> ..data/.hidden", "deep -> ..data/deep", "empty -> ..data/empty", "type -> ..data/type",
	}
	if diff := cmp.Diff(want, listing(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWriteAgain(t *testing.T) {
	t.Parallel()
	before := original()
	first := []string{
		"drwxr-xr-x " + firstDir, "-rw-r--r-- " + firstDir + "/a = A", "drwxr-xr-x " + firstDir + "/deep",
		"-rw-r--r-- " + firstDir + "/deep/b = B", "-rw-r--r-- " + firstDir + "/deep/c = C",
		"..data -> " + firstDir, "a -> ..data/a", "deep -> ..data/deep",
	}
	for _, tc := range rewrites(before) {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			root, dir := open(t)
			write(t, root, before, now())
			stamp := modified(t, dir)
			changed := write(t, root, tc.after, now().Add(time.Second))
			want := tc.want
			if want == nil {
				want = first
				if !modified(t, dir).Equal(stamp) {
					t.Error("the directory was written to")
				}
			}
			if changed != (tc.want != nil) {
				t.Errorf("changed = %t", changed)
			}
			if diff := cmp.Diff(want, listing(t, dir)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// original are the files of the first write.
func original() []node.File {
	return []node.File{file("a", "A", 0o644), file("deep/b", "B", 0o644), file("deep/c", "C", 0o644)}
}

// rewrite is a second write.
type rewrite struct {
	reason string
	after  []node.File
	want   []string // nil where nothing changes
}

func rewrites(before []node.File) []rewrite {
	return []rewrite{
		{reason: "the same files, in another order", after: []node.File{before[2], before[0], before[1]}},
		{
			reason: "another value, one removed, one more", after: []node.File{file("a", "AA", 0o644), file("other", "O", 0o644)},
			want: []string{
				"drwxr-xr-x " + secondDir, "-rw-r--r-- " + secondDir + "/a = AA", "-rw-r--r-- " + secondDir + "/other = O",
				"..data -> " + secondDir, "a -> ..data/a", "other -> ..data/other",
			},
		},
		{
			reason: "another mode", after: []node.File{file("a", "A", 0o600), before[1], before[2]},
			want: []string{
				"drwxr-xr-x " + secondDir, "-rw------- " + secondDir + "/a = A", "drwxr-xr-x " + secondDir + "/deep",
				"-rw-r--r-- " + secondDir + "/deep/b = B", "-rw-r--r-- " + secondDir + "/deep/c = C",
				"..data -> " + secondDir, "a -> ..data/a", "deep -> ..data/deep",
			},
		},
		{
			reason: "one more file", after: append([]node.File{file("e", "E", 0o644)}, before...),
			want: []string{
				"drwxr-xr-x " + secondDir, "-rw-r--r-- " + secondDir + "/a = A", "drwxr-xr-x " + secondDir + "/deep",
				"-rw-r--r-- " + secondDir + "/deep/b = B", "-rw-r--r-- " + secondDir + "/deep/c = C", "-rw-r--r-- " + secondDir + "/e = E",
				"..data -> " + secondDir, "a -> ..data/a", "deep -> ..data/deep", "e -> ..data/e",
			},
		},
		{
			reason: "a file becomes a directory", after: []node.File{file("a/x", "A", 0o644)},
			want: []string{
				"drwxr-xr-x " + secondDir, "drwxr-xr-x " + secondDir + "/a", "-rw-r--r-- " + secondDir + "/a/x = A",
				"..data -> " + secondDir, "a -> ..data/a",
			},
		},
		{reason: "nothing is left", want: []string{"drwxr-xr-x " + secondDir, "..data -> " + secondDir}},
	}
}

func modified(t *testing.T, dir string) time.Time {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

func TestWritesAtOneTime(t *testing.T) {
	t.Parallel()
	root, dir := open(t)
	for _, text := range []string{"1", "2", "3"} {
		if !write(t, root, []node.File{file("a", text, 0o644)}, now()) {
			t.Errorf("%s changed nothing", text)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
}

func TestAnEmptyVolumeHasItsForm(t *testing.T) {
	t.Parallel()
	root, dir := open(t)
	write(t, root, nil, now())
	if diff := cmp.Diff([]string{"drwxr-xr-x " + firstDir, "..data -> " + firstDir}, listing(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if write(t, root, nil, now().Add(time.Second)) {
		t.Error("nothing to nothing is a change")
	}
}

func TestModesDoNotDependOnTheUmask(t *testing.T) { //nolint:paralleltest // the umask is the process's
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	root, dir := open(t)
	write(t, root, []node.File{file("deep/a", "A", 0o666)}, now())
	want := []string{
		"drwxr-xr-x " + firstDir, "drwxr-xr-x " + firstDir + "/deep", "-rw-rw-rw- " + firstDir + "/deep/a = A",
		"..data -> " + firstDir, "deep -> ..data/deep",
	}
	if diff := cmp.Diff(want, listing(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	root, dir := open(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	token := file("token", "T", 0o640)
	token.User = new(int64(1234))
	owner := volume.Owner{User: new(int64(77)), Group: new(int64(4321))}
	if _, err := volume.Write(root, []node.File{file("deep/a", "A", 0o444), token}, owner, now()); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if diff := cmp.Diff("T", read(t, dir, "token")); diff != "" {
			t.Errorf("files that cannot be given away (-want +got)\n%s", diff)
		}
		t.Skip("only root can give files away: run this test as root to see whom they belong to")
	}
	for name, want := range map[string]string{
		".":                  "dgrwxrwxrwx 0:4321",
		firstDir:             "dgrwxr-xr-x 0:4321",
		firstDir + "/deep":   "dgrwxr-xr-x 0:4321",
		firstDir + "/deep/a": "-r--r--r-- 77:4321",
		firstDir + "/token":  "-rw-r----- 1234:4321",
		"token":              "Lrwxrwxrwx 1234:4321",
	} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		if diff := cmp.Diff(want, fmt.Sprintf("%s %d:%d", info.Mode(), stat.Uid, stat.Gid)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWriteRefusesPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/a", "../a", "a/../../b", "..data", "./..data", "..2026"} {
		root, dir := open(t)
		changed, err := volume.Write(root, []node.File{file("good", "x", 0o644), file(path, "x", 0o644)}, volume.Owner{}, now())
		if _, ok := errors.AsType[*node.PathError](err); !ok || changed {
			t.Errorf("%q: %t, error %v, want a PathError", path, changed, err)
		}
		if left := listing(t, dir); len(left) != 0 {
			t.Errorf("%q: something was written: %v", path, left)
		}
	}
}

func TestWriteStaysInside(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "keep"), []byte("k"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"..data", "..data_tmp", "..2020_01_01_00_00_00.000000000", "a", "gone"} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			root, dir := open(t)
			if err := os.Symlink(outside, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
			write(t, root, []node.File{file("a", "A", 0o644)}, now())
			want := []string{"drwxr-xr-x " + firstDir, "-rw-r--r-- " + firstDir + "/a = A", "..data -> " + firstDir, "a -> ..data/a"}
			if diff := cmp.Diff(want, listing(t, dir)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]string{"-rw------- keep = k"}, listing(t, outside)); diff != "" {
				t.Errorf("outside (-want +got)\n%s", diff)
			}
		})
	}
}

func TestAMountPointInAVolumeStays(t *testing.T) {
	t.Parallel()
	root, dir := open(t)
	if err := os.Mkdir(filepath.Join(dir, "nested"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nested", filepath.Join(dir, "..data")); err != nil { // someone bent it
		t.Fatal(err)
	}
	write(t, root, []node.File{file("a", "A", 0o644), file("nested", "N", 0o644)}, now())
	write(t, root, []node.File{file("a", "B", 0o644)}, now())
	info, err := os.Lstat(filepath.Join(dir, "nested"))
	if err != nil || !info.IsDir() {
		t.Errorf("it is %v, %v", info, err)
	}
}

func TestErrorsHoldNoValues(t *testing.T) {
	t.Parallel()
	root, _ := open(t)
	_ = root.Close()
	_, err := volume.Write(root, []node.File{file("a", "hunter2", 0o644)}, volume.Owner{}, now())
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "looking at the volume") {
		t.Errorf("error %v", err)
	}
}
