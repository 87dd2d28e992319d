package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/volume"
)

const memoryDir = "/dev/shm"

// newPrivateDir makes an empty directory that only this user can enter, in memory where the machine has /dev/shm.
func newPrivateDir() (string, error) {
	dir, err := os.MkdirTemp(memoryDir, "bowline-")
	if err != nil {
		dir, err = os.MkdirTemp("", "bowline-")
	}
	if err != nil {
		return "", fmt.Errorf("making a private directory: %w", err)
	}
	return dir, nil
}

// lay writes the volumes of a plan into a private directory of that name, each where it is mounted.
func (s *story) lay(plan *node.Plan, name string) (string, error) {
	dir := filepath.Join(s.private, name)
	if err := os.Mkdir(dir, privateMode); err != nil {
		return "", fmt.Errorf("making a directory for the files: %w", err)
	}
	for _, m := range plan.Mounts {
		if err := layVolume(filepath.Join(dir, m.Path), plan.Volume(m.Volume).Files); err != nil {
			return "", fmt.Errorf("laying out %s: %w", m.Path, err)
		}
	}
	return dir, nil
}

func layVolume(dir string, files []node.File) error {
	if err := os.MkdirAll(dir, privateMode); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	if _, err := volume.Write(root, files, volume.Owner{}, time.Now()); err != nil {
		return fmt.Errorf("writing the files: %w", err)
	}
	return nil
}

// environ gives the variables to a program whose mounts lie below dir.
func environ(plan *node.Plan, dir string) []string {
	list := make([]string, 0, len(plan.Env))
	for _, v := range plan.Env {
		value := string(v.Value.Reveal())
		if v.Name == node.RootVariable {
			value = filepath.Join(dir, value)
		}
		list = append(list, v.Name+"="+value)
	}
	return list
}
