package localplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	nodeVariable = "BOWLINE_NODE"

	containerdProgram = "containerd"
	shimProgram       = "containerd-shim-runc-v2"
	runcProgram       = "bowline-runc"
	imagesProgram     = "bowline-images"
	pauseProgram      = "pause"
	shellProgram      = "shell"
)

var errNoPrograms = errors.New("its programs are neither beside the control plane's binary nor in the bin folder of the source tree")

// findNodePrograms returns the folder of the node's programs: the one BOWLINE_NODE names, else the folder called node
// beside the control plane's binary, beside this program or in the bin folder of the source tree.
func findNodePrograms(binary string) (string, error) {
	hint := "run \"make node\", or set " + nodeVariable + " to their folder"
	if dir := os.Getenv(nodeVariable); dir != "" {
		if err := checkNodePrograms(dir); err != nil {
			return "", &NodeError{Err: err, Hint: hint}
		}
		return filepath.Abs(dir)
	}
	if binary == "" {
		binary, _ = FindBinary() // there are other places
	}
	candidates := []string{filepath.Join(filepath.Dir(binary), nodeDir)}
	if self, err := os.Executable(); err == nil {
		candidates = append(candidates, filepath.Join(filepath.Dir(self), nodeDir))
	}
	if root, found := sourceRoot(); found {
		candidates = append(candidates, filepath.Join(root, "bin", nodeDir))
	}
	for _, dir := range candidates {
		if checkNodePrograms(dir) == nil {
			return filepath.Abs(dir)
		}
	}
	return "", &NodeError{Err: errNoPrograms, Hint: hint}
}

// nodePrograms lists what is in the folder.
func nodePrograms() []string {
	return []string{
		containerdProgram, shimProgram, runcProgram, "runc", imagesProgram, pauseProgram, shellProgram, "cni/bridge", "cni/host-local",
	}
}

// checkNodePrograms wants every program of a node in the folder.
func checkNodePrograms(dir string) error {
	for _, name := range nodePrograms() {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("looking for %s: %w", name, err)
		}
	}
	return nil
}

// importImage gives an archive to containerd.
func (p *Plane) importImage(ctx context.Context, programs, archive string) error {
	var complaint bytes.Buffer
	command := exec.CommandContext(ctx, filepath.Join(programs, imagesProgram), "--address", p.socket(), archive)
	command.Stderr = &complaint
	if err := command.Run(); err != nil {
		return fmt.Errorf("giving an image to the node: %w: %s", err, bytes.TrimSpace(complaint.Bytes()))
	}
	return nil
}
