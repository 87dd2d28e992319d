//go:build !linux

package storage

import "runtime"

// Check says whether secrets may lie at a path, which need not exist yet.
func Check(_ string, allowDisk bool) error {
	if allowDisk {
		return nil
	}
	return &UnsupportedError{System: runtime.GOOS}
}
