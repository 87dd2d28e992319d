package storage

import (
	"fmt"
	"strings"
)

// DefaultLimit is the budget of all runs of a user together, in bytes, where nothing else is asked for.
const DefaultLimit = 64 << 20

// Options say where runs keep their reservations and private folders, and how much they may hold.
type Options struct {
	// Limit is the budget of all runs together, in bytes. Zero means DefaultLimit.
	Limit int64
	// AllowDisk lets a private folder lie on a disk.
	AllowDisk bool
	// Dir is where the user's folder is made. Empty means the first place that is in memory.
	Dir string
}

// Budget is the limit that holds: what is asked for, or the default.
func (o Options) Budget() int64 {
	if o.Limit == 0 {
		return DefaultLimit
	}
	return o.Limit
}

// BudgetError says that a run wants more memory for secrets than is left.
type BudgetError struct {
	// Wanted is what the run asked for, in bytes.
	Wanted int64
	// Used is what other living runs hold.
	Used int64
	// Limit is what all may hold together.
	Limit int64
}

// Error names the three numbers.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the secrets need %s, other runs hold %s, and all may hold %s",
		size(e.Wanted), size(e.Used), size(e.Limit))
}

// Hint says what to do.
func (*BudgetError) Hint() string {
	return "end other runs, name fewer Secrets, or set --secret-storage-size"
}

// DiskError says that secrets would lie on a disk.
type DiskError struct {
	// Path is the folder that is on a disk; empty if there is no place in memory at all.
	Path string
	// FileSystem is the kind of file system there.
	FileSystem string
}

// Error names the folder and its file system.
func (e *DiskError) Error() string {
	return fmt.Sprintf("%s is on a disk (%s), and secrets are held in memory only", e.Path, e.FileSystem)
}

// Hint says what to do.
func (*DiskError) Hint() string {
	return "mount a tmpfs on /dev/shm, set $XDG_RUNTIME_DIR to one, or accept the disk with --allow-disk"
}

// UnsafeError says that a folder cannot be trusted with secrets.
type UnsafeError struct {
	// Path is the folder.
	Path string
	// Problem is what is wrong with it.
	Problem string
}

// Error names the folder and what is wrong with it.
func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s cannot hold secrets: %s", e.Path, e.Problem)
}

// Hint says what to do.
func (e *UnsafeError) Hint() string {
	return "remove " + e.Path + ", or set $XDG_RUNTIME_DIR to a folder that only you can enter"
}

// UnsupportedError says that this operating system lacks what holding secrets in memory takes.
type UnsupportedError struct {
	// System is the operating system's name.
	System string
}

// Error names the operating system.
func (e *UnsupportedError) Error() string {
	return "secrets can be held in memory on Linux only, and this is " + e.System
}

// Hint says what to do.
func (*UnsupportedError) Hint() string { return "run it in a Linux machine or container" }

// size writes a number of bytes for people, exactly where it is a whole number of a unit.
func size(bytes int64) string {
	const unit = 1024
	value, names := float64(bytes), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for len(names) > 1 && value >= unit {
		value, names = value/unit, names[1:]
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + names[0]
}
