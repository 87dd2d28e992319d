package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockName     = "lock"
	sharedMemory = "/dev/shm"
	// ownMode lets nobody else in. Programs that root runs as another user must get through to their own folder, so
	// root's home can be passed, but not listed.
	ownMode  = fs.FileMode(0o700)
	passMode = fs.FileMode(0o711)
	openBits = fs.FileMode(0o066)

	// longestWait is how long another run may hold the lock: it counts a few files meanwhile.
	longestWait = 10 * time.Second
	pause       = 2 * time.Millisecond
)

// home is the folder of all runs of a user.
type home struct {
	path string
	root *os.Root
}

// openHome opens the user's folder, and makes it if it is not there.
func openHome(options Options, getenv func(string) string) (*home, error) {
	parent := options.Dir
	if parent == "" {
		parent = firstInMemory(places(os.Geteuid(), getenv))
	}
	h := &home{path: filepath.Join(parent, "bowline-"+strconv.Itoa(os.Geteuid()))}
	if err := h.open(); err != nil {
		return nil, err
	}
	return h, nil
}

// places lists where reservations could lie, the best first. The last one is a disk on most machines: reservations may
// lie there, since they hold sizes only; private folders may not.
func places(uid int, getenv func(string) string) []string {
	listed := []string{getenv("XDG_RUNTIME_DIR"), "/run/user/" + strconv.Itoa(uid), sharedMemory, os.TempDir()}
	if uid == 0 {
		listed = slices.Insert(listed, 0, sharedMemory) // other users must reach what root runs as them
	}
	return slices.DeleteFunc(listed, func(place string) bool { return !filepath.IsAbs(place) })
}

// firstInMemory returns the first place that is in memory and can be written to, else the last one.
func firstInMemory(listed []string) string {
	for _, place := range listed {
		if _, memory, err := kindOf(place); err == nil && memory && unix.Access(place, unix.W_OK|unix.X_OK) == nil {
			return place
		}
	}
	return listed[len(listed)-1]
}

func (h *home) open() error {
	mode := ownMode
	if os.Geteuid() == 0 {
		mode = passMode
	}
	if err := os.Mkdir(h.path, ownMode); err == nil {
		err = os.Chmod(h.path, mode) // whatever the umask is
		if err != nil {
			return fmt.Errorf("making a folder for secrets: %w", err)
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making a folder for secrets: %w", err)
	}
	root, err := os.OpenRoot(h.path)
	if err != nil {
		return fmt.Errorf("opening the folder for secrets: %w", err)
	}
	if err := trusted(h.path, root); err != nil {
		return errors.Join(err, root.Close())
	}
	h.root = root
	return nil
}

// trusted checks that what was opened is the folder at the path itself, no link to elsewhere, and that nobody else can
// write to it. The place may be writable for everyone, so both may have been prepared by someone else.
func trusted(path string, root *os.Root) error {
	opened, err := root.Stat(".")
	if err != nil {
		return fmt.Errorf("looking at the folder for secrets: %w", err)
	}
	there, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("looking at the folder for secrets: %w", err)
	}
	if !there.IsDir() || !os.SameFile(opened, there) {
		return &UnsafeError{Path: path, Problem: "it is no folder but a link"}
	}
	owner, ok := opened.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Geteuid() {
		return &UnsafeError{Path: path, Problem: fmt.Sprintf("it does not belong to user %d", os.Geteuid())}
	}
	if opened.Mode().Perm()&openBits != 0 {
		return &UnsafeError{Path: path, Problem: fmt.Sprintf("its mode is %v, so others can read or write it", opened.Mode().Perm())}
	}
	return nil
}

// locked runs one step while no other run looks or changes anything here.
func (h *home) locked(ctx context.Context, step func() error) error {
	file, err := h.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, filesMode)
	if err != nil {
		return fmt.Errorf("opening the lock: %w", err)
	}
	defer func() { _ = file.Close() }()
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	for {
		err := flock(file)
		if err == nil {
			return step()
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for another run to let go of %s: %w", filepath.Join(h.path, lockName), ctx.Err())
		case <-time.After(pause):
		}
	}
}

func (h *home) entries() ([]string, error) {
	dir, err := h.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("listing the runs: %w", err)
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("listing the runs: %w", err)
	}
	return names, nil
}

func (h *home) close() error { return h.root.Close() }

// kind says what file system the home is on.
func (h *home) kind() (string, bool, error) { return kindOf(h.path) }

// kindOf names the file system at a path, and says whether it is in memory.
func kindOf(path string) (string, bool, error) {
	var found unix.Statfs_t
	if err := unix.Statfs(path, &found); err != nil {
		return "", false, fmt.Errorf("looking at the file system of %s: %w", path, err)
	}
	magic := uint32(found.Type) //nolint:gosec // a magic number is 32 bits, whatever the machine's word is
	if name, ok := fileSystems()[magic]; ok {
		return name, magic == unix.TMPFS_MAGIC || magic == unix.RAMFS_MAGIC, nil
	}
	return fmt.Sprintf("file system %#x", magic), false, nil
}

// fileSystems names those that a person is likely to meet.
func fileSystems() map[uint32]string {
	return map[uint32]string{
		unix.TMPFS_MAGIC:           "tmpfs",
		unix.RAMFS_MAGIC:           "ramfs",
		unix.EXT4_SUPER_MAGIC:      "ext4",
		unix.XFS_SUPER_MAGIC:       "xfs",
		unix.BTRFS_SUPER_MAGIC:     "btrfs",
		unix.OVERLAYFS_SUPER_MAGIC: "overlay",
		unix.NFS_SUPER_MAGIC:       "nfs",
		unix.FUSE_SUPER_MAGIC:      "fuse",
	}
}
