package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/internal/node"
)

const (
	dataLink  = "..data"
	swapLink  = "..data_tmp"
	ownPrefix = ".."
	// stamp names a directory of files by the time it was made.
	stamp = "..2006_01_02_15_04_05.000000000"
)

// Owner says whom the files belong to, in the way of the kubelet. A process that is not root cannot give files away: its
// files stay its own.
type Owner struct {
	// User owns the files that name no user themselves; nil for the user of this process.
	User *int64
	// Group owns all files and directories: the pod's fsGroup. Its members can read them, and what is made in the
	// directories belongs to the group, too. nil for the group of this process.
	Group *int64
	// Others are names at the top of the volume that are not the volume's, but stand for mounts within it.
	Others []string
}

// Write makes the files of a volume be exactly these. It says whether any was added, changed or removed; if not, the
// files stay untouched. Files that cannot lie in a volume are a node.PathError, before anything is written.
func Write(root *os.Root, files []node.File, owner Owner, now time.Time) (changed bool, err error) {
	changed, drop, err := Swap(root, files, owner, now)
	if err != nil {
		return changed, err
	}
	return changed, drop()
}

// Swap is a Write that leaves the old files to readers that are just on their way to them, until drop is called: one that
// has followed ..data, and not yet opened its file, would find none. What is not dropped goes with the next write.
func Swap(root *os.Root, files []node.File, owner Owner, now time.Time) (changed bool, drop func() error, err error) {
	if err := node.CheckFiles(files); err != nil {
		return false, nil, fmt.Errorf("checking the files of a volume: %w", err)
	}
	w, list := &writer{root: root, files: files, owner: owner, now: now}, steps()
	last := len(list) - 1
	err = w.take(list[:last])
	return w.swapped, func() error { return w.take(list[last:]) }, err
}

// writer is one write.
type writer struct {
	root  *os.Root
	files []node.File
	owner Owner
	now   time.Time

	// entries are the names in the volume when the write began.
	entries []fs.DirEntry
	// old is the directory that ..data leads to, if any.
	old string
	// same says that it holds the files already.
	same bool
	// fresh is the directory of the new files once it is made.
	fresh string
	// swapped says that ..data leads to the new files.
	swapped bool
}

type step struct {
	name string
	run  func(*writer) error
}

// steps are what a write consists of, in order. A write that ends between any two leaves old or new files to readers.
func steps() []step {
	return []step{
		{"looking at the volume", (*writer).look},
		{"comparing the files", (*writer).compare},
		{"clearing what an earlier write left behind", (*writer).clear},
		{"writing the files", (*writer).lay},
		{"giving the volume to its group", (*writer).give},
		{"preparing the swap", (*writer).prepare},
		{"swapping the files", (*writer).swap},
		{"showing the files", (*writer).show},
		{"hiding files that are gone", (*writer).hide},
		{"removing the old files", (*writer).drop},
	}
}

// take takes one step after the other. Where one does not work the new files go, unless readers see them already.
func (w *writer) take(list []step) error {
	for _, s := range list {
		if err := s.run(w); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", s.name, err), w.undo())
		}
	}
	return nil
}

// look finds what is in the volume.
func (w *writer) look() error {
	dir, err := w.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if w.entries, err = dir.ReadDir(-1); err != nil {
		return err
	}
	target, err := w.root.Readlink(dataLink)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// Anything else that it may lead to is not ours to remove later.
	if strings.HasPrefix(target, ownPrefix) && slices.ContainsFunc(w.entries, func(e fs.DirEntry) bool { return e.Name() == target }) {
		w.old = target
	}
	return nil
}

// compare finds out whether the files are there already.
func (w *writer) compare() error {
	if w.old == "" {
		return nil
	}
	wanted := make(map[string]*node.File, len(w.files))
	for i := range w.files {
		wanted[path.Clean(w.files[i].Path)] = &w.files[i]
	}
	other := false
	err := fs.WalkDir(w.root.FS(), w.old, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		relative := strings.TrimPrefix(name, w.old+"/")
		if f := wanted[relative]; f == nil || !w.holds(name, f) {
			other = true
			return fs.SkipAll
		}
		delete(wanted, relative)
		return nil
	})
	w.same = err == nil && !other && len(wanted) == 0
	return nil // what cannot be read is written anew
}

// holds says whether a file is there, with its content and mode.
func (w *writer) holds(name string, f *node.File) bool {
	info, err := w.root.Lstat(name)
	if err != nil || info.Mode() != modeOf(f) {
		return false
	}
	content, err := w.root.ReadFile(name)
	return err == nil && f.Value.Equal(node.NewValue(content))
}

// clear removes directories that no link leads to. It comes before writing, since they take up the volume's room.
func (w *writer) clear() error {
	for _, e := range w.entries {
		name := e.Name()
		if !strings.HasPrefix(name, ownPrefix) || name == dataLink || name == w.old {
			continue
		}
		if err := w.root.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the link that will replace ..data.
func (w *writer) prepare() error {
	if w.same {
		return nil
	}
	return w.root.Symlink(w.fresh, swapLink)
}

// swap replaces all files at once.
func (w *writer) swap() error {
	if w.same {
		return nil
	}
	if err := w.root.Rename(swapLink, dataLink); err != nil {
		return err
	}
	w.swapped = true
	return nil
}

// show makes the links by which people and programs know the files.
func (w *writer) show() error {
	for _, name := range w.visible() {
		if slices.Contains(w.owner.Others, name) {
			continue
		}
		target, err := w.root.Readlink(name)
		switch {
		case err == nil && target == path.Join(dataLink, name):
			continue
		case err == nil: // someone bent it
			if err := w.root.Remove(name); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrNotExist):
			continue // a mount point of another volume lies there, as it may in a pod
		}
		if err := w.link(name); err != nil {
			return err
		}
	}
	return nil
}

// link makes the link to a file, or to the directory that several are in. It belongs to whom the file belongs, as the kubelet
// has it.
func (w *writer) link(name string) error {
	if err := w.root.Symlink(path.Join(dataLink, name), name); err != nil {
		return err
	}
	for i := range w.files {
		first, _, _ := strings.Cut(path.Clean(w.files[i].Path), "/")
		if user := w.files[i].User; first == name && user != nil {
			return w.chown(name, user)
		}
	}
	return nil
}

// hide removes links to what is gone.
func (w *writer) hide() error {
	visible := w.visible()
	for _, e := range w.entries {
		name := e.Name()
		if e.Type()&fs.ModeSymlink == 0 || name == dataLink || slices.Contains(visible, name) || slices.Contains(w.owner.Others, name) {
			continue
		}
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// drop removes the old files.
func (w *writer) drop() error {
	if w.same || w.old == "" {
		return nil
	}
	return w.root.RemoveAll(w.old)
}

// undo removes what no reader has seen.
func (w *writer) undo() error {
	if w.fresh == "" || w.swapped {
		return nil
	}
	if err := errors.Join(w.root.RemoveAll(swapLink), w.root.RemoveAll(w.fresh)); err != nil {
		return fmt.Errorf("removing the new files: %w", err)
	}
	return nil
}

// visible are the first parts of all paths.
func (w *writer) visible() []string {
	names := make([]string, 0, len(w.files))
	for i := range w.files {
		name, _, _ := strings.Cut(path.Clean(w.files[i].Path), "/")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
