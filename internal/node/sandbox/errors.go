package sandbox

import (
	"fmt"
	"strconv"
)

// CannotBecomeError says that this user cannot run a program as another.
type CannotBecomeError struct {
	// What is "user" or "group".
	What string
	// ID is the one asked for.
	ID int64
	// Own is the present one.
	Own int
}

// Error names both ids.
func (e *CannotBecomeError) Error() string {
	return fmt.Sprintf("the program is to run as %s %d, and only root can give it another %s than %d", e.What, e.ID, e.What, e.Own)
}

// Hint says what to do.
func (e *CannotBecomeError) Hint() string {
	field := "runAsUser"
	if e.What == "group" {
		field = "runAsGroup"
	}
	return "run it as root (sudo), or set " + field + " to " + strconv.Itoa(e.Own) + " or not at all"
}

// RootError says that a program that must not run as root would.
type RootError struct{}

// Error says so.
func (*RootError) Error() string {
	return "the security context says runAsNonRoot, and the program would run as root"
}

// Hint says what to do.
func (*RootError) Hint() string { return "set runAsUser, or do not run it as root" }

// NotFoundError says that there is no program to run. Nothing was started.
type NotFoundError struct {
	// Name is the program's, as it was given.
	Name string
	// Problem is what is in the way.
	Problem string
}

// Error names the program and what is in the way.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("the program %q cannot be run: %s", e.Name, e.Problem)
}

// Hint says what to do.
func (*NotFoundError) Hint() string {
	return "give the path of a program on this machine; a container's own may be in its image only"
}

// StageError says that the second stage could not do its work. Nothing was started.
type StageError struct {
	// Doing is what it did, and what was in the way, in one line.
	Doing string
	// Advice says what to do about it; empty where that is not known.
	Advice string
}

// Error is that line.
func (e *StageError) Error() string { return e.Doing }

// Hint says what to do; it may be empty.
func (e *StageError) Hint() string { return e.Advice }

// tooLarge is what to do about too large an environment.
const tooLarge = "Linux takes 128 KiB for each argument and variable, and some MiB for all: mount what is large as a file"

// UnsupportedError says that this operating system lacks what a sandbox takes.
type UnsupportedError struct {
	// System is the operating system's name.
	System string
}

// Error names the operating system.
func (e *UnsupportedError) Error() string {
	return "a program can be run with its bindings on Linux only, and this is " + e.System
}

// Hint says what to do.
func (*UnsupportedError) Hint() string { return "run it in a Linux machine or container" }
