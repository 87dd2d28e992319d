package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// track is what was seen of one binding and its workload.
type track struct {
	binding  *unstructured.Unstructured // nil before it was seen, and when it is gone
	workload *unstructured.Unstructured
	began    time.Time // when the present phase began to do something about it
	ended    time.Time // when what the phase waits for was seen
}

// bound says whether the binding is ready and its projection there.
func (t *track) bound() bool {
	return t.binding != nil && isReady(t.binding) &&
		slices.Contains(volumes(t.workload), volumePrefix+string(t.binding.GetUID()))
}

// unbound says whether the binding and all projections are gone.
func (t *track) unbound() bool { return t.binding == nil && len(volumes(t.workload)) == 0 }

// observer watches the bindings and the workloads, and notes when each is as a phase wants it.
type observer struct {
	mu       sync.Mutex
	tracks   []track
	index    map[string]int
	done     func(*track) bool
	left     int
	complete chan struct{}

	failed chan error
}

// newObserver begins with workloads as they are, and no binding.
func newObserver(workloads []*unstructured.Unstructured) *observer {
	o := &observer{index: map[string]int{}, failed: make(chan error, 1), done: (*track).bound}
	for i, w := range workloads {
		o.tracks = append(o.tracks, track{workload: w})
		o.index[w.GetName()] = i
	}
	return o
}

// start watches until the context ends.
func (o *observer) start(ctx context.Context, client dynamic.Interface) error {
	bindings, err := watchFrom(ctx, client.Resource(servicebindings()).Namespace(namespace))
	if err != nil {
		return fmt.Errorf("watching bindings: %w", err)
	}
	workloads, err := watchFrom(ctx, client.Resource(deployments()).Namespace(namespace))
	if err != nil {
		return fmt.Errorf("watching Deployments: %w", err)
	}
	go o.follow(ctx, bindings.ResultChan(), (*track).seeBinding)
	go o.follow(ctx, workloads.ResultChan(), (*track).seeWorkload)
	return nil
}

func watchFrom(ctx context.Context, client dynamic.ResourceInterface) (watch.Interface, error) {
	list, err := client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("finding out where to begin: %w", err)
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("beginning: %w", err)
	}
	return w, nil
}

var errWatchEnded = errors.New("a watch ended")

func (o *observer) follow(ctx context.Context, events <-chan watch.Event, see func(*track, watch.Event)) {
	for event := range events {
		seen, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			o.fail(apierrors.FromObject(event.Object))
			return
		}
		o.see(seen.GetName(), event, see)
	}
	if ctx.Err() == nil {
		o.fail(errWatchEnded)
	}
}

func (o *observer) fail(err error) {
	select {
	case o.failed <- err:
	default:
	}
}

func (o *observer) see(name string, event watch.Event, see func(*track, watch.Event)) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	i, known := o.index[name]
	if !known {
		return
	}
	t := &o.tracks[i]
	see(t, event)
	if t.began.IsZero() || !t.ended.IsZero() || !o.done(t) {
		return
	}
	t.ended = now
	if o.left--; o.left == 0 {
		close(o.complete)
	}
}

func (t *track) seeBinding(event watch.Event) {
	t.binding, _ = event.Object.(*unstructured.Unstructured)
	if event.Type == watch.Deleted {
		t.binding = nil
	}
}

func (t *track) seeWorkload(event watch.Event) {
	t.workload, _ = event.Object.(*unstructured.Unstructured)
}

// expect begins a phase, which is over for a binding when done says so.
func (o *observer) expect(done func(*track) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done, o.left, o.complete = done, len(o.tracks), make(chan struct{})
	for i := range o.tracks {
		o.tracks[i].began, o.tracks[i].ended = time.Time{}, time.Time{}
	}
}

// begin notes that something is about to be done about a binding.
func (o *observer) begin(i int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tracks[i].began = time.Now()
}

// wait waits until the phase is over for all bindings.
func (o *observer) wait(ctx context.Context) error {
	select {
	case <-o.complete:
		return nil
	case err := <-o.failed:
		return fmt.Errorf("watching: %w", err)
	case <-ctx.Done():
		return o.unfinished(context.Cause(ctx))
	}
}

// unfinished tells of the first binding that is not as it should be.
func (o *observer) unfinished(cause error) error {
	for _, t := range o.seen() {
		if !t.ended.IsZero() {
			continue
		}
		conditions := any("it was not seen")
		if t.binding != nil {
			conditions, _, _ = unstructured.NestedSlice(t.binding.Object, "status", "conditions")
		}
		return fmt.Errorf("waiting for all bindings: %w: %d are missing, such as %q: conditions %v, projected volumes %v",
			cause, o.missing(), t.workload.GetName(), conditions, volumes(t.workload))
	}
	return cause
}

func (o *observer) missing() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left
}

// seen returns what was seen last.
func (o *observer) seen() []track {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.tracks)
}

// times returns how long the phase took for each binding, and from the first begin to the last end.
func (o *observer) times() (each []time.Duration, total time.Duration) {
	var first, last time.Time
	for _, t := range o.seen() {
		each = append(each, t.ended.Sub(t.began))
		if first.IsZero() || t.began.Before(first) {
			first = t.began
		}
		if t.ended.After(last) {
			last = t.ended
		}
	}
	return each, last.Sub(first)
}
