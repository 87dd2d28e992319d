package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bowline-dev/bowline/internal/check"
)

// maxManifest bounds one file, far above what an API server takes for an object.
const maxManifest = 16 << 20

// manifests reads what --filename names.
type manifests struct {
	// in is the standard input.
	in io.Reader
	// refuse makes the error for what cannot be read, with advice.
	refuse func(err error, hint string) error
}

// all reads files, the manifests below folders, and standard input.
func (m manifests) all(paths []string) ([]check.Object, error) {
	var objects []check.Object
	for _, path := range paths {
		found, err := m.below(path)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func (m manifests) below(path string) ([]check.Object, error) {
	if path == "-" {
		return m.parse("standard input", m.in)
	}
	var names []string
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && (name == path || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, m.refuse(fmt.Errorf("reading manifests: %w", err), "correct --filename")
	}
	var objects []check.Object
	for _, name := range names {
		found, err := m.file(name)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func (m manifests) file(name string) ([]check.Object, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, m.refuse(fmt.Errorf("reading manifests: %w", err), "correct --filename")
	}
	defer func() { _ = file.Close() }()
	return m.parse(name, file)
}

func (m manifests) parse(name string, from io.Reader) ([]check.Object, error) {
	text, err := readBounded(from, maxManifest)
	if err != nil {
		return nil, m.refuse(fmt.Errorf("reading %s: %w", name, err), "correct --filename")
	}
	objects, err := check.Parse(name, string(text))
	if err != nil {
		return nil, m.refuse(err, "correct the manifest")
	}
	return objects, nil
}

func readBounded(from io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it is larger than %d bytes", most)
	}
	return text, err
}
