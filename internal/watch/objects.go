package watch

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// ObjectRef names one object or, with an empty Name, all objects of a kind in a namespace.
type ObjectRef struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// String names the object the way people write it.
func (r ObjectRef) String() string { return r.Kind + " " + r.NamespacedName.String() }

// Objects keeps single objects in memory, whole, each for as long as somebody needs it: nothing else of their kinds is read
// or watched. Who needs what is said by a key.
type Objects[K comparable] struct {
	clients Clients
	keep    func(ref ObjectRef, object *unstructured.Unstructured)
	changed func(K)

	mu      sync.Mutex
	ctx     context.Context // the watches live as long as the whole, not as long as the call that needs one
	needs   map[K]map[ObjectRef]struct{}
	watches map[ObjectRef]*objectWatch
	needers map[ObjectRef]map[K]struct{}
	running sync.WaitGroup
	served  *servedKinds
}

// NewObjects returns an empty memory. changed is told, after every change of an object, each key that needs it; it must not
// block. keep takes out of an object, before it is kept, what nobody needs; it may be nil.
func NewObjects[K comparable](
	clients Clients, keep func(ObjectRef, *unstructured.Unstructured), changed func(K),
) *Objects[K] {
	return &Objects[K]{
		clients: clients, keep: keep, changed: changed,
		needs:   map[K]map[ObjectRef]struct{}{},
		watches: map[ObjectRef]*objectWatch{},
		needers: map[ObjectRef]map[K]struct{}{},
		served:  newServedKinds(clients.Discovery),
	}
}

// NeedLeaderElection is false: every replica answers admission from its own memory.
func (o *Objects[K]) NeedLeaderElection() bool { return false }

// Start keeps what is needed in step until the context ends.
func (o *Objects[K]) Start(ctx context.Context) error {
	o.mu.Lock()
	o.ctx = ctx
	for ref := range o.needers {
		o.watch(ref)
	}
	o.mu.Unlock()
	<-ctx.Done()
	o.running.Wait()
	return nil
}

// Need says all that a key needs from now on; nothing lets go of what it needed.
func (o *Objects[K]) Need(key K, refs ...ObjectRef) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.also(key, refs)
	wanted := make(map[ObjectRef]struct{}, len(refs))
	for _, ref := range refs {
		wanted[ref] = struct{}{}
	}
	for ref := range o.needs[key] {
		if _, still := wanted[ref]; !still {
			o.release(key, ref)
		}
	}
	if len(wanted) == 0 {
		delete(o.needs, key)
		return
	}
	o.needs[key] = wanted
}

// Also adds to what a key needs.
func (o *Objects[K]) Also(key K, refs ...ObjectRef) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.also(key, refs)
}

func (o *Objects[K]) also(key K, refs []ObjectRef) {
	for _, ref := range refs {
		if o.needs[key] == nil {
			o.needs[key] = map[ObjectRef]struct{}{}
		}
		o.needs[key][ref] = struct{}{}
		if o.needers[ref] == nil {
			o.needers[ref] = map[K]struct{}{}
		}
		o.needers[ref][key] = struct{}{}
		o.watch(ref)
	}
}

func (o *Objects[K]) release(key K, ref ObjectRef) {
	delete(o.needers[ref], key)
	if len(o.needers[ref]) > 0 {
		return
	}
	delete(o.needers, ref)
	if w := o.watches[ref]; w != nil {
		w.cancel()
		delete(o.watches, ref)
	}
}

// watch starts to follow an object, unless that is so already or nothing runs yet. The lock is held.
func (o *Objects[K]) watch(ref ObjectRef) {
	if o.watches[ref] != nil || o.ctx == nil || o.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(o.ctx)
	w := &objectWatch{ref: ref, cancel: cancel, err: ErrStarting}
	w.kick, w.objects = make(chan struct{}, 1), map[string]*unstructured.Unstructured{}
	w.keep = func(object *unstructured.Unstructured) {
		unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
		if o.keep != nil {
			o.keep(ref, object)
		}
	}
	w.changed = func() { o.tell(ref, w) }
	o.watches[ref] = w
	o.running.Go(func() { w.run(ctx, o.clients.Dynamic, o.served) })
}

// tell reports a change of an object to all who need it.
func (o *Objects[K]) tell(ref ObjectRef, w *objectWatch) {
	o.mu.Lock()
	var concerned []K
	if o.watches[ref] == w {
		for key := range o.needers[ref] {
			concerned = append(concerned, key)
		}
	}
	o.mu.Unlock()
	for _, key := range concerned {
		o.changed(key)
	}
}

// Get returns an object that a key needs; nil when there is none. It is shared and must not be changed. The error is
// ErrStarting, also for what nobody needs, or a *KindError.
func (o *Objects[K]) Get(ref ObjectRef) (*unstructured.Unstructured, error) {
	found, err := o.List(ref)
	if len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// List returns the objects that a reference names, sorted by name, as Get does.
func (o *Objects[K]) List(ref ObjectRef) ([]*unstructured.Unstructured, error) {
	o.mu.Lock()
	w := o.watches[ref]
	o.mu.Unlock()
	if w == nil {
		return nil, ErrStarting
	}
	return w.list()
}

// Look makes watches of a group's kinds that wait for something try again now.
func (o *Objects[K]) Look(group string) {
	o.served.forget(group)
	o.mu.Lock()
	defer o.mu.Unlock()
	for ref, w := range o.watches {
		if ref.Group == group {
			w.look()
		}
	}
}

// resourceOf is the client for what a reference names.
func resourceOf(client dynamic.Interface, resource schema.GroupVersionResource, ref ObjectRef) dynamic.ResourceInterface {
	if ref.Namespace == "" {
		return client.Resource(resource)
	}
	return client.Resource(resource).Namespace(ref.Namespace)
}
