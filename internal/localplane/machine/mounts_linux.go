package machine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The field of a line of mountinfo that holds the mount point.
const mountPoint = 4

// Unmount takes away whatever is mounted below the folders, the last one first.
func Unmount(folders ...string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("reading what is mounted: %w", err)
	}
	var all []error
	for _, point := range mountsBelow(string(table), folders) {
		if err := unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			all = append(all, fmt.Errorf("unmounting %q: %w", point, err))
		}
	}
	return errors.Join(all...)
}

// mountsBelow lists the mount points in the folders, the last mounted first.
func mountsBelow(table string, folders []string) []string {
	var found []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= mountPoint {
			continue
		}
		point := unescape(fields[mountPoint])
		if slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(point, folder+"/") }) {
			found = append(found, point)
		}
	}
	slices.Reverse(found)
	return found
}

// unescape undoes what the kernel does to blanks and backslashes in paths.
func unescape(path string) string {
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if code, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		out.WriteByte(path[i])
	}
	return out.String()
}
