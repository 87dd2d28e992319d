package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestInParallel(t *testing.T) {
	t.Parallel()
	var sum atomic.Int64
	err := inParallel(t.Context(), 3, 100, func(_ context.Context, i int) error {
		sum.Add(int64(i))
		return nil
	})
	if err != nil || sum.Load() != 4950 {
		t.Errorf("got %d, %v; want 4950", sum.Load(), err)
	}
}

func TestInParallelStops(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var calls atomic.Int64
	err := inParallel(t.Context(), 2, 1000, func(context.Context, int) error {
		calls.Add(1)
		return broken
	})
	if !errors.Is(err, broken) || calls.Load() > 2 {
		t.Errorf("got %v after %d calls, want %v after at most 2", err, calls.Load(), broken)
	}
}
