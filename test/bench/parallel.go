package main

import (
	"context"
	"sync"
	"sync/atomic"
)

// inParallel calls do with each number below n, in order, by so many workers, until one of the calls fails.
func inParallel(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		next atomic.Int64
		all  sync.WaitGroup
	)
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err) // the first one is kept
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx) //nolint:wrapcheck // what do returned
}
