package controller

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/watch"
)

// sink puts what a change concerns into the reconcilers' queues. Before this replica leads there are none.
type sink struct {
	gather    *gathering
	workloads atomic.Pointer[queue[watch.WorkloadKey]]
	bindings  atomic.Pointer[queue[binding.Key]]
	kinds     chan struct{}
}

type queue[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]
}

func newSink(gather *gathering) *sink {
	return &sink{gather: gather, kinds: make(chan struct{}, 1)}
}

// WorkloadChanged has a workload reconciled; a fresh binding lets it wait for others.
func (s *sink) WorkloadChanged(key watch.WorkloadKey, fresh bool) {
	var wait time.Duration
	if fresh {
		wait = s.gather.touch(key)
	}
	if q := s.workloads.Load(); q != nil {
		q.AddAfter(key, wait)
	}
}

// BindingChanged has a binding reconciled.
func (s *sink) BindingChanged(key binding.Key) {
	if q := s.bindings.Load(); q != nil {
		q.Add(key)
	}
}

// KindsChanged has the registration at the API server looked at.
func (s *sink) KindsChanged() {
	select {
	case s.kinds <- struct{}{}:
	default:
	}
}

// feedQueue returns a source that directs the hub's reports into the queue of a reconciler, from the moment that all
// bindings are known.
func feedQueue[T comparable](hub *watch.Hub, s *sink, into *atomic.Pointer[queue[T]]) source.TypedSource[T] {
	return source.TypedFunc[T](func(ctx context.Context, q workqueue.TypedRateLimitingInterface[T]) error {
		go func() {
			select {
			case <-ctx.Done():
			case <-hub.Indexed():
				into.Store(&queue[T]{q})
				hub.Deliver(s)
			}
		}()
		return nil
	})
}
