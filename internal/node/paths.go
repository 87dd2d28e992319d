package node

import (
	"path"
	"strings"
)

const (
	maxPath = 4096
	maxName = 255
)

// CheckFiles finds out whether files can lie in one volume: each path is relative, stays inside, begins with no two dots,
// which the volume keeps to itself, and is not a directory of another one. The error is a PathError.
func CheckFiles(files []File) error {
	taken := make(map[string]bool, len(files))
	for i := range files {
		if rule := ruleOf(files[i].Path); rule != "" {
			return &PathError{Path: files[i].Path, Rule: rule}
		}
		name := path.Clean(files[i].Path)
		if taken[name] {
			return &PathError{Path: files[i].Path, Rule: "there is another file of that path"}
		}
		taken[name] = true
	}
	for i := range files {
		for dir := path.Dir(path.Clean(files[i].Path)); dir != "."; dir = path.Dir(dir) {
			if taken[dir] {
				return &PathError{Path: files[i].Path, Rule: "its directory " + dir + " is a file, too"}
			}
		}
	}
	return nil
}

// ruleOf is the rule that a path breaks, if it breaks one.
func ruleOf(name string) string {
	switch {
	case name == "" || path.Clean(name) == ".":
		return "a path is not empty"
	case path.IsAbs(name):
		return "a path is relative to its volume"
	case len(name) > maxPath:
		return "a path has 4096 bytes at most"
	case strings.HasPrefix(path.Clean(name), ".."):
		return "a path does not begin with two dots"
	case strings.IndexByte(name, 0) >= 0:
		return "a path has no NUL byte"
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "a path does not lead upwards"
		}
		if len(part) > maxName {
			return "a file name has 255 bytes at most"
		}
	}
	return ""
}

// cleaned is the shortest form of a path that keeps the rules; one that breaks them stays as it is, to be refused.
func cleaned(name string) string {
	if ruleOf(name) != "" {
		return name
	}
	return path.Clean(name)
}
