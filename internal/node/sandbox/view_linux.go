package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// view is what the program is to see, made within the second stage's mount namespace.
type view struct {
	made    setup
	secrets int   // the file system with the volumes that are not scratch
	scratch []int // those of the scratch volumes, in their order
	mirrors []mirror
	mounted []clone
}

// clone is a volume, or a part of it, to be mounted.
type clone struct {
	fd       int
	mount    Mount
	folder   bool
	readOnly bool
}

// newView makes the file systems, and sees to it that the folder of each mount point is there.
func newView(made setup) (*view, error) {
	v := &view{made: made, secrets: -1}
	if made.Namespace == 0 {
		return v, nil
	}
	// What is mounted here stays here; what the machine unmounts later, this namespace must not keep busy.
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return nil, fmt.Errorf("detaching from the mounts of the machine: %w", err)
	}
	if err := v.makeVolumes(); err != nil {
		return nil, err
	}
	for _, m := range made.Mounts {
		if err := v.reach(m.Path); err != nil {
			return nil, fmt.Errorf("making the mount point %s: %w", m.Path, err)
		}
	}
	return v, nil
}

// descriptors are the folders for the supervisor.
func (v *view) descriptors() []int {
	if v.secrets < 0 {
		return nil
	}
	return append([]int{v.secrets}, v.scratch...)
}

func (v *view) makeVolumes() error {
	var err error
	if v.secrets, err = newMemory(v.made.Size, defaultMode); err != nil {
		return err
	}
	for _, volume := range v.made.Volumes {
		fd, name := v.secrets, volume.Name
		if volume.Scratch {
			if fd, err = newMemory(volume.Limit, defaultMode); err != nil {
				return err
			}
			v.scratch, name = append(v.scratch, fd), "."
		} else if err := unix.Mkdirat(fd, name, uint32(defaultMode)); err != nil {
			return fmt.Errorf("making volume %q: %w", volume.Name, err)
		}
		folder, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d/%s", fd, name))
		if err != nil {
			return fmt.Errorf("opening volume %q: %w", volume.Name, err)
		}
		if err := errors.Join(dress(folder, volume), folder.Close()); err != nil {
			return err
		}
	}
	return nil
}

// newMemory makes a file system in memory that is mounted nowhere yet. Root's is kept out of swap, where Linux can.
func newMemory(limit int64, mode os.FileMode) (int, error) {
	for _, options := range [][]string{{"noswap"}, nil} {
		fd, err := tmpfs(limit, mode, options)
		if err == nil || options == nil {
			return fd, err
		}
	}
	return -1, nil
}

func tmpfs(limit int64, mode os.FileMode, flags []string) (int, error) {
	context, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("making a file system in memory: %w", err)
	}
	defer func() { _ = unix.Close(context) }()
	settings := map[string]string{"mode": strconv.FormatUint(uint64(mode.Perm()), 8), "source": "bowline"}
	if limit > 0 {
		settings["size"] = strconv.FormatInt(limit, 10)
	}
	for key, value := range settings {
		if err := unix.FsconfigSetString(context, key, value); err != nil {
			return -1, fmt.Errorf("setting %s=%s of a file system in memory: %w", key, value, err)
		}
	}
	for _, flag := range flags {
		if err := unix.FsconfigSetFlag(context, flag); err != nil {
			return -1, fmt.Errorf("setting %s of a file system in memory: %w", flag, err)
		}
	}
	if err := unix.FsconfigCreate(context); err != nil {
		return -1, fmt.Errorf("making a file system in memory: %w", err)
	}
	fd, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return -1, fmt.Errorf("making a file system in memory: %w", err)
	}
	return fd, nil
}

// finish mounts the volumes as they are by now. What is read-only becomes so last, since mount points are made within.
func (v *view) finish(readOnlyRoot bool) error {
	if err := v.cloneVolumes(); err != nil {
		return err
	}
	for _, c := range v.mounted {
		if v.nested(c.mount.Path) {
			continue
		}
		if err := v.makePoint(c); err != nil {
			return err
		}
	}
	if err := v.protect(readOnlyRoot); err != nil {
		return err
	}
	for _, c := range v.mounted {
		if err := v.mount(c); err != nil {
			return err
		}
	}
	return v.protectVolumes()
}

func (v *view) protectVolumes() error {
	for _, c := range v.mounted {
		if !c.readOnly {
			continue
		}
		if err := setReadOnly(c.fd, "", unix.AT_EMPTY_PATH); err != nil {
			return fmt.Errorf("making %s read-only: %w", c.mount.Path, err)
		}
	}
	return nil
}

// nested says whether a path is within another mount.
func (v *view) nested(p string) bool {
	return slices.ContainsFunc(v.made.Mounts, func(m Mount) bool {
		return m.Path != p && within(m.Path, p)
	})
}

// cloneVolumes takes the parts of the volumes that are to be mounted. Linux clones only what is mounted, so the volumes
// are on top of the root for a moment, where no path leads to them.
func (v *view) cloneVolumes() error {
	volumes := v.descriptors()
	for _, fd := range volumes {
		if err := attach(fd, unix.AT_FDCWD, "/"); err != nil {
			return fmt.Errorf("attaching the volumes: %w", err)
		}
	}
	for _, m := range v.made.Mounts {
		c, err := v.clone(m)
		if err != nil {
			return fmt.Errorf("mounting volume %q on %s: %w", m.Volume, m.Path, err)
		}
		v.mounted = append(v.mounted, c)
	}
	for _, fd := range slices.Backward(volumes) {
		if err := detach(fd); err != nil {
			return fmt.Errorf("detaching the volumes: %w", err)
		}
	}
	return nil
}

func (v *view) clone(m Mount) (clone, error) {
	volume, base, folder := v.find(m.Volume)
	source, err := resolve(base, folder, m.SubPath, volume.Mode)
	if err != nil {
		return clone{}, err
	}
	defer func() { _ = unix.Close(source) }()
	var is unix.Stat_t
	if err := unix.Fstat(source, &is); err != nil {
		return clone{}, fmt.Errorf("looking at %q: %w", m.SubPath, err)
	}
	fd, err := unix.OpenTree(source, "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return clone{}, fmt.Errorf("cloning it: %w", err)
	}
	return clone{
		fd: fd, mount: m, folder: is.Mode&unix.S_IFMT == unix.S_IFDIR, readOnly: m.ReadOnly || !volume.Scratch,
	}, nil
}

// find returns a volume, its file system, and its folder there.
func (v *view) find(name string) (Volume, int, string) {
	scratch := 0
	for _, volume := range v.made.Volumes {
		switch {
		case volume.Name == name && volume.Scratch:
			return volume, v.scratch[scratch], "."
		case volume.Name == name:
			return volume, v.secrets, name
		case volume.Scratch:
			scratch++
		}
	}
	return Volume{}, -1, "" // mounts without a volume are refused before
}

// resolve opens a part of a volume. Links in it lead nowhere out of the volume; what is not there becomes a folder.
func resolve(base int, folder, part string, mode os.FileMode) (int, error) {
	volume, err := unix.Openat(base, folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil || part == "" {
		return volume, err
	}
	defer func() { _ = unix.Close(volume) }()
	how := &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	found, err := unix.Openat2(volume, part, how)
	if !errors.Is(err, unix.ENOENT) {
		return found, err
	}
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", volume))
	if err != nil {
		return -1, fmt.Errorf("opening the volume: %w", err)
	}
	if err := errors.Join(root.MkdirAll(part, mode.Perm()), root.Close()); err != nil {
		return -1, fmt.Errorf("making the subPath %q: %w", part, err)
	}
	return unix.Openat2(volume, part, how)
}

// mount puts a clone where the program sees it.
func (v *view) mount(c clone) error {
	if err := v.makePoint(c); err != nil {
		return err
	}
	if err := attach(c.fd, unix.AT_FDCWD, c.mount.Path); err != nil {
		return fmt.Errorf("mounting volume %q on %s: %w", c.mount.Volume, c.mount.Path, err)
	}
	return nil
}

// protect makes the root read-only, if that is wanted, and in any case the mirrors of folders that were so for this user.
func (v *view) protect(readOnlyRoot bool) error {
	for _, m := range v.mirrors {
		if m.readOnly {
			// By its path: the mirror of a folder further up, made later, holds a clone of it.
			if err := setReadOnly(unix.AT_FDCWD, m.path, 0); err != nil {
				return fmt.Errorf("making the mirror of %s read-only: %w", m.path, err)
			}
		}
	}
	if !readOnlyRoot {
		return nil
	}
	return protectRoot()
}

// protectRoot makes all that is mounted read-only but /dev and /proc, which a program needs: those are taken before, and
// mounted again on top.
func protectRoot() error {
	kept := map[string]int{}
	for _, folder := range []string{"/dev", "/proc"} {
		fd, err := unix.OpenTree(unix.AT_FDCWD, folder, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return fmt.Errorf("keeping %s: %w", folder, err)
		}
		kept[folder] = fd
	}
	if err := setReadOnly(unix.AT_FDCWD, "/", unix.AT_RECURSIVE); err != nil {
		return fmt.Errorf("making the root read-only: %w", err)
	}
	for folder, fd := range kept {
		if err := attach(fd, unix.AT_FDCWD, folder); err != nil {
			return fmt.Errorf("keeping %s: %w", folder, err)
		}
	}
	return nil
}

func setReadOnly(dir int, name string, flags uint) error {
	return unix.MountSetattr(dir, name, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// attach mounts a file system, or a clone, on a path.
func attach(fd, dir int, name string) error {
	flags := unix.MOVE_MOUNT_F_EMPTY_PATH
	if name == "" {
		flags |= unix.MOVE_MOUNT_T_EMPTY_PATH
	} else {
		flags |= unix.MOVE_MOUNT_T_SYMLINKS
	}
	return unix.MoveMount(fd, "", dir, name, flags)
}

// detach takes a mount away from where no path leads to it.
func detach(fd int) error {
	if err := unix.Fchdir(fd); err != nil {
		return fmt.Errorf("entering a mount: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting it: %w", err)
	}
	return unix.Chdir("/")
}
