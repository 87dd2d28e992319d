package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const settingsRoot = "/proc/sys"

// settings are those that the kubelet, kube-proxy and the network of pods change.
func settings() []string {
	return []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
		"kernel/keys/root_maxbytes", "net/ipv4/ip_forward", "net/ipv4/conf/all/route_localnet", "net/netfilter/nf_conntrack_max",
	}
}

// SaveSettings writes the kernel's settings to a file, unless it holds those of before already.
func SaveSettings(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	values := map[string]string{}
	for _, name := range settings() {
		if value, err := os.ReadFile(filepath.Join(settingsRoot, name)); err == nil {
			values[name] = string(value)
		}
	}
	data, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("encoding the kernel's settings: %w", err)
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return fmt.Errorf("saving the kernel's settings: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("saving the kernel's settings: %w", err)
	}
	return nil
}

// RestoreSettings puts the kernel's settings back to what the file holds, and removes it.
func RestoreSettings(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the kernel's former settings: %w", err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(data, &values); err != nil {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	if err := restore(values); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("forgetting the kernel's former settings: %w", err)
	}
	return nil
}

// restore writes the values that are no longer what they were.
func restore(values map[string]string) error {
	var all []error
	for _, name := range settings() {
		file := filepath.Join(settingsRoot, name)
		now, err := os.ReadFile(file)
		value, saved := values[name]
		if err != nil || !saved || string(now) == value {
			continue // it is not there, or it is as it was
		}
		if err := os.WriteFile(file, []byte(value), 0); err != nil {
			all = append(all, fmt.Errorf("restoring %s: %w", name, err))
		}
	}
	return errors.Join(all...)
}
