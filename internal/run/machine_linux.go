package run

import "golang.org/x/sys/unix"

// memory is how much this machine has, in bytes; 0 where that cannot be said.
func memory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit) //nolint:gosec // no machine has 2^63 bytes
}

// disk is how large the root file system is, in bytes; 0 where that cannot be said.
func disk() int64 {
	var info unix.Statfs_t
	if unix.Statfs("/", &info) != nil {
		return 0
	}
	return int64(info.Blocks) * info.Frsize //nolint:gosec // as above
}
