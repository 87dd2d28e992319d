//go:build !linux

package localplane

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// supported says whether this system has what the package needs.
func supported() error {
	return fmt.Errorf("a local control plane needs Linux, this is %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func attributes(bool) *syscall.SysProcAttr { return nil }

func bootID() string { return "" }

func startTime(int) (uint64, bool) { return 0, false }

func program(int) string { return "" }

func processesWith(string) ([]int, error) { return nil, nil }

func lock(context.Context, string) (unlock func(), err error) { return nil, supported() }
