package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const scratchPrefix = "bowline-bench-"

// scratch makes a folder for a control plane, and removes those of earlier runs that were killed. Their processes died
// with them.
func scratch() (string, error) {
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), scratchPrefix+"*-*"))
	if err != nil {
		return "", fmt.Errorf("looking for folders of earlier runs: %w", err)
	}
	for _, folder := range folders {
		if owner, ok := ownerOf(folder); ok && !exists(owner) {
			_ = os.RemoveAll(folder)
		}
	}
	dir, err := os.MkdirTemp("", scratchPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", fmt.Errorf("making a folder for the control plane: %w", err)
	}
	return dir, nil
}

// ownerOf returns the process that made a folder.
func ownerOf(folder string) (int, bool) {
	text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(folder), scratchPrefix), "-")
	pid, err := strconv.Atoi(text)
	return pid, err == nil && pid > 0
}

// exists reports whether there is a process with the pid, be it the one that made the folder or another.
func exists(pid int) bool {
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}
