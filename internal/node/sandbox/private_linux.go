package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// mountedFolder holds what would be mounted, at its paths.
	mountedFolder = "root"
	// otherFolder holds volumes that are mounted in parts only, or nowhere.
	otherFolder = "volumes"
	passMode    = os.FileMode(0o755)
)

// private is a folder that stands in for a namespace. The first mount of a whole volume is the volume's folder; further
// mounts, and those of parts, are links to it.
type private struct {
	dir    string
	mounts []Mount
}

// seen maps a path of a container: that of a mount, below one, or above one.
func (p *private) seen(container string) string {
	container = path.Clean(container)
	for _, m := range p.mounts {
		if within(m.Path, container) || within(container, m.Path) && container != "/" {
			return filepath.Join(p.dir, mountedFolder, container)
		}
	}
	return container
}

// place is where a volume lies in the folder.
func (p *private) place(volume string) string {
	for _, m := range p.mounts {
		if m.Volume == volume && m.SubPath == "" {
			return filepath.Join(mountedFolder, m.Path)
		}
	}
	return filepath.Join(otherFolder, volume)
}

// build makes the folders and links, and opens the volumes.
func (p *private) build(volumes []Volume) (map[string]*os.Root, error) {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, fmt.Errorf("opening the private folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	folders := map[string]*os.Root{}
	for _, m := range p.mounts { // sorted, so that a folder comes before what is within it
		if err := makeAll(root, filepath.Dir(filepath.Join(mountedFolder, m.Path))); err != nil {
			return folders, err
		}
		if at := filepath.Join(mountedFolder, m.Path); p.place(m.Volume) != at {
			err := root.Symlink(filepath.Join(p.dir, p.place(m.Volume), m.SubPath), at)
			if err != nil {
				return folders, fmt.Errorf("linking %s: %w", m.Path, err)
			}
			continue
		}
		if err := makeAll(root, filepath.Join(mountedFolder, m.Path)); err != nil {
			return folders, err
		}
	}
	for _, v := range volumes {
		if folders[v.Name], err = p.open(root, v); err != nil {
			delete(folders, v.Name)
			return folders, err
		}
	}
	return folders, nil
}

func (p *private) open(root *os.Root, v Volume) (*os.Root, error) {
	if err := makeAll(root, p.place(v.Name)); err != nil {
		return nil, err
	}
	folder, err := root.OpenRoot(p.place(v.Name))
	if err != nil {
		return nil, fmt.Errorf("opening volume %q: %w", v.Name, err)
	}
	if err := dress(folder, v); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

// makeParts makes folders of the parts of volumes that are mounted and not there, as the kubelet does.
func (p *private) makeParts(folders map[string]*os.Root) error {
	for _, m := range p.mounts {
		if m.SubPath == "" {
			continue
		}
		_, err := folders[m.Volume].Stat(m.SubPath)
		if errors.Is(err, os.ErrNotExist) {
			err = folders[m.Volume].MkdirAll(m.SubPath, passMode)
		}
		if err != nil {
			return fmt.Errorf("making the subPath %q of volume %q: %w", m.SubPath, m.Volume, err)
		}
	}
	return nil
}

// makeAll makes a folder and those above it, for everyone to pass: the private folder itself keeps others out.
func makeAll(root *os.Root, name string) error {
	made := ""
	for part := range strings.SplitSeq(name, "/") {
		made = filepath.Join(made, part)
		err := root.Mkdir(made, passMode)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err == nil {
			err = root.Chmod(made, passMode) // whatever the umask is
		}
		if err != nil {
			return fmt.Errorf("making the private folder: %w", err)
		}
	}
	return nil
}

// dress gives a volume's folder its owner and mode, as far as this process may.
func dress(folder *os.Root, v Volume) error {
	if os.Geteuid() == 0 {
		if err := folder.Chown(".", v.UID, v.GID); err != nil {
			return fmt.Errorf("giving volume %q to %d:%d: %w", v.Name, v.UID, v.GID, err)
		}
	}
	if err := folder.Chmod(".", v.Mode); err != nil { // after chown, which clears bits
		return fmt.Errorf("setting the mode of volume %q: %w", v.Name, err)
	}
	return nil
}
