package bindings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

// stamp is how a file looks from outside.
type stamp struct {
	size    int64
	changed time.Time
	mode    fs.FileMode
}

// mark tells whether a directory still holds what was read of it.
type mark struct {
	place  place
	stamps map[string]stamp
	// young says that a file was so new that a later change might leave no trace in its stamp.
	young bool
}

// stands says whether nothing has changed.
func (m mark) stands(dir string) bool {
	now, err := resolve(dir)
	if err != nil || now != m.place || m.young {
		return false
	}
	if m.place.atomic {
		return true
	}
	after, err := stamps(m.place.path)
	return err == nil && same(m.stamps, after)
}

func same(a, b map[string]stamp) bool {
	return maps.EqualFunc(a, b, func(x, y stamp) bool { return x.size == y.size && x.mode == y.mode && x.changed.Equal(y.changed) })
}

func equal(a, b map[string]Value) bool { return maps.EqualFunc(a, b, Value.Equal) }

func newest(stamps map[string]stamp) time.Time {
	var last time.Time
	for _, s := range stamps {
		if s.changed.After(last) {
			last = s.changed
		}
	}
	return last
}

// readFiles reads the entries of a directory: its files, but for hidden ones. Directories, pipes and devices are none. Where there
// is no type, it only looks at them.
func readFiles(dir string) (map[string]Value, map[string]stamp, error) {
	items, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(items, func(item fs.DirEntry) bool { return item.Name() == catalogue.TypeEntry }) {
		found, err := stamps(dir)
		return nil, found, err // no binding, so that what is in it does not matter
	}
	entries, marks := make(map[string]Value, len(items)), make(map[string]stamp, len(items))
	for _, item := range items {
		if !mayBeEntry(dir, item) {
			continue
		}
		value, at, err := readFile(filepath.Join(dir, item.Name()))
		if errors.Is(err, errNoFile) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading entry %s: %w", item.Name(), err)
		}
		entries[item.Name()], marks[item.Name()] = newValue(value), at
	}
	return entries, marks, nil
}

// mayBeEntry looks before a file is opened, since opening a pipe waits for its other end.
func mayBeEntry(dir string, item fs.DirEntry) bool {
	if strings.HasPrefix(item.Name(), ".") {
		return false
	}
	if item.Type()&fs.ModeSymlink == 0 {
		return item.Type().IsRegular()
	}
	info, err := os.Stat(filepath.Join(dir, item.Name()))
	return err == nil && info.Mode().IsRegular() // a link that leads nowhere is no entry
}

// stamps looks at the entries of a directory without reading them.
func stamps(dir string) (map[string]stamp, error) {
	items, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := make(map[string]stamp, len(items))
	for _, item := range items {
		if strings.HasPrefix(item.Name(), ".") {
			continue
		}
		// What cannot be looked at, such as a link to itself, is no entry. That is found out by reading what can.
		info, err := os.Stat(filepath.Join(dir, item.Name()))
		if err == nil && info.Mode().IsRegular() {
			all[item.Name()] = stampOf(info)
		}
	}
	return all, nil
}

func stampOf(info fs.FileInfo) stamp {
	return stamp{size: info.Size(), changed: info.ModTime(), mode: info.Mode()}
}

// errNoFile says that what was opened is no file after all.
var errNoFile = errors.New("is no file")

// readFile reads a file that is not too large.
func readFile(path string) ([]byte, stamp, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, stamp{}, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, stamp{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, stamp{}, errNoFile
	}
	value, err := readAll(file, info.Size())
	return value, stampOf(info), err
}

// readAll reads to the end of a file of which the size is known, unless it grows meanwhile.
func readAll(file io.Reader, size int64) ([]byte, error) {
	if size > maxEntry {
		return nil, fmt.Errorf("it is larger than %d bytes, more than any Secret holds", maxEntry)
	}
	buffer := make([]byte, size+1) // one more, so that the end is seen without growing
	n, err := io.ReadFull(file, buffer)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return buffer[:n:n], nil
	}
	if err != nil {
		return nil, err
	}
	return nil, &changedError{} // it grew
}
