// Package testimony says what a process finds in its surroundings: its variables, and everything in the folders that it is
// asked about, down to modes, owners and where links lead.
//
// It promises that two processes with the same surroundings give the same testimony, wherever they run. It refuses to
// repeat a file's content: a hash stands for it.
package testimony

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Testimony is what a process found.
type Testimony struct {
	// UID and GID are who the process is.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Env are its variables.
	Env map[string]string `json:"env"`
	// Roots are the folders that it was asked about.
	Roots []Root `json:"roots"`
	// Entries are what is in them, themselves included, sorted by path.
	Entries []Entry `json:"entries"`
}

// Root is a folder that was asked about.
type Root struct {
	Path string `json:"path"`
	// Filesystem is what it is on: tmpfs, or the number of another kind.
	Filesystem string `json:"filesystem"`
	// ReadOnly says that nothing can be written there.
	ReadOnly bool `json:"readOnly"`
}

// Entry is a file, a folder or a link.
type Entry struct {
	Path string `json:"path"`
	// Type is file, directory, link or other.
	Type string `json:"type"`
	// Mode are its permissions, as ls shows them.
	Mode string `json:"mode"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
	// Target is where a link leads.
	Target string `json:"target,omitempty"`
	// Content is the hash of a file's content, as Hash makes it.
	Content string `json:"content,omitempty"`
	// Problem is why no more could be found out.
	Problem string `json:"problem,omitempty"`
}

// Hash returns what stands for a content.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Take looks at this process and at the folders.
func Take(folders ...string) Testimony {
	found := Testimony{UID: os.Getuid(), GID: os.Getgid(), Env: map[string]string{}}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		found.Env[name] = value
	}
	for _, folder := range folders {
		root := Root{Path: folder}
		root.Filesystem, root.ReadOnly = filesystem(folder)
		found.Roots = append(found.Roots, root)
		_ = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			found.Entries = append(found.Entries, look(path, err))
			return nil // what cannot be read is told in its entry
		})
	}
	return found
}

// look describes one path.
func look(path string, problem error) Entry {
	entry := Entry{Path: path}
	info, err := os.Lstat(path)
	if err != nil {
		entry.Problem = err.Error()
		return entry
	}
	entry.Mode = info.Mode().String()
	entry.UID, entry.GID = owner(info)
	switch {
	case problem != nil:
		entry.Type, entry.Problem = "other", problem.Error()
	case info.Mode().IsRegular():
		entry.Type = "file"
		content, err := os.ReadFile(path)
		if err != nil {
			entry.Problem = err.Error()
			break
		}
		entry.Content = Hash(content)
	case info.IsDir():
		entry.Type = "directory"
	case info.Mode()&fs.ModeSymlink != 0:
		entry.Type = "link"
		if entry.Target, err = os.Readlink(path); err != nil {
			entry.Problem = err.Error()
		}
	default:
		entry.Type = "other"
	}
	return entry
}

// stamp is the folder in which a version of a volume lies, named after the time at which it was written.
var stamp = regexp.MustCompile(`\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+`)

// Normal returns the testimony with the same name for every folder that is named after a time, so that testimonies from
// different times can be compared.
func (t Testimony) Normal() Testimony {
	entries := make([]Entry, len(t.Entries))
	for i, e := range t.Entries {
		e.Path, e.Target = stamp.ReplaceAllString(e.Path, "..TIME"), stamp.ReplaceAllString(e.Target, "..TIME")
		entries[i] = e
	}
	t.Entries = entries
	return t
}

// Content returns the hash of what one reads at the path, following the links of a volume; an error when there is none.
func (t Testimony) Content(path string) (string, error) {
	for range len(t.Entries) + 1 { // more steps than links are a circle
		next, followed := t.step(path)
		if !followed {
			entry, found := t.at(path)
			if !found {
				return "", fmt.Errorf("reading %q: %w", path, fs.ErrNotExist)
			}
			return entry.Content, nil
		}
		path = next
	}
	return "", fmt.Errorf("reading %q: links lead in a circle: %w", path, fs.ErrInvalid)
}

// step follows the first link on the way to a path; false when there is none.
func (t Testimony) step(path string) (next string, followed bool) {
	parent, rest := "/", strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, name := range rest {
		here := filepath.Join(parent, name)
		if entry, found := t.at(here); found && entry.Type == "link" {
			target := entry.Target
			if !filepath.IsAbs(target) {
				target = filepath.Join(parent, target)
			}
			return filepath.Join(append([]string{target}, rest[i+1:]...)...), true
		}
		parent = here
	}
	return "", false
}

func (t Testimony) at(path string) (Entry, bool) {
	for _, e := range t.Entries {
		if e.Path == path {
			return e, true
		}
	}
	return Entry{}, false
}
