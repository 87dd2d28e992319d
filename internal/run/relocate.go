package run

import (
	"path"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/node"
)

// relocator moves paths of the container to where this machine has them, for a program that does not see the container's
// own places.
type relocator struct {
	// mounts are the paths of the container's mounts, the longest first.
	mounts []string
	// seen says where the program finds what the container finds at a path.
	seen func(string) string
}

func newRelocator(plan *node.Plan, seen func(string) string) relocator {
	r := relocator{seen: seen}
	for _, m := range plan.Mounts {
		r.mounts = append(r.mounts, path.Clean(m.Path))
	}
	slices.SortFunc(r.mounts, func(a, b string) int { return len(b) - len(a) })
	return r
}

// variable moves the paths in a variable's value. SERVICE_BINDING_ROOT is the one that names a directory above mounts.
func (r relocator) variable(name, value string) string {
	if name == node.RootVariable && path.IsAbs(value) {
		return r.seen(path.Clean(value))
	}
	return r.text(value)
}

// text moves each path that is a mount or lies in one. It may stand alone, in a list, in an assignment or behind file://.
func (r relocator) text(value string) string {
	var moved strings.Builder
	for i := 0; i < len(value); {
		mount := r.at(value, i)
		if mount == "" {
			moved.WriteByte(value[i])
			i++
			continue
		}
		moved.WriteString(r.seen(mount))
		i += len(mount)
	}
	return moved.String()
}

// words moves the paths in the words of a command line.
func (r relocator) words(words []string) []string {
	moved := make([]string, 0, len(words))
	for _, w := range words {
		moved = append(moved, r.text(w))
	}
	return moved
}

// at returns the mount whose path begins at a position; "" for none.
func (r relocator) at(value string, i int) string {
	if value[i] != '/' || !begins(value[:i]) {
		return ""
	}
	for _, mount := range r.mounts {
		if rest, found := strings.CutPrefix(value[i:], mount); found && ends(rest) && mount != "/" {
			return mount
		}
	}
	return ""
}

// begins says whether a path may follow a text.
func begins(before string) bool {
	if before == "" || strings.HasSuffix(before, "file://") {
		return true
	}
	return strings.ContainsRune("=:,; \t\n\"'([{", rune(before[len(before)-1]))
}

// ends says whether a path's element ends before a text.
func ends(after string) bool {
	return after == "" || strings.ContainsRune("/:,; \t\n\"')]}?&#", rune(after[0]))
}
