package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// mirror is a folder of the machine, covered by one in memory with the same entries.
type mirror struct {
	path     string
	fd       int
	readOnly bool
}

const (
	pointMode   = 0o755
	pointFile   = unix.S_IFREG | 0o644
	inFullPerms = 0o7777
)

// reach sees to it that a mount point can be made at a path: that it is there, or that its folder is, on a file system of
// this namespace only.
func (v *view) reach(target string) error {
	for {
		if is, err := exists(target); err != nil || is {
			return err
		}
		ancestor := path.Dir(target)
		for {
			is, err := exists(ancestor)
			if err != nil {
				return err
			}
			if is {
				break
			}
			ancestor = path.Dir(ancestor)
		}
		own, err := v.owns(ancestor)
		if err != nil {
			return err
		}
		if own {
			return makeFolders(ancestor, path.Dir(target))
		}
		if err := v.mirror(ancestor); err != nil {
			return fmt.Errorf("showing %s in memory: %w", ancestor, err)
		}
	}
}

func exists(name string) (bool, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking at %s: %w", name, err)
	}
	return true, unix.Close(fd)
}

// owns says whether a path is on a file system that was made here.
func (v *view) owns(name string) (bool, error) {
	var there unix.Stat_t
	if err := unix.Stat(name, &there); err != nil {
		return false, fmt.Errorf("looking at %s: %w", name, err)
	}
	made := v.descriptors()
	for _, m := range v.mirrors {
		made = append(made, m.fd)
	}
	for _, fd := range made {
		var own unix.Stat_t
		if err := unix.Fstat(fd, &own); err != nil {
			return false, fmt.Errorf("looking at a file system: %w", err)
		}
		if own.Dev == there.Dev {
			return true, nil
		}
	}
	return false, nil
}

// makeFolders makes those below a folder down to another.
func makeFolders(from, to string) error {
	if from == to {
		return nil
	}
	if err := makeFolders(from, path.Dir(to)); err != nil {
		return err
	}
	if err := unix.Mkdir(to, pointMode); err != nil {
		if errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("making %s: a link there leads nowhere", to)
		}
		return fmt.Errorf("making %s: %w", to, err)
	}
	return nil
}

// makePoint makes the mount point of a clone, if it is not there, or says that it is of the wrong kind.
func (v *view) makePoint(c clone) error {
	target := c.mount.Path
	if err := v.reach(target); err != nil {
		return fmt.Errorf("making the mount point %s: %w", target, err)
	}
	var is unix.Stat_t
	err := unix.Stat(target, &is)
	switch {
	case errors.Is(err, unix.ENOENT) && c.folder:
		err = unix.Mkdir(target, pointMode)
	case errors.Is(err, unix.ENOENT):
		err = unix.Mknod(target, pointFile, 0)
	case err == nil && c.folder != (is.Mode&unix.S_IFMT == unix.S_IFDIR):
		return &StageError{
			Doing:  fmt.Sprintf("mounting volume %q on %s: one is a folder, the other a file", c.mount.Volume, target),
			Advice: "what this machine has at that path is in the way; to keep the files in a private folder: --no-namespace",
		}
	}
	if err != nil {
		return fmt.Errorf("making the mount point %s: %w", target, err)
	}
	return nil
}

// mirror covers a folder with one in memory, so that mount points can be made in it. The root is exchanged for one.
func (v *view) mirror(name string) error {
	old, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("listing it: %w", err)
	}
	defer func() { _ = old.Close() }()
	dir := int(old.Fd())
	var is unix.Stat_t
	if err := unix.Fstat(dir, &is); err != nil {
		return fmt.Errorf("looking at it: %w", err)
	}
	isRoot, err := samePlace(dir, "/")
	if err != nil {
		return err
	}
	// A folder that the user of a user namespace could not write to would become the user's own here.
	readOnly := unix.Faccessat(dir, ".", unix.W_OK, unix.AT_EACCESS) != nil
	cover, err := newMemory(0, defaultMode)
	if err != nil {
		return err
	}
	if err := v.fill(cover, old, &is); err != nil {
		return err
	}
	v.mirrors = append(v.mirrors, mirror{path: name, fd: cover, readOnly: readOnly})
	if isRoot {
		return pivot(cover, dir)
	}
	return nil
}

// fill attaches the cover, gives it the owner and the mode of the old folder, and shows the old one's entries in it.
func (v *view) fill(cover int, old *os.File, is *unix.Stat_t) error {
	if err := unix.Fchownat(cover, "", int(is.Uid), int(is.Gid), unix.AT_EMPTY_PATH); err != nil &&
		!errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) { // in a user namespace others' ids cannot be given
		return fmt.Errorf("giving it its owner: %w", err)
	}
	if err := unix.Fchmodat(cover, ".", is.Mode&inFullPerms, 0); err != nil {
		return fmt.Errorf("giving it its mode: %w", err)
	}
	if err := attach(cover, int(old.Fd()), ""); err != nil {
		return fmt.Errorf("covering it: %w", err)
	}
	entries, err := old.ReadDir(-1)
	if err != nil {
		return fmt.Errorf("listing it: %w", err)
	}
	for _, entry := range entries {
		if err := show(cover, int(old.Fd()), entry); err != nil {
			return fmt.Errorf("showing %s: %w", entry.Name(), err)
		}
	}
	return nil
}

// show makes an entry of the old folder visible in the cover. One that vanished meanwhile, or that Linux lets nobody
// mount elsewhere, is left out or empty.
func show(cover, old int, entry fs.DirEntry) error {
	name := entry.Name()
	if entry.Type()&fs.ModeSymlink != 0 {
		return copyLink(cover, old, name)
	}
	tree, err := unix.OpenTree(old, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|
		unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("cloning it: %w", err)
	}
	cloned := err == nil
	if entry.IsDir() {
		err = unix.Mkdirat(cover, name, pointMode)
	} else {
		err = unix.Mknodat(cover, name, pointFile, 0)
	}
	if err != nil || !cloned {
		return err
	}
	defer func() { _ = unix.Close(tree) }()
	return attach(tree, cover, name)
}

func copyLink(cover, old int, name string) error {
	target := make([]byte, unix.PathMax)
	length, err := unix.Readlinkat(old, name, target)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the link: %w", err)
	}
	return unix.Symlinkat(string(target[:length]), cover, name)
}

// samePlace says whether a folder is the one at a path, in the same mount.
func samePlace(dir int, name string) (bool, error) {
	var one, other unix.Statx_t
	const mask = unix.STATX_INO | unix.STATX_MNT_ID
	if err := unix.Statx(dir, "", unix.AT_EMPTY_PATH, mask, &one); err != nil {
		return false, fmt.Errorf("looking at it: %w", err)
	}
	if err := unix.Statx(unix.AT_FDCWD, name, 0, mask, &other); err != nil {
		return false, fmt.Errorf("looking at %s: %w", name, err)
	}
	return one.Ino == other.Ino && one.Mnt_id == other.Mnt_id, nil
}

// pivot makes the cover the root, and lets the old one go.
func pivot(cover, old int) error {
	if err := unix.Fchdir(cover); err != nil {
		return fmt.Errorf("entering the new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("exchanging the root: %w", err)
	}
	if err := unix.Fchdir(old); err != nil {
		return fmt.Errorf("entering the old root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("letting the old root go: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("entering the new root: %w", err)
	}
	return nil
}
