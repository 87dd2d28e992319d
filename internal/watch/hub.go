package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/feature"
)

// Clients are the ways in which the hub reads from the API server.
type Clients struct {
	// Dynamic lists and watches services and workloads.
	Dynamic dynamic.Interface
	// Metadata lists and watches the metadata of Secrets.
	Metadata metadata.Interface
	// Discovery finds the resource of a kind.
	Discovery discovery.ServerResourcesInterface
	// Access tells what Bowline may watch.
	Access authorizationclient.SelfSubjectAccessReviewInterface
	// AllowedSecretTypes are those of service.PlatformSecretTypes whose Secrets are looked at all the same.
	AllowedSecretTypes []string
	// Features say which APIs are read and what Bowline makes itself.
	Features feature.Set
}

// Sink is told what a change concerns. Its methods must not block.
type Sink interface {
	// WorkloadChanged is called when the projections of a workload may have to change. fresh is set when that comes from a
	// binding, so that others may follow at once.
	WorkloadChanged(key WorkloadKey, fresh bool)
	// BindingChanged is called when the status of a binding may have to change.
	BindingChanged(key binding.Key)
	// KindsChanged is called when the kinds or namespaces that bindings name have changed.
	KindsChanged()
}

// Makers are told what concerns the Secrets that Bowline makes itself. Their methods must not block.
type Makers interface {
	// ServiceConcerned is called when a service came to be bound, ceased to be, or may be described in another way.
	ServiceConcerned(key ServiceKey)
	// BindingConcerned is called when what a binding composes, or what it composes that of, may have changed.
	BindingConcerned(key binding.Key)
	// GroupConcerned is called when kinds of a group may have come or gone.
	GroupConcerned(group string)
}

// Hub keeps what bindings have to do with in memory.
type Hub struct {
	log     logr.Logger
	clients Clients
	source  cacheSource

	indexed chan struct{} // closed once every binding and mapping that existed at the start is known

	mu       sync.RWMutex
	sink     Sink
	makers   Makers
	made     map[ServiceKey]Made
	prepared map[binding.Key]Prepared
	ctx      context.Context // the feeds live as long as the hub, not as long as the event that starts one
	index    *index
	mappings *mappings
	feeds    map[schema.GroupVersionKind]*feed
	running  sync.WaitGroup
}

// New returns a hub that reads bindings, mappings and definitions of custom resources from source, and all else through
// clients.
func New(log logr.Logger, clients Clients, source cacheSource) *Hub {
	return &Hub{
		log: log, clients: clients, source: source,
		indexed:  make(chan struct{}),
		index:    newIndex(),
		made:     map[ServiceKey]Made{},
		prepared: map[binding.Key]Prepared{},
		mappings: newMappings(),
		feeds:    map[schema.GroupVersionKind]*feed{},
	}
}

// NeedLeaderElection is false: every replica answers admission from its own memory.
func (h *Hub) NeedLeaderElection() bool { return false }

// Start keeps memory in step until the context ends.
func (h *Hub) Start(ctx context.Context) error {
	h.mu.Lock()
	h.ctx = ctx
	h.mu.Unlock()
	if err := h.subscribe(ctx); err != nil {
		return fmt.Errorf("starting to watch bindings: %w", err)
	}
	close(h.indexed)
	h.Replay()
	<-ctx.Done()
	h.running.Wait()
	return nil
}

// Indexed is closed once every binding and mapping that existed at the start is known.
func (h *Hub) Indexed() <-chan struct{} { return h.indexed }

// Settled says whether every kind that bindings name is either in memory or known to be unavailable.
func (h *Hub) Settled() bool {
	select {
	case <-h.indexed:
	default:
		return false
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, f := range h.feeds {
		if _, err := f.objects(); err == ErrStarting { //nolint:errorlint // the feed publishes this very value
			return false
		}
	}
	return true
}

// Deliver sends all that changes from now on to sink, beginning with everything there is.
func (h *Hub) Deliver(sink Sink) {
	h.mu.Lock()
	h.sink = sink
	h.mu.Unlock()
	h.Replay()
}

// Replay reports each binding and each workload as changed.
func (h *Hub) Replay() {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, b := range h.index.bindings {
		h.tell(b, false)
	}
	for kind := range h.index.workloads {
		h.tellBearers(kind, "")
	}
	if h.sink != nil {
		h.sink.KindsChanged()
	}
}

// putBinding takes in a binding as it is now.
func (h *Hub) putBinding(b *binding.Binding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.index.put(b)
	h.tellMakers(old)
	h.tellMakers(b)
	if old != nil && sameOrders(old, b) {
		h.index.setSecret(b.Key, h.secretName(b))
		if h.sink != nil {
			h.sink.BindingChanged(b.Key)
		}
		return
	}
	h.adjustFeeds()
	h.index.setSecret(b.Key, h.secretName(b))
	if old != nil {
		h.tell(old, true)
	}
	h.tell(b, true)
}

// sameOrders says whether two states of a binding ask for the same.
func sameOrders(a, b *binding.Binding) bool {
	return a.Generation == b.Generation && a.Projection.UID == b.Projection.UID && a.Deleting.Equal(b.Deleting) &&
		slices.Equal(a.FormerKinds, b.FormerKinds) && maps.Equal(a.Options, b.Options)
}

// dropBinding forgets a binding.
func (h *Hub) dropBinding(key binding.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.index.drop(key)
	if old == nil {
		return
	}
	delete(h.prepared, key)
	h.tell(old, true)
	h.tellMakers(old)
	h.adjustFeeds()
}

// adjustFeeds starts and stops feeds so that they are those of the kinds that bindings name. The lock is held.
func (h *Hub) adjustFeeds() {
	wanted := h.index.kinds()
	for kind := range wanted {
		if h.feeds[kind] == nil {
			h.startFeed(kind)
		}
	}
	for kind, f := range h.feeds {
		if _, ok := wanted[kind]; !ok {
			f.cancel()
			delete(h.feeds, kind)
			h.log.V(1).Info("stopped watching a kind", "kind", kind.String())
		}
	}
	if h.sink != nil {
		h.sink.KindsChanged()
	}
}

func (h *Hub) startFeed(kind schema.GroupVersionKind) {
	ctx, cancel := context.WithCancel(h.ctx)
	f := &feed{
		kind: kind, clients: h.clients, cancel: cancel,
		changed: h.feedChanged, kick: make(chan struct{}, 1), err: ErrStarting,
	}
	f.open = func(resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
		return h.open(f, resource)
	}
	h.feeds[kind] = f
	h.running.Go(func() { f.run(ctx) })
	h.log.V(1).Info("started watching a kind", "kind", kind.String())
}

// feedChanged reports what a kind's coming or going concerns.
func (h *Hub) feedChanged(f *feed) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.feeds[f.kind] != f {
		return
	}
	for _, b := range h.index.bindings {
		if b.Service.GroupVersionKind == f.kind || f.kind == binding.SecretKind || namesKind(b, f.kind) {
			h.tell(b, false)
			h.tellMakers(b)
		}
	}
	if h.sink != nil {
		h.sink.KindsChanged()
	}
}

func namesKind(b *binding.Binding, kind schema.GroupVersionKind) bool {
	return slices.Contains(b.WorkloadKinds(), kind)
}

// tell reports a binding and the workloads that it has, or had, to do with. A lock is held.
func (h *Hub) tell(b *binding.Binding, fresh bool) {
	if h.sink == nil {
		return
	}
	for _, kind := range b.WorkloadKinds() {
		for _, found := range h.bearing(kind, b.Key.Namespace, b.Projection.UID) {
			h.sink.WorkloadChanged(found.Key, fresh)
		}
	}
	if b.Workload.Name != "" {
		h.sink.WorkloadChanged(namedWorkload(b), fresh)
	}
	if b.Workload.Selector != nil {
		matched, _ := h.matching(b)
		for _, found := range matched {
			h.sink.WorkloadChanged(found.Key, fresh)
		}
	}
	h.sink.BindingChanged(b.Key)
}

// tellBearers reports each workload of a kind that bears a projection, in one namespace or, for "", in all.
func (h *Hub) tellBearers(kind schema.GroupVersionKind, namespace string) {
	f := h.feeds[kind]
	if f == nil || h.sink == nil {
		return
	}
	objects, err := f.objects()
	if err != nil {
		return
	}
	for _, item := range objects.List() {
		w, ok := workloadOf(kind, item)
		if ok && (namespace == "" || w.Key.Namespace == namespace) && len(w.Projected()) > 0 {
			h.sink.WorkloadChanged(w.Key, false)
		}
	}
}
