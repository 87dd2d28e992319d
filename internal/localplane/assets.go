package localplane

import (
	"fmt"
	"os"
	"path/filepath"
)

// WriteAssets fills dir with links named etcd, kube-apiserver and kubectl to the control plane binary, which makes it
// the BinaryAssetsDirectory of controller-runtime's envtest. An empty binary takes what FindBinary finds.
func WriteAssets(dir, binary string) error {
	find := func() (string, error) { return checkBinary(binary) }
	if binary == "" {
		find = FindBinary
	}
	target, err := find()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return fmt.Errorf("making the folder of the assets: %w", err)
	}
	for _, name := range []string{Etcd, APIServer, "kubectl"} {
		link := filepath.Join(dir, name)
		if present, err := os.Readlink(link); err == nil && present == target {
			continue
		}
		_ = os.Remove(link) // when this fails, so does what follows
		if err := os.Symlink(target, link); err != nil {
			return fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return nil
}
