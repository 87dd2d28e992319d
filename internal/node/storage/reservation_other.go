//go:build !linux

package storage

import (
	"context"
	"runtime"
)

// Reservation is a run's share of the budget.
type Reservation struct{}

// Reserve returns an UnsupportedError here.
func Reserve(context.Context, Options, int64) (*Reservation, error) {
	return nil, &UnsupportedError{System: runtime.GOOS}
}

// Resize returns an UnsupportedError here.
func (*Reservation) Resize(context.Context, int64) error {
	return &UnsupportedError{System: runtime.GOOS}
}

// Directory returns an UnsupportedError here.
func (*Reservation) Directory(int, int) (string, error) {
	return "", &UnsupportedError{System: runtime.GOOS}
}

// Close has nothing to give back here.
func (*Reservation) Close() error { return nil }
