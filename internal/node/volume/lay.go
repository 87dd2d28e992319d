package volume

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/bowline-dev/bowline/internal/node"
)

const (
	dirMode fs.FileMode = 0o755
	// ownMode is a file's until it has its content and its owner.
	ownMode fs.FileMode = 0o600
	// groupMode is what the kubelet adds to directories that belong to a group.
	groupMode = fs.ModeSetgid | 0o550
	unchanged = -1
)

// lay writes the new files into a directory of their own.
func (w *writer) lay() error {
	if w.same {
		return nil
	}
	if err := w.makeFresh(); err != nil {
		return err
	}
	made := map[string]bool{".": true}
	for i := range w.files {
		f := &w.files[i]
		name := path.Clean(f.Path)
		if err := w.makeDirs(path.Dir(name), made); err != nil {
			return err
		}
		if err := w.layFile(path.Join(w.fresh, name), f); err != nil {
			return err
		}
	}
	return nil
}

// makeFresh makes the directory. Its name is the time; where that is taken, a little later.
func (w *writer) makeFresh() error {
	for at := w.now.UTC(); ; at = at.Add(time.Nanosecond) {
		name := at.Format(stamp)
		err := w.root.Mkdir(name, dirMode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		w.fresh = name
		return w.ownDir(name)
	}
}

// makeDirs makes a directory and those above it below the new one.
func (w *writer) makeDirs(dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if err := w.makeDirs(path.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	name := path.Join(w.fresh, dir)
	if err := w.root.Mkdir(name, dirMode); err != nil {
		return err
	}
	return w.ownDir(name)
}

// ownDir sets owner and mode of a directory, whatever the process's umask is.
func (w *writer) ownDir(name string) error {
	mode := dirMode
	if w.owner.Group != nil {
		mode |= groupMode
	}
	if err := w.chown(name, nil); err != nil {
		return err
	}
	return w.root.Chmod(name, mode)
}

// layFile writes one file. Nobody else can read it before it has its owner.
func (w *writer) layFile(name string, f *node.File) error {
	if err := w.root.WriteFile(name, f.Value.Reveal(), ownMode); err != nil {
		return err
	}
	user := w.owner.User
	if f.User != nil {
		user = f.User
	}
	if err := w.chown(name, user); err != nil {
		return err
	}
	return w.root.Chmod(name, modeOf(f))
}

// give lets the group into the volume.
func (w *writer) give() error {
	if w.same || w.owner.Group == nil {
		return nil
	}
	info, err := w.root.Stat(".")
	if err != nil {
		return err
	}
	if err := w.chown(".", nil); err != nil {
		return err
	}
	mode := info.Mode() & (fs.ModePerm | fs.ModeSetgid | fs.ModeSetuid | fs.ModeSticky)
	return w.root.Chmod(".", mode|groupMode)
}

// chown gives something away, as far as this process can.
func (w *writer) chown(name string, user *int64) error {
	uid, gid := idOf(user), idOf(w.owner.Group)
	if uid == unchanged && gid == unchanged {
		return nil
	}
	err := w.root.Lchown(name, uid, gid)
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return nil
	}
	return err
}

func idOf(id *int64) int {
	if id == nil {
		return unchanged
	}
	return int(*id)
}

func modeOf(f *node.File) fs.FileMode {
	return fs.FileMode(f.Mode) & fs.ModePerm //nolint:gosec // a mode has nine bits
}
