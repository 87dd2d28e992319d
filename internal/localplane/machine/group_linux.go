package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	groupsRoot = "/sys/fs/cgroup"
	groupPoll  = 20 * time.Millisecond
	procsFile  = "cgroup.procs"
)

// hierarchies lists the folders in which control groups are made: one for each controller in the first version, and the
// only one in the second.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(groupsRoot, "cgroup.controllers")); err == nil {
		return []string{groupsRoot}, nil
	}
	files, err := filepath.Glob(filepath.Join(groupsRoot, "*", procsFile))
	if err != nil {
		return nil, fmt.Errorf("looking for control groups: %w", err)
	}
	var found []string
	for _, file := range files {
		found = append(found, filepath.Dir(file))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("looking for control groups in %q: %w", groupsRoot, fs.ErrNotExist)
	}
	return found, nil
}

// MakeGroup makes a control group of this name in every hierarchy.
func MakeGroup(name string) error {
	folders, err := hierarchies()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // as all groups
			return fmt.Errorf("making a control group: %w", err)
		}
	}
	return delegate(filepath.Join(groupsRoot, name))
}

// delegate lets the group's children have every controller that there is. It concerns the second version alone: in the
// first there is no such group.
func delegate(group string) error {
	for _, folder := range []string{groupsRoot, group} {
		controllers, err := os.ReadFile(filepath.Join(folder, "cgroup.controllers"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the controllers of a control group: %w", err)
		}
		for controller := range strings.FieldsSeq(string(controllers)) {
			// One that cannot be had is missed by the kubelet, which says so better.
			_ = os.WriteFile(filepath.Join(folder, "cgroup.subtree_control"), []byte("+"+controller), 0)
		}
	}
	return nil
}

// RemoveGroup ends every process in the control group of this name, with a moment of grace to end by itself, and removes
// the group.
func RemoveGroup(ctx context.Context, name string, grace time.Duration) error {
	folders, err := hierarchies()
	if err != nil {
		return nil // without control groups there is none to remove
	}
	groups := make([]string, 0, len(folders))
	for _, folder := range folders {
		groups = append(groups, filepath.Join(folder, name))
	}
	signalAll(groups, name, syscall.SIGTERM)
	gentle, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	_ = poll(gentle, func() error { return vanish(groups) })
	return poll(ctx, func() error {
		signalAll(groups, name, syscall.SIGKILL)
		return vanish(groups)
	})
}

// poll repeats the attempt until it gives no error or the context ends.
func poll(ctx context.Context, attempt func() error) error {
	ticker := time.NewTicker(groupPoll)
	defer ticker.Stop()
	for {
		err := attempt()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

// signalAll sends a signal to the processes in the groups and below.
func signalAll(groups []string, name string, signal os.Signal) {
	seen := map[int]bool{}
	for _, group := range groups {
		for _, pid := range members(group) {
			if !seen[pid] {
				seen[pid] = true
				send(pid, name, signal)
			}
		}
	}
}

// members lists the processes of a group and of all groups below it.
func members(group string) []int {
	var found []int
	_ = filepath.WalkDir(group, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != procsFile {
			return nil //nolint:nilerr // a group that is gone has no members
		}
		data, err := os.ReadFile(path) //nolint:gosec // the kernel's own files, among which only root makes folders
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		for field := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				found = append(found, pid)
			}
		}
		return nil
	})
	return found
}

// send signals a process that is a member of the group of this name.
func send(pid int, name string, signal os.Signal) {
	process, err := os.FindProcess(pid)
	if err != nil {
		return // it is gone
	}
	defer func() { _ = process.Release() }()
	// The handle was taken first: what is checked now is what the signal will reach.
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err == nil && strings.Contains(string(data), ":/"+name+"/") {
		_ = process.Signal(signal)
	}
}

// vanish removes the groups with all groups below them, which works once they are empty.
func vanish(groups []string) error {
	var all []error
	for _, group := range groups {
		var below []string
		_ = filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				below = append(below, path)
			}
			return nil
		})
		for _, path := range slices.Backward(below) {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				all = append(all, fmt.Errorf("removing a control group: %w", err))
			}
		}
	}
	return errors.Join(all...)
}
