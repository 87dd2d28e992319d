package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/node"
)

const (
	rotations = 1000
	readers   = 8
	parts     = 5
	// torn would show in a file of several pages.
	repeats = 2000
)

// generation is a set of files that tell their generation, each many times.
func generation(n int) []node.File {
	var files []node.File
	for i := range parts {
		name := "part" + strconv.Itoa(i)
		if i == parts-1 {
			name = "deep/" + name
		}
		text := strings.Repeat(strconv.Itoa(n)+"\n", repeats)
		files = append(files, node.File{Path: name, Value: node.NewValue([]byte(text)), Mode: 0o644})
	}
	return files
}

// TestReadersSeeOldOrNew reads a volume while it is rotated. A reader that stays with what ..data led to when it began
// sees one generation, or that the files went away, in which case it begins anew, as the bindings library does.
func TestReadersSeeOldOrNew(t *testing.T) {
	t.Parallel()
	dir, root := openDir(t)
	rotate(t, root, 0)
	done := make(chan struct{})
	var group sync.WaitGroup
	seen := make([]int, readers)
	for i := range readers {
		group.Go(func() { seen[i] = readUntil(t, dir, done) })
	}
	for n := 1; n <= rotations; n++ {
		rotate(t, root, n)
	}
	close(done)
	group.Wait()
	for i, n := range seen {
		if n == 0 {
			t.Errorf("reader %d has read nothing", i)
		}
	}
}

// A program that has followed ..data finds its file for as long as the old files are not dropped.
func TestSwapLeavesTheOldFiles(t *testing.T) {
	t.Parallel()
	dir, root := openDir(t)
	rotate(t, root, 0)
	before, err := os.Readlink(filepath.Join(dir, "..data"))
	if err != nil {
		t.Fatal(err)
	}
	changed, drop, err := Swap(root, generation(1), Owner{}, time.Now())
	if err != nil || !changed {
		t.Fatalf("%t, %v", changed, err)
	}
	if _, err := os.Stat(filepath.Join(dir, before, "part0")); err != nil {
		t.Errorf("the old file is not there: %v", err)
	}
	if n, err := readAll(dir); n != 1 || err != nil {
		t.Errorf("generation %d is read, %v", n, err)
	}
	if err := drop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, before)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old files are still there: %v", err)
	}
}

// openDir makes a directory for a volume, in memory where the machine can, which is where volumes lie.
func openDir(t *testing.T) (string, *os.Root) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "bowline-test-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return dir, root
}

func rotate(t *testing.T, root *os.Root, n int) {
	t.Helper()
	changed, err := Write(root, generation(n), Owner{}, time.Now())
	if err != nil || !changed {
		t.Errorf("rotation %d: %t, %v", n, changed, err)
	}
}

// readUntil reads all files again and again, at least once, and counts.
func readUntil(t *testing.T, dir string, done <-chan struct{}) int {
	t.Helper()
	count, last := 0, -1
	for {
		n, err := readAll(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist): // rotated away: try again
		case err != nil:
			t.Errorf("read %d: %v", count, err)
			return count
		case n < last:
			t.Errorf("generation %d after %d", n, last)
		default:
			last = n
			count++
		}
		select {
		case <-done:
			if count > 0 {
				return count
			}
		default:
		}
	}
}

// readAll reads one generation and tells which.
func readAll(dir string) (int, error) {
	current, err := os.OpenRoot(filepath.Join(dir, "..data"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = current.Close() }()
	all := map[string]bool{}
	for _, f := range generation(0) {
		text, err := current.ReadFile(f.Path)
		if err != nil {
			return 0, err
		}
		line, _, _ := strings.Cut(string(text), "\n")
		if string(text) != strings.Repeat(line+"\n", repeats) {
			return 0, fmt.Errorf("%s of generation %s is torn", f.Path, line)
		}
		all[line] = true
	}
	if len(all) != 1 {
		return 0, fmt.Errorf("several generations at once: %v", all)
	}
	for line := range all {
		return strconv.Atoi(line)
	}
	return 0, nil
}

// TestCrashes ends a write after each of its steps and looks: the files of one generation can be read, and
// the next write leaves nothing behind of the one that was interrupted.
func TestCrashes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 14, 3, 5, 0, time.UTC)
	old := []node.File{plain("both", "old"), plain("gone", "old"), plain("deep/x", "old")}
	fresh := []node.File{plain("both", "new"), plain("more", "new"), plain("deep/y", "new")}
	for crash := 0; crash <= len(steps()); crash++ {
		t.Run(strconv.Itoa(crash), func(t *testing.T) {
			t.Parallel()
			dir, root := openDir(t)
			mustWrite(t, root, old, at)
			mustRead(t, filepath.Join(dir, "both"), crashed(t, root, fresh, crash))
			mustWrite(t, root, fresh, at.Add(time.Minute))
			if diff := cmp.Diff([]string{"..20*", "..data", "both", "deep", "more"}, entries(t, dir)); diff != "" {
				t.Errorf("after the next write (-want +got)\n%s", diff)
			}
			mustRead(t, filepath.Join(dir, "deep", "y"), "new")
			mustWrite(t, root, old, at.Add(time.Hour))
			if diff := cmp.Diff([]string{"..20*", "..data", "both", "deep", "gone"}, entries(t, dir)); diff != "" {
				t.Errorf("after a write back (-want +got)\n%s", diff)
			}
		})
	}
}

// crashed takes some steps of a write and tells what readers are to see then.
func crashed(t *testing.T, root *os.Root, files []node.File, taken int) string {
	t.Helper()
	w := &writer{root: root, files: files, now: time.Date(2026, 11, 20, 14, 4, 0, 0, time.UTC)}
	for _, s := range steps()[:taken] {
		if err := s.run(w); err != nil {
			t.Fatal(err)
		}
	}
	if w.swapped {
		return "new"
	}
	return "old"
}

func mustRead(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: %q, %v, want %q", path, got, err, want)
	}
}

func plain(path, text string) node.File {
	return node.File{Path: path, Value: node.NewValue([]byte(text)), Mode: 0o644}
}

func mustWrite(t *testing.T, root *os.Root, files []node.File, at time.Time) {
	t.Helper()
	if _, err := Write(root, files, Owner{}, at); err != nil {
		t.Fatal(err)
	}
}

// entries are the names in a directory, times left out.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		name := e.Name()
		if strings.HasPrefix(name, "..20") {
			name = "..20*"
		}
		names = append(names, name)
	}
	return names
}

// TestAFailedWriteLeavesNothing lets a write fail in the middle, as it does on a full volume.
func TestAFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, root := openDir(t)
	at := time.Date(2026, 11, 20, 14, 3, 5, 0, time.UTC)
	mustWrite(t, root, []node.File{plain("a", "old")}, at)
	before := entries(t, dir)
	w := &writer{root: root, files: []node.File{plain("a", "new")}, now: at.Add(time.Second)}
	full := errors.New("no space left")
	list := steps()
	for i := range list {
		if list[i].name == "preparing the swap" {
			list[i].run = func(*writer) error { return full }
		}
	}
	if err := w.take(list); !errors.Is(err, full) || !strings.Contains(err.Error(), "preparing the swap") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, entries(t, dir)); diff != "" {
		t.Errorf("left behind (-want +got)\n%s", diff)
	}
	mustRead(t, filepath.Join(dir, "a"), "old")
}

// TestTheSameFilesAreNotWritten takes each step that writes where nothing can be written.
func TestTheSameFilesAreNotWritten(t *testing.T) {
	t.Parallel()
	_, root := openDir(t)
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	w := &writer{root: root, files: generation(0), owner: Owner{Group: new(int64(1))}, old: "..1", same: true}
	for _, step := range []func() error{w.lay, w.give, w.prepare, w.swap, w.drop} {
		if err := step(); err != nil {
			t.Errorf("a step writes: %v", err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for n := 0; b.Loop(); n++ {
		if _, err := Write(root, generation(n), Owner{}, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}
