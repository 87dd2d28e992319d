package controller

import (
	"k8s.io/client-go/util/workqueue"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/watch"
)

// fair hands out keys namespace by namespace, one of each in turn, and those of one namespace in the order they came: however
// much one tenant has waiting, the next key of another comes after at most one key of each namespace that waits.
//
// The work queue around it sees to delays, to keys that are there already or being worked on, and to the lock.
type fair[T comparable] struct {
	tenant  func(T) string
	turns   []string // each namespace that waits, once
	waiting map[string][]T
	length  int
}

func newFair[T comparable](tenant func(T) string) *fair[T] {
	return &fair[T]{tenant: tenant, waiting: map[string][]T{}}
}

// Touch does nothing: a key that is added again keeps its place.
func (*fair[T]) Touch(T) {}

// Push adds a key behind those of its namespace.
func (f *fair[T]) Push(key T) {
	tenant := f.tenant(key)
	if len(f.waiting[tenant]) == 0 {
		f.turns = append(f.turns, tenant)
	}
	f.waiting[tenant] = append(f.waiting[tenant], key)
	f.length++
}

// Len is how many keys wait.
func (f *fair[T]) Len() int { return f.length }

// Pop hands out the oldest key of the namespace whose turn it is. There must be one.
func (f *fair[T]) Pop() T {
	tenant := f.turns[0]
	f.turns = f.turns[1:]
	keys := f.waiting[tenant]
	key := keys[0]
	keys[0] = *new(T) // it must not be kept from being freed
	if len(keys) > 1 {
		f.waiting[tenant] = keys[1:]
		f.turns = append(f.turns, tenant)
	} else {
		delete(f.waiting, tenant)
	}
	f.length--
	return key
}

// newQueue makes the work queue of a reconciler, which takes turns between tenants.
func newQueue[T comparable](tenant func(T) string) func(string, workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return func(name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
		queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: name, Queue: newFair(tenant)})
		delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{Name: name, Queue: queue})
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[T]{Name: name, DelayingQueue: delaying})
	}
}

func tenantOfWorkload(key watch.WorkloadKey) string { return key.Namespace }

func tenantOfBinding(key binding.Key) string { return key.Namespace }
