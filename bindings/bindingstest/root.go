package bindingstest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Names that a kubelet gives to what is behind the files of a volume.
const (
	dataLink    = "..data"
	dataLinkNew = "..data_tmp"

	dirMode  fs.FileMode = 0o755
	fileMode fs.FileMode = 0o644
)

// Entries are the files of a binding, by name. A value may hold any bytes.
type Entries map[string]string

// With returns a copy in which some entries are others; the value "" takes an entry away.
func (e Entries) With(changes Entries) Entries {
	all := maps.Clone(e)
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(name, value string) bool { _, changed := changes[name]; return changed && value == "" })
	return all
}

// Root is a directory of bindings, gone with the test. Its methods end the test where something cannot be written, so they are
// for the test's own goroutine, while readers run in others.
type Root struct {
	tb     testing.TB
	path   string
	serial int
}

// New makes an empty directory of bindings.
func New(tb testing.TB) *Root {
	tb.Helper()
	return &Root{tb: tb, path: tb.TempDir()}
}

// Path is what SERVICE_BINDING_ROOT is to be.
func (r *Root) Path() string { return r.path }

// Setenv sets SERVICE_BINDING_ROOT for as long as the test runs. As all variables, it is the whole process's: the test MUST NOT
// be parallel.
func (r *Root) Setenv() {
	r.tb.Helper()
	r.tb.Setenv("SERVICE_BINDING_ROOT", r.path)
}

// Add lays out a binding as a kubelet lays out a volume: the files in a directory with a date for a name, the link ..data to it,
// and links to the files behind that.
func (r *Root) Add(name string, entries Entries) {
	r.tb.Helper()
	r.volume(filepath.Join(r.path, name), entries)
}

// AddPlain lays out a binding as a person does: a directory with files.
func (r *Root) AddPlain(name string, entries Entries) {
	r.tb.Helper()
	dir := filepath.Join(r.path, name)
	r.must(os.MkdirAll(dir, dirMode))
	r.write(dir, entries)
}

// AddSubPath lays out a binding of which each file is mounted by itself, by sub-path. Such files look like plain ones, and are
// never refreshed: Rotate leaves them as they are.
func (r *Root) AddSubPath(name string, entries Entries) {
	r.tb.Helper()
	r.AddPlain(name, entries)
	r.must(os.WriteFile(filepath.Join(r.path, "."+name+".subpath"), nil, fileMode))
}

// Replace makes the root one volume that holds all bindings, each a directory behind the volume's link, as a projected volume
// with paths of two parts is. It takes the place of whatever was there.
func (r *Root) Replace(bindings map[string]Entries) {
	r.tb.Helper()
	all := Entries{}
	for name, entries := range bindings {
		for entry, value := range entries {
			all[name+"/"+entry] = value
		}
	}
	r.volume(r.path, all)
}

// Rotate replaces the entries of a binding: at once where Add laid it out, by moving one link and removing what was behind it;
// file by file where AddPlain did; and not at all where AddSubPath did, just as in a container.
func (r *Root) Rotate(name string, entries Entries) {
	r.tb.Helper()
	dir := filepath.Join(r.path, name)
	if _, err := os.Lstat(filepath.Join(r.path, "."+name+".subpath")); err == nil {
		return
	}
	if _, err := os.Lstat(filepath.Join(dir, dataLink)); err == nil {
		r.volume(dir, entries)
		return
	}
	for _, item := range r.list(dir) {
		if _, stays := entries[item]; !stays {
			r.must(os.Remove(filepath.Join(dir, item)))
		}
	}
	r.write(dir, entries)
}

// Remove takes a binding away.
func (r *Root) Remove(name string) {
	r.tb.Helper()
	r.must(os.RemoveAll(filepath.Join(r.path, name)))
	r.must(os.RemoveAll(filepath.Join(r.path, "."+name+".subpath")))
}

// volume fills or refills a volume, in the order of the kubelet: the files into a new directory, the link to it moved into
// place, links to new files, links to former files away, and the former directory away.
func (r *Root) volume(dir string, entries Entries) {
	r.tb.Helper()
	r.must(os.MkdirAll(dir, dirMode))
	former, err := os.Readlink(filepath.Join(dir, dataLink))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.must(err)
	}
	r.serial++
	dated := fmt.Sprintf("..2026_01_02_03_04_05.%09d", r.serial)
	r.must(os.Mkdir(filepath.Join(dir, dated), dirMode))
	r.write(filepath.Join(dir, dated), entries)
	r.must(os.Symlink(dated, filepath.Join(dir, dataLinkNew)))
	r.must(os.Rename(filepath.Join(dir, dataLinkNew), filepath.Join(dir, dataLink)))
	shown := map[string]bool{}
	for path := range entries {
		first, _, _ := strings.Cut(path, "/")
		shown[first] = true
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		err := os.Symlink(filepath.Join(dataLink, name), filepath.Join(dir, name))
		if !errors.Is(err, fs.ErrExist) {
			r.must(err)
		}
	}
	for _, name := range r.list(dir) {
		if !strings.HasPrefix(name, "..") && !shown[name] {
			r.must(os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	if former != "" {
		r.must(os.RemoveAll(filepath.Join(dir, former)))
	}
}

// write writes files, in directories where their names say so.
func (r *Root) write(dir string, entries Entries) {
	r.tb.Helper()
	for name, value := range entries {
		path := filepath.Join(dir, filepath.FromSlash(name))
		r.must(os.MkdirAll(filepath.Dir(path), dirMode))
		r.must(os.WriteFile(path, []byte(value), fileMode))
	}
}

func (r *Root) list(dir string) []string {
	r.tb.Helper()
	items, err := os.ReadDir(dir)
	r.must(err)
	names := make([]string, 0, len(items))
	for _, item := range items {
		names = append(names, item.Name())
	}
	return names
}

func (r *Root) must(err error) {
	r.tb.Helper()
	if err != nil {
		r.tb.Fatalf("laying out bindings: %v", err)
	}
}
