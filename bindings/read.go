package bindings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// reader reads the bindings below a root, again and again: of those that did not change since, it hands out what it has.
type reader struct {
	seen map[string]seen
}

// seen is what was read of one directory.
type seen struct {
	mark mark
	// binding is nil for a directory that is none.
	binding *Binding
}

// read returns all bindings there are.
func (r *reader) read(root string) (Set, error) {
	if root == "" {
		return Set{}, &RootError{}
	}
	items, err := os.ReadDir(root)
	if isNoDirectory(root, err) {
		return Set{}, &RootError{Root: root}
	}
	if err != nil {
		return Set{}, fmt.Errorf("listing bindings: %w", err)
	}
	set, now := Set{root: root}, make(map[string]seen, len(items))
	for _, item := range items {
		if !mayBeBinding(root, item) {
			continue
		}
		dir, err := r.directory(item.Name(), filepath.Join(root, item.Name()))
		if err != nil {
			if gone(filepath.Join(root, item.Name())) {
				continue // it went while it was read
			}
			return Set{}, &ReadError{Binding: item.Name(), Err: err}
		}
		now[item.Name()] = dir
		if dir.binding != nil {
			set.bindings = append(set.bindings, dir.binding)
		}
	}
	r.seen = now
	return set, nil
}

func gone(path string) bool {
	_, err := os.Lstat(path) //nolint:gosec // whoever sets the environment says where bindings are
	return errors.Is(err, fs.ErrNotExist)
}

// isNoDirectory says whether the error of listing a path comes of what the path is: absent, a file, below a file, or through a link
// to itself.
func isNoDirectory(path string, err error) bool {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err != nil
	}
	for ; ; path = filepath.Dir(path) {
		info, err := os.Stat(path) //nolint:gosec // whoever sets the environment says where bindings are
		if err == nil {
			return !info.IsDir()
		}
		link, lost := os.Lstat(path) //nolint:gosec // as above
		if lost == nil && link.Mode()&fs.ModeSymlink != 0 {
			return !errors.Is(err, fs.ErrPermission)
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}

// mayBeBinding passes over hidden names, among which are the kubelet's own, and what is no directory.
func mayBeBinding(root string, item fs.DirEntry) bool {
	if strings.HasPrefix(item.Name(), ".") {
		return false
	}
	if item.Type()&fs.ModeSymlink == 0 {
		return item.IsDir()
	}
	for range linkTries {
		info, err := os.Stat(filepath.Join(root, item.Name())) //nolint:gosec // whoever sets the environment says where bindings are
		if !errors.Is(err, fs.ErrNotExist) {
			return err == nil && info.IsDir()
		}
	}
	return false
}

// directory returns what is in one directory, from memory where nothing changed.
func (r *reader) directory(name, dir string) (seen, error) {
	if before, ok := r.seen[name]; ok && before.mark.stands(dir) {
		return before, nil
	}
	entries, mark, err := snapshot(dir)
	if err != nil {
		return seen{}, err
	}
	return seen{mark: mark, binding: newBinding(name, dir, entries)}, nil
}

const (
	// tries bounds how often a directory is read that changes meanwhile. A kubelet moves a link once in a minute at most.
	tries = 200
	// settled is the age at which the time stamp of a file can be trusted to differ after the next change.
	settled = 2 * time.Second
	// maxEntry bounds an entry. A Secret holds 1 MiB at most; who writes files by hand may have more, within reason.
	maxEntry = 8 << 20

	// linkTries bounds how often a link is followed that leads through the one that a kubelet moves.
	linkTries = 10

	dataLink = "..data"
)

// snapshot reads the entries of one directory as they were at one moment.
func snapshot(dir string) (map[string]Value, mark, error) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	var changed *changedError
	for try := range tries {
		entries, mark, err := attempt(dir)
		if !errors.As(err, &changed) {
			return entries, mark, err
		}
		if gone(dir) {
			return nil, mark, err
		}
		if try >= tries/2 { // plain files may be in the middle of being written
			pause.Reset(time.Millisecond)
			<-pause.C
		}
	}
	if changed.cause != nil {
		return nil, mark{}, changed.cause // it was not a change that made this
	}
	return nil, mark{}, &UnstableError{Tries: tries}
}

// changedError says that what was read may be a mix, or that something went while it was read.
type changedError struct{ cause error }

func (e *changedError) Error() string { return "the files changed while they were read" }

// changedIfGone makes it a change that something is not there: the next reading will tell.
func changedIfGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &changedError{cause: err}
	}
	return err
}

// attempt reads the directory once, in the way that fits what it is.
func attempt(dir string) (map[string]Value, mark, error) {
	before, err := resolve(dir)
	if err != nil {
		return nil, mark{}, changedIfGone(err)
	}
	if before.atomic {
		return readBehindLink(dir, before)
	}
	return readPlain(before)
}

// place is where the files of a binding are now.
type place struct {
	path string
	// atomic says that path is one of which another takes the place as a whole.
	atomic bool
}

// resolve follows the link that a kubelet moves: the one within the binding's directory, or, where one volume holds all
// bindings, the one that the directory itself leads through.
func resolve(dir string) (place, error) {
	target, err := os.Readlink(filepath.Join(dir, dataLink))
	if err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		return place{path: target, atomic: true}, nil
	}
	info, err := os.Lstat(dir) //nolint:gosec // whoever sets the environment says where bindings are
	if err != nil {
		return place{}, err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return place{path: dir}, nil
	}
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return place{}, err
	}
	_, err = os.Readlink(filepath.Join(path, dataLink))
	if err == nil { // a link to a volume
		return resolve(path)
	}
	return place{path: path, atomic: strings.Contains(filepath.ToSlash(path), "/..")}, nil
}

// readBehindLink reads the directory that the link leads to, and looks at the link again: the kubelet removes a directory
// as soon as the link leads to another, so what was read counts only if it still leads there.
func readBehindLink(dir string, before place) (map[string]Value, mark, error) {
	entries, _, err := readFiles(before.path)
	after, again := resolve(dir)
	if again == nil && after != before {
		return nil, mark{}, &changedError{}
	}
	if err := errors.Join(err, again); err != nil {
		return nil, mark{}, changedIfGone(err)
	}
	return entries, mark{place: before}, nil
}

// readPlain reads files that anybody may write at any time. What was read counts if nothing has changed since by the look of
// the files and, where they are so new that a change might not show, if they hold the same once more.
func readPlain(at place) (map[string]Value, mark, error) {
	entries, before, err := readFiles(at.path)
	if err != nil {
		return nil, mark{}, changedIfGone(err)
	}
	if newest(before).Before(time.Now().Add(-settled)) {
		after, err := stamps(at.path)
		if err != nil || !same(before, after) {
			return nil, mark{}, &changedError{}
		}
		return entries, mark{place: at, stamps: before}, nil
	}
	twice, after, err := readFiles(at.path)
	if err != nil || !same(before, after) || !equal(entries, twice) {
		return nil, mark{}, &changedError{}
	}
	return entries, mark{place: at, stamps: before, young: true}, nil
}
