package node

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// RootVariable names the variable that says where the bindings are.
	RootVariable = "SERVICE_BINDING_ROOT"

	memoryDir  = "/dev/shm"
	privateDir = 0o700
	ownerBits  = 0o700

	// dataLink and dataDir are the kubelet's way to replace all files of a volume at once.
	dataLink = "..data"
	dataDir  = "..1"
)

// NewDir makes an empty directory that only this user can enter, in memory where the machine has /dev/shm, so that
// Secrets do not reach a disk. The caller removes it.
func NewDir() (string, error) {
	dir, err := os.MkdirTemp(memoryDir, "bowline-")
	if err != nil {
		dir, err = os.MkdirTemp("", "bowline-")
	}
	if err != nil {
		return "", fmt.Errorf("making a private directory: %w", err)
	}
	return dir, nil
}

// Write lays out the files of a plan below dir, which MUST exist and hold nothing of an earlier plan. Only this user
// can read them, whatever mode the volume asks for: there is nobody else in a container to share with. Nothing is
// ever written outside dir, whatever the paths in the plan say.
func (p *Plan) Write(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	for i := range p.Mounts {
		if err := writeMount(root, &p.Mounts[i]); err != nil {
			return fmt.Errorf("writing mount %s below %s: %w", p.Mounts[i].Path, dir, err)
		}
	}
	return nil
}

// writeMount writes one volume the way the kubelet does: the files in a hidden directory, a hidden link to that, and
// links to what is behind it.
func writeMount(root *os.Root, m *Mount) error {
	at := strings.TrimPrefix(path.Clean("/"+m.Path), "/")
	data := path.Join(at, dataDir)
	if err := root.MkdirAll(data, privateDir); err != nil {
		return err //nolint:wrapcheck // the caller says which mount
	}
	for i := range m.Files {
		if err := writeFile(root, data, &m.Files[i]); err != nil {
			return err
		}
	}
	if err := root.Symlink(dataDir, path.Join(at, dataLink)); err != nil {
		return err //nolint:wrapcheck // the caller says which mount
	}
	linked := map[string]bool{}
	for i := range m.Files {
		first, _, _ := strings.Cut(m.Files[i].Path, "/")
		if linked[first] { // several files may share a directory
			continue
		}
		linked[first] = true
		if err := root.Symlink(path.Join(dataLink, first), path.Join(at, first)); err != nil {
			return err //nolint:wrapcheck // the caller says which mount
		}
	}
	return nil
}

// writeFile writes one file and the directories on the way to it.
func writeFile(root *os.Root, dir string, f *File) error {
	if !filepath.IsLocal(f.Path) {
		return fmt.Errorf("file %q would lie outside the mount", f.Path)
	}
	name := path.Join(dir, f.Path)
	if err := root.MkdirAll(path.Dir(name), privateDir); err != nil {
		return err //nolint:wrapcheck // the caller says which mount
	}
	//nolint:gosec,wrapcheck // the mode has nine bits; the caller says which mount
	return root.WriteFile(name, f.Value.Reveal(), fs.FileMode(f.Mode)&ownerBits)
}

// Environ returns the variables in the form that os/exec takes, with SERVICE_BINDING_ROOT pointing below dir. The
// result holds secret values: it is for the process's environment and for nothing else.
func (p *Plan) Environ(dir string) []string {
	list := make([]string, 0, len(p.Env))
	for _, v := range p.Env {
		value := string(v.Value.Reveal())
		if v.Name == RootVariable {
			value = filepath.Join(dir, value)
		}
		list = append(list, v.Name+"="+value)
	}
	return list
}
