package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/bowline-dev/bowline/internal/node/storage"
)

// Policy says whether a namespace is wanted.
type Policy int

const (
	// Auto takes a namespace where one can be had, and a private folder elsewhere.
	Auto Policy = iota
	// Never takes a private folder.
	Never
)

// Spec is what is to be run, and in what.
type Spec struct {
	// Command is the program and its arguments. A name without a slash is looked up in the PATH of the program's environment.
	Command []string
	// Dir is the working directory, as the program sees it. Empty means the present one.
	Dir string
	// Env is the program's whole environment, for those who know it before New. Start takes another.
	Env []string
	// Volumes are the folders that can be mounted.
	Volumes []Volume
	// Mounts say where the program sees them.
	Mounts []Mount
	// Security is what the program may do.
	Security Security
	// Namespace says whether one is wanted.
	Namespace Policy
	// Stdin, Stdout and Stderr are the program's streams. Nil means this process's own.
	Stdin, Stdout, Stderr *os.File
	// Storage says how much all runs may hold, and where.
	Storage storage.Options
	// Reserve is how many bytes of secrets this run is about to write.
	Reserve int64
}

// Volume is a folder in memory.
type Volume struct {
	// Name is the volume's; no two have the same.
	Name string
	// Scratch says that it is the program's own, to write to unless a mount says otherwise. All other volumes are
	// read-only for the program.
	Scratch bool
	// Limit is how many bytes a scratch volume holds; 0 means half of the machine's memory. Without a namespace it is not held.
	Limit int64
	// Mode is the folder's. Zero means 0755.
	Mode fs.FileMode
	// UID and GID own the folder. They are ignored unless root runs this.
	UID, GID int
}

// Mount shows a volume at a path.
type Mount struct {
	// Volume is the name of the volume.
	Volume string
	// SubPath is the file or folder within the volume that is shown; empty means all of it. It is resolved when the program
	// starts, and what is not there becomes an empty folder, as the kubelet has it. Later changes of a file do not reach it.
	SubPath string
	// Path is where it is shown. One that does not begin with a slash is taken from the root.
	Path string
	// ReadOnly keeps the program from writing to a scratch volume.
	ReadOnly bool
}

// Security is what the program may do and as whom.
type Security struct {
	// User and Group are the uid and gid; nil means what is. A user without a group gets the primary group that
	// /etc/passwd names, else the gid with the user's number.
	User, Group *int64
	// Groups are the supplementary groups. If they, User and Group are empty, the present ones stay.
	Groups []int64
	// ReadOnlyRoot makes all but scratch volumes, /dev and /proc read-only. It takes a namespace.
	ReadOnlyRoot bool
	// NoNewPrivileges keeps set-user-ID programs from gaining anything.
	NoNewPrivileges bool
	// RunAsNonRoot refuses uid 0.
	RunAsNonRoot bool
	// Drop and Add name capabilities, with or without CAP_, in any case. "ALL" is all. Drop goes first. What is added is
	// limited to what this process has.
	Drop, Add []string
}

// Exit is how a program ended.
type Exit struct {
	// Code is the program's own, or 128 and the signal's number.
	Code int
	// Signal ended the program; 0 if none did.
	Signal syscall.Signal
}

// SpecError says that a Spec makes no sense.
type SpecError struct {
	// Field is the field that is wrong.
	Field string
	// Problem is what is wrong with it.
	Problem string
}

// Error names the field and the problem.
func (e *SpecError) Error() string { return e.Field + ": " + e.Problem }

const (
	// mostVolumes is how many folders fit into one message between the stages.
	mostVolumes = 250
	defaultMode = fs.FileMode(0o755)
)

// tidy returns the spec with its defaults filled in and its paths cleaned, or what is wrong with it.
func (s Spec) tidy() (Spec, error) {
	if len(s.Command) == 0 || s.Command[0] == "" {
		return s, &SpecError{Field: "command", Problem: "there is no program to run"}
	}
	volumes, err := tidyVolumes(s.Volumes)
	if err != nil {
		return s, err
	}
	mounts, err := tidyMounts(s.Mounts, volumes)
	if err != nil {
		return s, err
	}
	s.Volumes, s.Mounts = volumes, mounts
	s.Stdin, s.Stdout, s.Stderr = orElse(s.Stdin, os.Stdin), orElse(s.Stdout, os.Stdout), orElse(s.Stderr, os.Stderr)
	return s, nil
}

func tidyVolumes(volumes []Volume) ([]Volume, error) {
	if len(volumes) > mostVolumes {
		return nil, &SpecError{Field: "volumes", Problem: fmt.Sprintf("there are %d, more than %d", len(volumes), mostVolumes)}
	}
	volumes, seen := slices.Clone(volumes), map[string]bool{}
	for i, v := range volumes {
		if v.Name == "" || v.Name == "." || v.Name == ".." || strings.ContainsAny(v.Name, "/\x00") {
			return nil, &SpecError{Field: "volumes", Problem: fmt.Sprintf("%q cannot be the name of a folder", v.Name)}
		}
		if seen[v.Name] {
			return nil, &SpecError{Field: "volumes", Problem: fmt.Sprintf("there are two named %q", v.Name)}
		}
		seen[v.Name] = true
		if v.Mode == 0 {
			volumes[i].Mode = defaultMode
		}
	}
	return volumes, nil
}

// tidyMounts also sorts the mounts, so that one within another comes after it.
func tidyMounts(mounts []Mount, volumes []Volume) ([]Mount, error) {
	mounts, seen := slices.Clone(mounts), map[string]bool{}
	for i, m := range mounts {
		m.Path = path.Clean("/" + m.Path)
		if problem := m.problem(seen, volumes); problem != "" {
			return nil, &SpecError{Field: fmt.Sprintf("mount %q", m.Path), Problem: problem}
		}
		if m.SubPath != "" {
			m.SubPath = path.Clean(m.SubPath)
		}
		seen[m.Path], mounts[i] = true, m
	}
	slices.SortStableFunc(mounts, func(a, b Mount) int { return depth(a.Path) - depth(b.Path) })
	return mounts, nil
}

func (m Mount) problem(seen map[string]bool, volumes []Volume) string {
	switch {
	case m.Path == "/":
		return "nothing can be mounted on the root"
	case strings.ContainsRune(m.Path+m.SubPath, 0):
		return "there is a zero byte in it"
	case seen[m.Path]:
		return "two mounts have this path"
	case !slices.ContainsFunc(volumes, func(v Volume) bool { return v.Name == m.Volume }):
		return fmt.Sprintf("there is no volume %q", m.Volume)
	case path.IsAbs(m.SubPath) || slices.Contains(strings.Split(m.SubPath, "/"), ".."):
		return fmt.Sprintf("the subPath %q leads out of the volume", m.SubPath)
	}
	return ""
}

func depth(p string) int { return strings.Count(p, "/") }

// within says whether a path is a folder, or below it.
func within(folder, p string) bool {
	return p == folder || strings.HasPrefix(p, strings.TrimSuffix(folder, "/")+"/")
}

func orElse(file, other *os.File) *os.File {
	if file == nil {
		return other
	}
	return file
}
