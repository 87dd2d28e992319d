package localplane

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	binaryName     = "bowline-controlplane"
	binaryVariable = "BOWLINE_CONTROLPLANE"
	modulePath     = "github.com/bowline-dev/bowline"
)

// BinaryError says that the control plane binary is not where it was looked for, and how to get it.
type BinaryError struct {
	// Path is the path named by the caller or by the environment; empty when all the usual places were searched.
	Path string
	// Err is why Path cannot be run; nil when Path is empty.
	Err error
}

func (e *BinaryError) Error() string {
	advice := "run \"make build\", or set " + binaryVariable + " to its path"
	if e.Path == "" {
		return fmt.Sprintf("%s is neither beside this program, in the bin folder of the source tree nor in PATH: %s",
			binaryName, advice)
	}
	return fmt.Sprintf("control plane binary %q cannot be run: %v: %s", e.Path, e.Err, advice)
}

// Unwrap returns why the named binary cannot be run.
func (e *BinaryError) Unwrap() error { return e.Err }

// FindBinary returns the path of the control plane binary: the one BOWLINE_CONTROLPLANE names, else the one beside
// this program, in the bin folder of the source tree around the working directory, or in PATH, in this order.
// The error is a *BinaryError.
func FindBinary() (string, error) {
	if path := os.Getenv(binaryVariable); path != "" {
		return checkBinary(path)
	}
	var candidates []string
	if self, err := os.Executable(); err == nil {
		candidates = append(candidates, filepath.Join(filepath.Dir(self), binaryName))
	}
	if root, found := sourceRoot(); found {
		candidates = append(candidates, filepath.Join(root, "bin", binaryName))
	}
	for _, path := range candidates {
		if found, err := checkBinary(path); err == nil {
			return found, nil
		}
	}
	if path, err := exec.LookPath(binaryName); err == nil {
		return checkBinary(path)
	}
	return "", &BinaryError{}
}

// checkBinary returns path in absolute form when it names a file that may be executed.
func checkBinary(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", &BinaryError{Path: path, Err: err}
	}
	if _, err := exec.LookPath(absolute); err != nil {
		return "", &BinaryError{Path: path, Err: err}
	}
	return absolute, nil
}

// sourceRoot walks up from the working directory to the root of this module's source tree.
func sourceRoot() (string, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module "+modulePath+"\n")) {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
