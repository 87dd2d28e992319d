package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/projection"
)

// uidIndex finds workloads by the UID of a binding whose projection they bear, as namespace/uid.
const uidIndex = "projected"

// cacheSource gives the informers that run for as long as Bowline does.
type cacheSource interface {
	GetInformer(ctx context.Context, obj client.Object, opts ...crcache.InformerGetOption) (crcache.Informer, error)
}

// open makes the informer of a feed. It sees to it that only what projection needs stays in memory.
func (h *Hub) open(f *feed, resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, uidIndex: projectedUIDs}
	if f.kind == binding.SecretKind {
		informer := metadatainformer.NewFilteredMetadataInformer(
			h.clients.Metadata, resource, metav1.NamespaceAll, 0, indexers, exceptTypes(h.clients.AllowedSecretTypes)).Informer()
		return informer, prepare(informer, trimMetadata, h.secretHandler())
	}
	h.mu.Lock()
	h.mappings.remember(resource, f.kind.Version)
	h.mu.Unlock()
	informer := dynamicinformer.NewFilteredDynamicInformer(
		h.clients.Dynamic, resource, metav1.NamespaceAll, 0, indexers, nil).Informer()
	trim := func(object any) (any, error) { return h.trim(f.kind, resource, object), nil }
	return informer, prepare(informer, trim, h.objectHandler(f.kind))
}

// exceptTypes leaves out the Secrets that may not be bound. The API server does it: the type of a Secret is not part of its
// metadata, so nobody else could.
func exceptTypes(allowed []string) func(*metav1.ListOptions) {
	var except []fields.Selector
	for _, refused := range service.PlatformSecretTypes() {
		if !slices.Contains(allowed, refused) {
			except = append(except, fields.OneTermNotEqualSelector("type", refused))
		}
	}
	selector := fields.AndSelectors(except...).String()
	return func(options *metav1.ListOptions) { options.FieldSelector = selector }
}

func prepare(informer cache.SharedIndexInformer, trim cache.TransformFunc, handler cache.ResourceEventHandler) error {
	if err := informer.SetTransform(trim); err != nil {
		return fmt.Errorf("setting what is kept: %w", err)
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("setting who is told: %w", err)
	}
	return nil
}

// projectedUIDs is the index function of uidIndex.
func projectedUIDs(item any) ([]string, error) {
	object, ok := item.(*unstructured.Unstructured)
	if !ok {
		return nil, nil
	}
	uids := projection.Projected(object.Object)
	for i, uid := range uids {
		uids[i] = object.GetNamespace() + "/" + uid
	}
	return uids, nil
}

func trimMetadata(item any) (any, error) {
	object, ok := item.(*metav1.PartialObjectMetadata)
	if !ok {
		return item, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: object.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
	}}, nil
}

// trim returns the least of an object that a projection and the resolution of a service need.
func (h *Hub) trim(kind schema.GroupVersionKind, resource schema.GroupVersionResource, item any) any {
	object, ok := item.(*unstructured.Unstructured)
	if !ok {
		return item
	}
	h.mu.RLock()
	mapping, err := h.mappings.compile(resource, kind.Version)
	h.mu.RUnlock()
	kept := object.Object
	if err == nil {
		kept = projection.Trim(object.Object, mapping)
	}
	delete(kept, "status")
	unstructured.RemoveNestedField(kept, "metadata", "managedFields")
	if name, _, _ := unstructured.NestedString(object.Object, "status", "binding", "name"); name != "" {
		kept["status"] = map[string]any{"binding": map[string]any{"name": name}}
	}
	return &unstructured.Unstructured{Object: kept}
}

// subscribe follows bindings, mappings and definitions of custom resources, and returns once all that exist are known.
func (h *Hub) subscribe(ctx context.Context) error {
	type subscription struct {
		object  client.Object
		handler cache.ResourceEventHandler
	}
	subscriptions := []subscription{
		{&bindingv1.ClusterWorkloadResourceMapping{}, h.mappingHandler()},
		{&bindingv1.ServiceBinding{}, h.bindingHandler(binding.Specification)},
		{definition(), h.definitionHandler()},
	}
	if h.clients.Features.Has(feature.DraftAPI) {
		subscriptions = append(subscriptions, subscription{&draftv1alpha1.ServiceBinding{}, h.bindingHandler(binding.Draft)})
	}
	for _, s := range subscriptions {
		informer, err := h.source.GetInformer(ctx, s.object)
		if err != nil {
			return fmt.Errorf("getting the informer of %T: %w", s.object, err)
		}
		registration, err := informer.AddEventHandler(s.handler)
		if err != nil {
			return fmt.Errorf("following %T: %w", s.object, err)
		}
		if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			return fmt.Errorf("waiting for each %T: %w", s.object, ctx.Err())
		}
	}
	return nil
}

func definition() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(DefinitionKind)
	return object
}

// bindingHandler takes in the bindings of one API.
func (h *Hub) bindingHandler(api binding.API) cache.ResourceEventHandler {
	put := func(object any) {
		switch sb := object.(type) {
		case *bindingv1.ServiceBinding:
			h.putBinding(binding.FromV1(sb))
		case *draftv1alpha1.ServiceBinding:
			h.putBinding(binding.FromDraft(sb))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) {
			if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
				h.dropBinding(binding.KeyOf(api, key.Namespace, key.Name))
			}
		},
	}
}

func (h *Hub) mappingHandler() cache.ResourceEventHandler {
	put := func(object any) {
		if mapping, ok := object.(*bindingv1.ClusterWorkloadResourceMapping); ok {
			h.mappingChanged(mapping.Name, mapping)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) {
			if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
				h.mappingChanged(key.Name, nil)
			}
		},
	}
}

// definitionHandler lets feeds look again when a kind may have come or gone.
func (h *Hub) definitionHandler() cache.ResourceEventHandler {
	look := func(object any, then func(*feed)) {
		key, err := cache.DeletionHandlingObjectToName(object)
		if err != nil {
			return
		}
		_, group, _ := strings.Cut(key.Name, ".")
		h.mu.RLock()
		defer h.mu.RUnlock()
		for kind, f := range h.feeds {
			if kind.Group == group {
				then(f)
			}
		}
		if h.makers == nil {
			return
		}
		h.makers.GroupConcerned(group)
		for key := range h.index.services {
			if key.Kind.Group == group {
				h.makers.ServiceConcerned(key) // the definition may bear a description
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { look(object, (*feed).look) },
		UpdateFunc: func(_, object any) { look(object, (*feed).look) },
		DeleteFunc: func(object any) { look(object, (*feed).again) },
	}
}

func (h *Hub) secretHandler() cache.ResourceEventHandler {
	tell := func(object any) {
		key, err := cache.DeletionHandlingObjectToName(object)
		if err != nil {
			return
		}
		h.mu.RLock()
		defer h.mu.RUnlock()
		for _, name := range h.index.secrets[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}].sorted() {
			h.tell(h.index.bindings[name], false)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: tell, DeleteFunc: tell}
}

func (h *Hub) objectHandler(kind schema.GroupVersionKind) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { h.objectChanged(kind, nil, object) },
		UpdateFunc: func(old, object any) { h.objectChanged(kind, old, object) },
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			h.objectChanged(kind, object, nil)
		},
	}
}

// objectChanged reports what the change of one object concerns, as a service and as a workload.
func (h *Hub) objectChanged(kind schema.GroupVersionKind, oldItem, newItem any) {
	before, had := workloadOf(kind, oldItem)
	after, has := workloadOf(kind, newItem)
	if had && has && before.same(after) {
		return
	}
	key := after.Key
	if !has {
		key = before.Key
	}
	h.serviceChanged(key)
	h.mu.RLock()
	defer h.mu.RUnlock()
	concerned := h.concerned(key, before, after)
	if h.sink == nil || len(concerned) == 0 && len(after.Projected()) == 0 {
		return
	}
	h.sink.WorkloadChanged(key, false)
	for _, name := range concerned.sorted() {
		h.sink.BindingChanged(name)
	}
}

// concerned returns the bindings that name, select or are projected into a workload, in any of its states. The lock is
// held.
func (h *Hub) concerned(key WorkloadKey, states ...Workload) bindingSet {
	found := bindingSet{}
	for _, w := range states {
		if w.Object == nil {
			continue
		}
		for _, b := range h.index.forWorkload(key, labels.Set(w.Labels())) {
			found[b.Key] = struct{}{}
		}
		for _, uid := range w.Projected() {
			if name, ok := h.index.byUID[uid]; ok {
				found[name] = struct{}{}
			}
		}
	}
	return found
}

// serviceChanged notes the Secret that a service names now and reports the bindings of that service.
func (h *Hub) serviceChanged(key ServiceKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range slices.Collect(maps.Keys(h.index.services[key])) {
		b := h.index.bindings[name]
		h.index.setSecret(name, h.secretName(b))
		h.tell(b, false)
		h.tellMakers(b)
	}
}
