package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/internal/check"
)

// maxEntry bounds one file of a binding.
const maxEntry = 8 << 20

// fromManifests reads what --filename names.
func (f *checkFlags) fromManifests(in io.Reader) ([]check.Subject, error) {
	objects, err := manifests{in: in, refuse: f.refuse}.all(f.files)
	if err != nil {
		return nil, err
	}
	for i := range objects {
		if f.namespace != "" && objects[i].GetNamespace() == "" {
			objects[i].SetNamespace(f.namespace)
		}
	}
	subjects, err := check.Subjects(objects, check.Manifests)
	if err != nil {
		return nil, f.refuse(err, "correct the manifest")
	}
	if len(subjects) == 0 {
		return nil, f.refuse(fmt.Errorf("there is nothing to check in %s", strings.Join(f.files, ", ")),
			"give it a Secret, a ServiceBinding, or a service with .status.binding.name")
	}
	return subjects, nil
}

// fromDirectory reads a directory as a container sees it: one of bindings, or one binding, which is one with files in it.
func (f *checkFlags) fromDirectory(dir string) ([]check.Subject, error) {
	items, err := os.ReadDir(dir)
	if err != nil {
		return nil, f.refuse(fmt.Errorf("reading the directory of bindings: %w", err), "correct --dir or $"+bindings.RootVariable)
	}
	if isBinding(dir, items) {
		subject, err := f.oneDirectory(dir)
		return []check.Subject{subject}, err
	}
	var subjects []check.Subject
	for _, item := range items {
		info, err := fs.Stat(os.DirFS(dir), item.Name())
		if err != nil || !info.IsDir() || strings.HasPrefix(item.Name(), ".") {
			continue
		}
		subject, err := f.oneDirectory(filepath.Join(dir, item.Name()))
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, subject)
	}
	if len(subjects) == 0 {
		return nil, f.refuse(fmt.Errorf("there is no binding in %s", dir), "name a directory with one directory a binding, or one with an entry type")
	}
	return subjects, nil
}

// isBinding tells one binding by its type or, since that may be missing, by being a volume with files.
func isBinding(dir string, items []fs.DirEntry) bool {
	volume, files := false, false
	for _, item := range items {
		info, err := fs.Stat(os.DirFS(dir), item.Name())
		isFile := err == nil && !info.IsDir()
		if item.Name() == "type" && isFile {
			return true
		}
		volume = volume || item.Name() == "..data"
		files = files || isFile && !strings.HasPrefix(item.Name(), ".")
	}
	return volume && files
}

// oneDirectory reads the entries of one binding.
func (f *checkFlags) oneDirectory(dir string) (check.Subject, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		absolute = dir
	}
	subject := check.Subject{Name: dir, Directory: filepath.Base(absolute), Bound: true}
	entries, err := readEntries(os.DirFS(dir))
	if err != nil {
		hint := "correct what is in the directory"
		if errors.Is(err, fs.ErrPermission) {
			hint = "run it as a user who may read the files"
		}
		return subject, f.refuse(fmt.Errorf("reading binding %s: %w", dir, err), hint)
	}
	subject.Entries = check.Values(entries)
	return subject, nil
}

func readEntries(dir fs.FS) (map[string][]byte, error) {
	entries := map[string][]byte{}
	items, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		info, err := fs.Stat(dir, item.Name())
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if entries[item.Name()], err = readEntry(dir, item.Name()); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

func readEntry(dir fs.FS, name string) ([]byte, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := readBounded(file, maxEntry)
	if err != nil {
		return nil, fmt.Errorf("entry %s: %w", name, err)
	}
	return text, nil
}
