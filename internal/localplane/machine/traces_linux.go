package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ForgetPods removes what the kubelet and the network of pods leave outside of their own folders, whatever they are told:
// links to logs in the folder, the results of the network of this name, and a socket on which nobody listens any more.
// Folders that are empty then go too.
func ForgetPods(logs, network string) error {
	links, err := filepath.Glob("/var/log/containers/*")
	if err != nil {
		return fmt.Errorf("looking for links to logs: %w", err)
	}
	var gone []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, logs+"/") {
			gone = append(gone, link)
		}
	}
	results, err := filepath.Glob("/var/lib/cni/results/" + network + "-*")
	if err != nil {
		return fmt.Errorf("looking for results of the network %q: %w", network, err)
	}
	var all []error
	for _, path := range append(gone, results...) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, fmt.Errorf("removing what a pod left: %w", err))
		}
	}
	removeSocket("/var/lib/kubelet/device-plugins/kubelet.sock")
	for _, folder := range []string{
		"/var/log/containers", "/var/lib/cni/results", "/var/lib/cni", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet",
	} {
		_ = os.Remove(folder) // it stays when it holds files of others
	}
	return errors.Join(all...)
}

// removeSocket removes a socket unless somebody listens on it.
func removeSocket(path string) {
	connection, err := net.Dial("unix", path) //nolint:noctx // it does not wait
	if err == nil {
		_ = connection.Close()
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(path)
	}
}
