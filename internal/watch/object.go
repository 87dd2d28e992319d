package watch

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// objectWatch keeps what one reference names in memory, through the kind's absence and the lack of a permission. It is the
// store of a reflector.
type objectWatch struct {
	ref     ObjectRef
	keep    func(*unstructured.Unstructured)
	changed func()
	cancel  context.CancelFunc
	kick    chan struct{}
	lists   atomic.Int64 // counts how often all was taken in

	mu      sync.RWMutex
	err     error // ErrStarting, *KindError, or nil when objects are in step with the API server
	objects map[string]*unstructured.Unstructured
}

// failing is after how many failures in a row an object counts as one that the API server does not give. What is in memory
// already stays there.
const failing = 4

// run does the work until the context ends.
func (w *objectWatch) run(ctx context.Context, client dynamic.Interface, served *servedKinds) {
	var row failures
	for ctx.Err() == nil {
		before := w.lists.Load()
		err := w.follow(ctx, client, served)
		if err == nil {
			continue // the API server ends every watch some time
		}
		count, wait := row.another(w.lists.Load() != before)
		fault := (*KindError)(nil)
		switch _, known := w.list(); {
		case errors.As(err, &fault):
			w.publish(err)
		case errors.Is(known, ErrStarting) && count >= failing:
			w.publish(&KindError{Kind: w.ref.GroupVersionKind, Fault: Failing}) // whoever waits for it can go on
		}
		w.pause(ctx, wait)
	}
}

// failures are those in a row.
type failures struct{ count int }

// another counts one more, and says how long to wait. With the first one after a success the row begins anew: what was there
// a moment ago is looked for again at once.
func (f *failures) another(afterSuccess bool) (count int, wait time.Duration) {
	if afterSuccess {
		f.count = 0
	}
	f.count++
	wait = firstRetry
	for i := 1; i < f.count && wait < lastRetry; i++ {
		wait *= 2
	}
	return f.count, min(wait, lastRetry)
}

// follow lists and watches until the API server ends that or something is in the way.
func (w *objectWatch) follow(ctx context.Context, client dynamic.Interface, served *servedKinds) error {
	resource, namespaced, err := Locate(served, w.ref.GroupVersionKind)
	if err != nil {
		served.doubt(w.ref.Group) // what is missing is asked for again
		return err
	}
	if !namespaced {
		return &KindError{Kind: w.ref.GroupVersionKind, Resource: resource, Fault: NotNamespaced}
	}
	reflector := cache.NewReflectorWithOptions(w.lister(client, resource), &unstructured.Unstructured{}, w, cache.ReflectorOptions{
		Name: "bowline", TypeDescription: resource.String(),
	})
	for err == nil && ctx.Err() == nil {
		err = reflector.ListAndWatchWithContext(ctx)
	}
	switch {
	case apierrors.IsForbidden(err):
		return &KindError{Kind: w.ref.GroupVersionKind, Resource: resource, Fault: Forbidden}
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		served.forget(resource.Group)
		return &KindError{Kind: w.ref.GroupVersionKind, Resource: resource, Fault: NoSuchKind}
	}
	return err //nolint:wrapcheck // passing: it is tried again
}

// lister lists and watches what the reference names, and nothing else.
func (w *objectWatch) lister(client dynamic.Interface, resource schema.GroupVersionResource) cache.ListerWatcher {
	objects := resourceOf(client, resource, w.ref)
	only := func(options *metav1.ListOptions) {
		if w.ref.Name != "" {
			options.FieldSelector = fields.OneTermEqualSelector("metadata.name", w.ref.Name).String()
		}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			only(&options)
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			only(&options)
			return objects.Watch(ctx, options)
		},
	}
}

// pause waits, unless it is cut short because the cause may have gone.
func (w *objectWatch) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-w.kick:
	}
}

// look cuts a pause short.
func (w *objectWatch) look() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// list returns what there is, sorted by name.
func (w *objectWatch) list() ([]*unstructured.Unstructured, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.err != nil {
		return nil, w.err
	}
	return slices.SortedFunc(maps.Values(w.objects), func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(a.GetName(), b.GetName())
	}), nil
}

// publish notes that something is in the way, and forgets what there was.
func (w *objectWatch) publish(err error) {
	w.mu.Lock()
	same := sameFault(w.err, err)
	w.err = err
	clear(w.objects)
	w.mu.Unlock()
	if !same {
		w.changed()
	}
}

// Add takes an object in.
func (w *objectWatch) Add(item any) error {
	object, ok := item.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	w.keep(object)
	w.mu.Lock()
	w.objects[object.GetName()] = object
	w.mu.Unlock()
	w.changed()
	return nil
}

// Update takes an object in.
func (w *objectWatch) Update(item any) error { return w.Add(item) }

// Delete forgets an object.
func (w *objectWatch) Delete(item any) error {
	object, ok := item.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	w.mu.Lock()
	delete(w.objects, object.GetName())
	w.mu.Unlock()
	w.changed()
	return nil
}

// Replace takes in all there is.
func (w *objectWatch) Replace(items []any, _ string) error {
	found := make(map[string]*unstructured.Unstructured, len(items))
	for _, item := range items {
		if object, ok := item.(*unstructured.Unstructured); ok {
			w.keep(object)
			found[object.GetName()] = object
		}
	}
	w.mu.Lock()
	same := w.err == nil && maps.EqualFunc(w.objects, found, func(a, b *unstructured.Unstructured) bool {
		return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
	})
	w.objects, w.err = found, nil
	w.mu.Unlock()
	w.lists.Add(1)
	if !same {
		w.changed()
	}
	return nil
}

// Resync does nothing: nobody asks for it.
func (*objectWatch) Resync() error { return nil }
