package storage

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Check says whether secrets may lie at a path, which need not exist yet. The error is a *DiskError where they may not.
func Check(path string, allowDisk bool) error {
	if allowDisk {
		return nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for place := path; ; place = filepath.Dir(place) {
		name, memory, err := kindOf(place)
		switch {
		case errors.Is(err, fs.ErrNotExist) && place != filepath.Dir(place):
			continue
		case err != nil:
			return err
		case !memory:
			return &DiskError{Path: path, FileSystem: name}
		}
		return nil
	}
}
