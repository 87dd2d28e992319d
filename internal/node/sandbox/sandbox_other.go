//go:build !linux

package sandbox

import (
	"context"
	"os"
	"runtime"
)

// Sandbox is where a program runs.
type Sandbox struct{}

// New returns an UnsupportedError here.
func New(context.Context, Spec) (*Sandbox, error) { return nil, unsupported() }

// Stage finds nothing to do here.
func Stage([]string) (int, bool) { return 0, false }

// Volume returns nothing here.
func (*Sandbox) Volume(string) *os.Root { return nil }

// Seen returns the path as it is.
func (*Sandbox) Seen(path string) string { return path }

// Inside is never so here.
func (*Sandbox) Inside(string) bool { return false }

// Isolated says that it is not.
func (*Sandbox) Isolated() (bool, string) { return false, unsupported().Error() }

// Unmet returns nothing here.
func (*Sandbox) Unmet() []string { return nil }

// PID returns nothing here.
func (*Sandbox) PID() int { return 0 }

// Resize returns an UnsupportedError here.
func (*Sandbox) Resize(context.Context, int64) error { return unsupported() }

// SetCommand does nothing here.
func (*Sandbox) SetCommand([]string) {}

// Start returns an UnsupportedError here.
func (*Sandbox) Start([]string) error { return unsupported() }

// Signal has nothing to signal here.
func (*Sandbox) Signal(os.Signal) error { return unsupported() }

// Wait returns an UnsupportedError here.
func (*Sandbox) Wait() (Exit, error) { return Exit{}, unsupported() }

// Close has nothing to give back here.
func (*Sandbox) Close() error { return nil }

func unsupported() error { return &UnsupportedError{System: runtime.GOOS} }
