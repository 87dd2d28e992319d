package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// ErrStarting says that a kind is not in memory yet; the question is to be asked again after the next change.
var ErrStarting = errors.New("the kind is not in memory yet")

// KindError says why the objects of a kind cannot be watched now.
type KindError struct {
	// Kind is the kind as the binding names it.
	Kind schema.GroupVersionKind
	// Resource is the kind's resource where it is known.
	Resource schema.GroupVersionResource
	// Fault is what stands in the way.
	Fault Fault
}

// Fault is one of the things that stand in the way of watching a kind.
type Fault int

const (
	// NoSuchKind means that the API server serves no such kind.
	NoSuchKind Fault = iota + 1
	// NotNamespaced means that the kind's objects have no namespace.
	NotNamespaced
	// Forbidden means that Bowline may not list or watch the kind.
	Forbidden
	// Failing means that the API server answered with errors, time and again.
	Failing
)

// Error says what is wrong with the kind.
func (e *KindError) Error() string {
	switch e.Fault {
	case NoSuchKind:
		return fmt.Sprintf("the API server serves no kind %s in %s", e.Kind.Kind, e.Kind.GroupVersion())
	case NotNamespaced:
		return fmt.Sprintf("kind %s in %s is cluster-scoped", e.Kind.Kind, e.Kind.GroupVersion())
	case Forbidden:
		return fmt.Sprintf("Bowline may not list and watch %s", e.Resource.GroupResource())
	case Failing:
		return fmt.Sprintf("the API server does not list kind %s in %s", e.Kind.Kind, e.Kind.GroupVersion())
	}
	return "the kind cannot be watched"
}

const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 15 * time.Second
)

// feed keeps the objects of one kind in memory for as long as its context lives, through the kind's absence, its
// removal and the loss of the permission to watch it.
type feed struct {
	kind    schema.GroupVersionKind
	open    func(schema.GroupVersionResource) (cache.SharedIndexInformer, error)
	clients Clients
	changed func(*feed)
	cancel  context.CancelFunc
	kick    chan struct{}

	mu       sync.RWMutex
	err      error // ErrStarting, *KindError, or nil when indexer is in step with the API server
	resource schema.GroupVersionResource
	indexer  cache.Indexer
	restart  context.CancelFunc
	epoch    int // counts what invalidated the objects that were, or are being, read
}

// objects returns what is in memory; the error is ErrStarting or a *KindError.
func (f *feed) objects() (cache.Indexer, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.indexer, f.err
}

// located returns the kind's resource; ok is false while it is unknown.
func (f *feed) located() (resource schema.GroupVersionResource, ok bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.resource, !f.resource.Empty()
}

// run does the feed's work until the context ends.
func (f *feed) run(ctx context.Context) {
	retry := firstRetry
	for ctx.Err() == nil {
		resource, err := f.locate(ctx)
		if err == nil && f.serve(ctx, resource) {
			retry = firstRetry
			continue
		}
		if err != nil {
			f.publish(resource, nil, err)
		}
		if f.pause(ctx, retry) {
			retry = firstRetry
		} else {
			retry = min(2*retry, lastRetry)
		}
	}
}

// pause waits, and returns true when it was cut short because the cause may have gone.
func (f *feed) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-f.kick:
		return true
	}
	return false
}

// look makes the feed try again now if it waits.
func (f *feed) look() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// again makes the feed start over. From this moment it holds nothing.
func (f *feed) again() {
	f.look()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch++
	if f.indexer != nil {
		f.indexer, f.err = nil, ErrStarting
	}
	if f.restart != nil {
		f.restart()
	}
}

// locate finds the kind's resource and whether it may be watched. An error that is not a *KindError is passing.
func (f *feed) locate(ctx context.Context) (schema.GroupVersionResource, error) {
	resource, namespaced, err := Locate(f.clients.Discovery, f.kind)
	if err != nil {
		return resource, err
	}
	if !namespaced {
		return resource, &KindError{Kind: f.kind, Resource: resource, Fault: NotNamespaced}
	}
	for _, verb := range []string{"list", "watch"} {
		allowed, err := f.allowed(ctx, resource, verb)
		if err != nil {
			return resource, err
		}
		if !allowed {
			return resource, &KindError{Kind: f.kind, Resource: resource, Fault: Forbidden}
		}
	}
	return resource, nil
}

// Lister tells what resources the API server serves.
type Lister interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Locate finds the resource of a kind, and whether its objects have a namespace. The error is a *KindError where there is
// no such kind.
func Locate(served Lister, kind schema.GroupVersionKind) (resource schema.GroupVersionResource, namespaced bool, err error) {
	list, err := served.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil && !apierrors.IsNotFound(err) {
		return resource, false, fmt.Errorf("asking for the resources of %s: %w", kind.GroupVersion(), err)
	}
	if err == nil {
		for _, r := range list.APIResources {
			if r.Kind == kind.Kind && !isSubresource(r.Name) {
				return kind.GroupVersion().WithResource(r.Name), r.Namespaced, nil
			}
		}
	}
	return resource, false, &KindError{Kind: kind, Fault: NoSuchKind}
}

func isSubresource(name string) bool { return strings.Contains(name, "/") }

func (f *feed) allowed(ctx context.Context, resource schema.GroupVersionResource, verb string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: resource.Group, Version: resource.Version, Resource: resource.Resource,
		},
	}}
	review, err := f.clients.Access.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking whether Bowline may %s %s: %w", verb, resource.GroupResource(), err)
	}
	return review.Status.Allowed, nil
}

// serve keeps the objects in memory until the context ends, the kind or the permission goes, or a restart is asked for.
// It returns false when it never came so far as to hold them.
func (f *feed) serve(ctx context.Context, resource schema.GroupVersionResource) (held bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	epoch := f.begin(cancel)
	informer, err := f.open(resource)
	if err == nil {
		err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) {
				cancel()
			}
		})
	}
	if err != nil {
		f.publish(resource, nil, fmt.Errorf("preparing to watch %s: %w", resource.GroupResource(), err))
		return false
	}
	var running wait.Group
	running.StartWithContext(ctx, informer.RunWithContext)
	held = cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	if held && f.isCurrent(epoch) {
		f.publish(resource, informer.GetIndexer(), nil)
	}
	<-ctx.Done()
	running.Wait()
	f.publish(resource, nil, ErrStarting)
	return held
}

// begin notes how what is being read can be cut short, and returns its epoch.
func (f *feed) begin(restart context.CancelFunc) (epoch int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restart = restart
	return f.epoch
}

// isCurrent says whether nothing has invalidated what was read since an epoch.
func (f *feed) isCurrent(epoch int) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.epoch == epoch
}

// publish notes what the feed holds and tells its owner when that makes a difference.
func (f *feed) publish(resource schema.GroupVersionResource, indexer cache.Indexer, err error) {
	var kindError *KindError
	if err != nil && !errors.As(err, &kindError) {
		err = ErrStarting
	}
	f.mu.Lock()
	same := f.indexer == indexer && sameFault(f.err, err)
	f.resource, f.indexer, f.err = resource, indexer, err
	f.mu.Unlock()
	if !same {
		f.changed(f)
	}
}

func sameFault(a, b error) bool {
	var x, y *KindError
	if errors.As(a, &x) && errors.As(b, &y) {
		return x.Fault == y.Fault
	}
	return errors.Is(a, b)
}
