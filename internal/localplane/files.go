package localplane

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

const (
	privateFile = 0o600
	privateDir  = 0o700
)

// writeFile replaces the file at path as a whole, readable by its owner alone: whoever is killed on the way leaves
// the former content or the new one. A file that holds data already is left untouched.
func writeFile(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // gone already when all went well
	if err := fill(temporary, data); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return nil
}

// fill writes data to file, brings it to the disk and closes it.
func fill(file *os.File, data []byte) error {
	_, err := file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	return err //nolint:wrapcheck // the caller names the file
}
