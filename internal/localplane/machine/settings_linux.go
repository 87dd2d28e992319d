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

// leaving is added to the name of a file while its settings are put back.
const leaving = ".leaving"

// SaveSettings writes the kernel's settings to a file, unless it holds those of before already. The pattern finds the files of all
// nodes on this machine: where another node has changed the settings, those of before it are the ones to save.
func SaveSettings(path, pattern string) error { return saveSettings(settingsRoot, path, pattern) }

func saveSettings(root, path, pattern string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	data, err := formerSettings(root, pattern)
	if err != nil {
		return err
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

// formerSettings are those that a node has saved, this one too where putting them back was cut short, or the kernel's own.
func formerSettings(root, pattern string) ([]byte, error) {
	for _, p := range []string{pattern, pattern + leaving} {
		others, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("looking for other nodes: %w", err)
		}
		for _, other := range others {
			if data, err := os.ReadFile(other); err == nil && json.Valid(data) { // it may have left just now
				return data, nil
			}
		}
	}
	values := map[string]string{}
	for _, name := range settings() {
		if value, err := os.ReadFile(filepath.Join(root, name)); err == nil {
			values[name] = string(value)
		}
	}
	data, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encoding the kernel's settings: %w", err)
	}
	return data, nil
}

// RestoreSettings puts the kernel's settings back to what the file holds, unless the pattern finds a file of another node, which
// still needs them as they are and will put them back. It removes the file.
func RestoreSettings(path, pattern string) error { return restoreSettings(settingsRoot, path, pattern) }

// restoreSettings gives up the file before it looks for others, so that of two nodes that leave at once one is the last.
func restoreSettings(root, path, pattern string) error {
	if err := os.Rename(path, path+leaving); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("putting the kernel's settings back: %w", err)
	}
	data, err := os.ReadFile(path + leaving)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the kernel's former settings: %w", err)
	}
	others, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("looking for other nodes: %w", err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(data, &values); err != nil {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	if len(others) == 0 {
		if err := restore(root, values); err != nil {
			return err
		}
	}
	if err := os.Remove(path + leaving); err != nil {
		return fmt.Errorf("forgetting the kernel's former settings: %w", err)
	}
	return nil
}

// restore writes the values that are no longer what they were.
func restore(root string, values map[string]string) error {
	var all []error
	for _, name := range settings() {
		file := filepath.Join(root, name)
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
