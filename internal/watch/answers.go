package watch

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/projection"
)

// Workload is a workload as it is in memory.
type Workload struct {
	// Key names it.
	Key WorkloadKey
	// Version is the version of the API it was read in.
	Version string
	// Object is the workload, trimmed. It is shared: it must not be changed.
	Object projection.Workload
}

func workloadOf(kind schema.GroupVersionKind, item any) (Workload, bool) {
	object, ok := item.(*unstructured.Unstructured)
	if !ok {
		return Workload{}, false
	}
	return Workload{
		Key: WorkloadKey{
			Kind:           kind.GroupKind(),
			NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
		},
		Version: kind.Version,
		Object:  object.Object,
	}, true
}

// Labels returns the workload's labels.
func (w Workload) Labels() map[string]string { return w.meta().GetLabels() }

// ResourceVersion returns the version that the workload was read in.
func (w Workload) ResourceVersion() string { return w.meta().GetResourceVersion() }

// Projected lists the UIDs of the bindings whose projections the workload bears.
func (w Workload) Projected() []string {
	if w.Object == nil {
		return nil
	}
	return projection.Projected(w.Object)
}

// Deleting says whether the workload is on its way out.
func (w Workload) Deleting() bool { return w.meta().GetDeletionTimestamp() != nil }

func (w Workload) meta() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: w.Object}
}

// same says whether two readings of a workload differ in nothing that a projection or a status depends on.
func (w Workload) same(other Workload) bool {
	return reflect.DeepEqual(w.essence(), other.essence())
}

func (w Workload) essence() map[string]any {
	object := maps.Clone(w.Object)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "resourceVersion")
		delete(metadata, "generation")
		object["metadata"] = metadata
	}
	return object
}

// Binding returns a binding as it is in memory; nil when there is none.
func (h *Hub) Binding(key binding.Key) *binding.Binding {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.index.bindings[key]
}

// BindingByUID returns the binding with this UID; nil when there is none in memory.
func (h *Hub) BindingByUID(uid string) *binding.Binding {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.index.bindings[h.index.byUID[uid]]
}

// Scope returns the resources of the workload kinds that bindings name, and the namespaces of those bindings. Sorted.
func (h *Hub) Scope() (resources []schema.GroupVersionResource, namespaces []string) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for kind := range h.index.workloads {
		if resource, ok := h.feeds[kind].located(); ok {
			resources = append(resources, resource)
		}
	}
	slices.SortFunc(resources, func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) })
	seen := map[string]struct{}{}
	for key := range h.index.bindings {
		seen[key.Namespace] = struct{}{}
	}
	return resources, slices.Sorted(maps.Keys(seen))
}

// Workload returns a workload. ok is false when there is none; the error is ErrStarting or a *KindError.
func (h *Hub) Workload(key WorkloadKey) (w Workload, ok bool, err error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	kind, objects, err := h.preferred(key.Kind)
	if err != nil {
		return Workload{}, false, err
	}
	item, ok, err := objects.GetByKey(key.Namespace + "/" + key.Name)
	if err != nil || !ok {
		return Workload{}, false, wrap(err, "looking for %s %s", key.Kind, key.NamespacedName)
	}
	w, ok = workloadOf(kind, item)
	return w, ok, nil
}

// BindingsOf returns the bindings that name or select a workload with these labels, the oldest first, without those that
// are being deleted.
func (h *Hub) BindingsOf(key WorkloadKey, set map[string]string) []*binding.Binding {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.index.forWorkload(key, labels.Set(set))
}

// WorkloadsOf returns the workloads that a binding names or selects; none is no error. The error is ErrStarting or a
// *KindError.
func (h *Hub) WorkloadsOf(b *binding.Binding) ([]Workload, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.matching(b)
}

// Bearing returns the workloads in memory that bear a projection of the binding. The error, ErrStarting, says that a kind
// could not be asked yet; forbidden lists the kinds that Bowline may not look at.
func (h *Hub) Bearing(b *binding.Binding) (found []Workload, forbidden []*KindError, err error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, kind := range b.WorkloadKinds() {
		_, err := h.objects(kind)
		var fault *KindError
		switch {
		case errors.As(err, &fault) && fault.Fault == Forbidden:
			forbidden = append(forbidden, fault)
		case errors.Is(err, ErrStarting):
			return nil, nil, err
		}
		found = append(found, h.bearing(kind, b.Key.Namespace, b.Projection.UID)...)
	}
	return found, forbidden, nil
}

// secret returns the name of the binding Secret of a binding's service. The error is ErrStarting, a *KindError about the
// service's kind, or a *service.Unavailable.
func (h *Hub) secret(b *binding.Binding) (string, error) {
	seen, presence, err := h.presence(b.Key.Namespace)
	if err != nil {
		return "", err
	}
	if b.Service.GroupVersionKind == binding.SecretKind {
		if !seen {
			_, err := h.objects(binding.SecretKind)
			return "", err
		}
		return service.Resolve(b.Service, nil, presence) //nolint:wrapcheck // the type of the error is the answer
	}
	object, err := h.service(b)
	if err != nil {
		return "", err
	}
	if h.clients.Features.Has(feature.SecretGeneration) && object != nil && !isProvisioned(object) {
		if secret, ok, err := h.madeFor(b); ok || err != nil {
			return secret, err
		}
	}
	return service.Resolve(b.Service, object, presence) //nolint:wrapcheck // as above
}

// WorkloadKind returns nil when the kind of a binding's workloads is in memory, and else ErrStarting or a *KindError.
func (h *Hub) WorkloadKind(b *binding.Binding) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	_, err := h.objects(b.Workload.GroupVersionKind)
	return err
}

// Mapping returns how to project into a workload of a kind. The error names the mapping and its fault.
func (h *Hub) Mapping(kind schema.GroupVersionKind) (*projection.Mapping, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	f := h.feeds[kind]
	if f == nil {
		return nil, ErrStarting
	}
	resource, ok := f.located()
	if !ok {
		return nil, ErrStarting
	}
	return h.mappings.compile(resource, kind.Version)
}

// Resource returns the resource of a kind that bindings name; ok is false while it is unknown.
func (h *Hub) Resource(kind schema.GroupVersionKind) (resource schema.GroupVersionResource, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if f := h.feeds[kind]; f != nil {
		return f.located()
	}
	return resource, false
}

// preferred returns the version in which workloads of a kind are read and written, the most stable of those that bindings
// name and the API server serves, and the objects. That one binding names a version that is not served is no matter to the
// others. The error is ErrStarting, also for a kind that no binding names, or a *KindError.
func (h *Hub) preferred(kind schema.GroupKind) (best schema.GroupVersionKind, objects cache.Indexer, err error) {
	err = ErrStarting
	for _, candidate := range h.index.versions(kind) {
		objects, err = h.objects(candidate)
		if _, unavailable := errors.AsType[*KindError](err); !unavailable {
			return candidate, objects, err
		}
	}
	return best, nil, err
}

func (h *Hub) objects(kind schema.GroupVersionKind) (cache.Indexer, error) {
	f := h.feeds[kind]
	if f == nil {
		return nil, ErrStarting
	}
	return f.objects()
}

// service returns the binding's service, nil when there is none.
func (h *Hub) service(b *binding.Binding) (map[string]any, error) {
	objects, err := h.objects(b.Service.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	item, ok, err := objects.GetByKey(b.Key.Namespace + "/" + b.Service.Name)
	if err != nil || !ok {
		return nil, wrap(err, "looking for %s %s", b.Service.Kind, b.Service.Name)
	}
	w, _ := workloadOf(b.Service.GroupVersionKind, item)
	return w.Object, nil
}

// presence returns what is known of the Secrets of a namespace; seen is false where Bowline may not look.
func (h *Hub) presence(namespace string) (seen bool, of func(string) service.Presence, err error) {
	objects, err := h.objects(binding.SecretKind)
	var fault *KindError
	switch {
	case errors.As(err, &fault):
		return false, func(string) service.Presence { return service.Unseen }, nil
	case err != nil:
		return false, nil, err
	}
	return true, func(name string) service.Presence {
		if _, ok, _ := objects.GetByKey(namespace + "/" + name); ok {
			return service.Present
		}
		return service.Missing
	}, nil
}

// secretName returns the name of the Secret that a binding needs, whether or not it is there; "" while it is unknown.
func (h *Hub) secretName(b *binding.Binding) string {
	if b.Service.GroupVersionKind == binding.SecretKind {
		return b.Service.Name
	}
	object, err := h.service(b)
	if err != nil || object == nil {
		return ""
	}
	if name := provisionedSecret(object); name != "" {
		return name
	}
	return h.made[serviceKey(b)].Secret
}

func (h *Hub) matching(b *binding.Binding) ([]Workload, error) {
	if _, err := h.objects(b.Workload.GroupVersionKind); err != nil {
		return nil, err
	}
	kind, objects, err := h.preferred(b.Workload.GroupKind())
	if err != nil {
		return nil, err
	}
	items, err := candidates(objects, b)
	if err != nil {
		return nil, wrap(err, "looking for the workloads of binding %s", b.Key)
	}
	var found []Workload
	for _, item := range items {
		w, ok := workloadOf(kind, item)
		if ok && b.Workload.Matches(w.Key.Kind, w.Key.Name, w.Labels()) {
			found = append(found, w)
		}
	}
	return found, nil
}

func candidates(objects cache.Indexer, b *binding.Binding) ([]any, error) {
	if b.Workload.Selector != nil {
		return objects.ByIndex(cache.NamespaceIndex, b.Key.Namespace)
	}
	item, ok, err := objects.GetByKey(b.Key.Namespace + "/" + b.Workload.Name)
	if !ok {
		return nil, err
	}
	return []any{item}, nil
}

// bearing returns the workloads of one kind that bear a projection of the binding with this UID.
func (h *Hub) bearing(kind schema.GroupVersionKind, namespace, uid string) []Workload {
	objects, err := h.objects(kind)
	if err != nil {
		return nil
	}
	items, err := objects.ByIndex(uidIndex, namespace+"/"+uid)
	if err != nil {
		return nil
	}
	found := make([]Workload, 0, len(items))
	for _, item := range items {
		if w, ok := workloadOf(kind, item); ok {
			found = append(found, w)
		}
	}
	return found
}

// wrap returns nil for nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
