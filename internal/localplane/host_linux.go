package localplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	lockPoll = 25 * time.Millisecond
	// The places of what is read among the fields of /proc/<pid>/stat that follow the command.
	statState     = 0
	statThreads   = 17
	statStartTime = 19
)

// supported says whether this system has what the package needs.
func supported() error { return nil }

// attributes puts a child into a session of its own, out of reach of the terminal's signals. An attached child is
// killed when the thread that started it ends.
func attributes(attached bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if attached {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}

// bootID tells one run of the system's kernel from the next, in which the same pid may come up at the same tick.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// startTime returns the tick since boot at which the process started; false when there is none. A zombie is none, once
// its last thread has ended: until then it holds its ports and files.
func startTime(pid int) (uint64, bool) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	// The command stands in brackets and may itself hold brackets and blanks.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= statStartTime {
		return 0, false
	}
	threads, err := strconv.Atoi(string(fields[statThreads]))
	if state := string(fields[statState]); state == "X" || state == "Z" && (err != nil || threads <= 1) {
		return 0, false
	}
	ticks, err := strconv.ParseUint(string(fields[statStartTime]), 10, 64)
	return ticks, err == nil
}

// program returns the name of the program that the process runs; empty when there is none.
func program(pid int) string {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return ""
	}
	path, _, _ := bytes.Cut(line, []byte{0})
	return filepath.Base(string(path))
}

// processesWith returns the processes of this user whose environment holds the entry.
func processesWith(entry string) ([]int, error) {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []int
	for _, folder := range folders {
		pid, err := strconv.Atoi(folder.Name())
		if err != nil {
			continue
		}
		environment, err := os.ReadFile(filepath.Join("/proc", folder.Name(), "environ"))
		if err != nil {
			continue // gone, or another user's
		}
		for line := range bytes.SplitSeq(environment, []byte{0}) {
			if string(line) == entry {
				found = append(found, pid)
			}
		}
	}
	return found, nil
}

// lock waits until nobody else holds the lock file and holds it until the returned function is called, or the process
// ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		file, err := tryLock(path)
		if err != nil {
			return nil, fmt.Errorf("locking %q: %w", path, err)
		}
		if file != nil {
			return func() { _ = file.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another process to release %q: %w", path, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// tryLock returns the locked file, or nil while another holds it.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, privateFile)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			return nil, nil //nolint:nilnil // "not yet" is neither
		}
		return nil, fmt.Errorf("taking the lock: %w", err)
	}
	if !names(path, file) { // the former holder removed it, and the next one makes another
		_ = file.Close()
		return nil, nil //nolint:nilnil // "not yet" is neither
	}
	return file, nil
}

// names reports whether the path leads to the open file.
func names(path string, file *os.File) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(held, there)
}
