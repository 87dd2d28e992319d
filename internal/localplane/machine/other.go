//go:build !linux

package machine

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// Ready says that only Linux can be a node.
func Ready() error { return errors.ErrUnsupported }

// AddBridge is for Linux alone.
func AddBridge(string, netip.Prefix) error { return errors.ErrUnsupported }

// RemoveBridge is for Linux alone.
func RemoveBridge(string) error { return nil }

// MakeGroup is for Linux alone.
func MakeGroup(string) error { return errors.ErrUnsupported }

// RemoveGroup is for Linux alone.
func RemoveGroup(context.Context, string, time.Duration) error { return nil }

// Unmount is for Linux alone.
func Unmount(...string) error { return nil }

// SaveSettings is for Linux alone.
func SaveSettings(string, string) error { return errors.ErrUnsupported }

// RestoreSettings is for Linux alone.
func RestoreSettings(string, string) error { return nil }

// ForgetPods is for Linux alone.
func ForgetPods(string, string) error { return nil }
