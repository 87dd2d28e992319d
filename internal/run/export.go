package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/volume"
)

const (
	privateDir  fs.FileMode = 0o700
	privateFile fs.FileMode = 0o600
)

// Export writes the files of a plan below a directory, each where the container has it, for tools that make containers
// themselves. The directory is made where it is missing; only its owner can enter it. Whoever calls this sees to it that
// secrets may lie there.
func Export(dir string, plan *node.Plan) error {
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return fmt.Errorf("making the directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, m := range plan.Mounts {
		if err := exportMount(root, plan, m); err != nil {
			return fmt.Errorf("writing %s below %s: %w", m.Path, dir, err)
		}
	}
	return nil
}

func exportMount(root *os.Root, plan *node.Plan, m node.Mount) error {
	at := strings.TrimPrefix(path.Clean("/"+m.Path), "/")
	files := mounted(plan, m)
	if len(files) == 1 && files[0].Path == "." {
		return exportFile(root, at, files[0])
	}
	if err := root.MkdirAll(at, privateDir); err != nil {
		return err
	}
	if err := open(root, at); err != nil || scratch(plan, m.Volume) {
		return err
	}
	sub, err := root.OpenRoot(at)
	if err != nil {
		return err
	}
	_, err = volume.Write(sub, files, volume.Owner{}, time.Now())
	return errors.Join(err, sub.Close())
}

// open gives the folder of a mount the mode that it has in a pod, since a container's user is often another than the one who
// exports. It does so only where the folder of the export keeps others out.
func open(root *os.Root, at string) error {
	top, err := root.Stat(".")
	if err != nil || top.Mode().Perm()&^privateDir != 0 {
		return err
	}
	return root.Chmod(at, volumeMode)
}

// exportFile writes the one file that a mount shows.
func exportFile(root *os.Root, at string, f node.File) error {
	if err := root.MkdirAll(path.Dir(at), privateDir); err != nil {
		return err
	}
	if err := root.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.WriteFile(at, f.Value.Reveal(), permissions(f))
}

// WriteEnvFile writes variables to a file that only its owner can read, in place of what was there. Whoever calls this sees
// to it that secrets may lie there.
func WriteEnvFile(name string, plan *node.Plan) (err error) {
	text, err := EnvFile(plan.Env)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), ".bowline-env-")
	if err != nil {
		return fmt.Errorf("making a file beside it: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name())
		}
	}()
	_, err = temporary.Write(text.Reveal())
	if err = errors.Join(err, temporary.Chmod(privateFile), temporary.Close()); err != nil {
		return fmt.Errorf("writing it: %w", err)
	}
	if err := os.Rename(temporary.Name(), name); err != nil {
		return fmt.Errorf("putting it in its place: %w", err)
	}
	return nil
}
