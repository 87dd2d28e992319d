package testimony

import (
	"fmt"
	"io/fs"
	"syscall"
)

// The numbers of file systems, and of the flag for one that cannot be written to.
const (
	magicTmpfs = 0x01021994
	readOnly   = 1
)

// filesystem says what a path is on.
func filesystem(path string) (kind string, unwritable bool) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return "", false
	}
	if stat.Type == magicTmpfs {
		return "tmpfs", stat.Flags&readOnly != 0
	}
	return fmt.Sprintf("%#x", stat.Type), stat.Flags&readOnly != 0
}

func owner(info fs.FileInfo) (uid, gid int) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1
	}
	return int(stat.Uid), int(stat.Gid)
}
