package watch

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"

	"github.com/bowline-dev/bowline/internal/binding"
)

// WorkloadKey names one workload. The version is left out: bindings may name one workload in several versions.
type WorkloadKey struct {
	// Kind is the workload's group and kind.
	Kind schema.GroupKind
	// NamespacedName is where it is and how it is called.
	types.NamespacedName
}

// ServiceKey names a service, as WorkloadKey does a workload.
type ServiceKey = WorkloadKey

type bindingSet map[binding.Key]struct{}

// scope is where a selector looks.
type scope struct {
	kind      schema.GroupKind
	namespace string
}

// index answers which bindings a workload, a service or a Secret has to do with. It holds values only; its owner guards
// it against concurrent use.
type index struct {
	bindings  map[binding.Key]*binding.Binding
	byUID     map[string]binding.Key
	named     map[WorkloadKey]bindingSet
	selected  map[scope]bindingSet
	services  map[ServiceKey]bindingSet
	secrets   map[types.NamespacedName]bindingSet
	secretOf  map[binding.Key]string
	workloads map[schema.GroupVersionKind]int
	others    map[schema.GroupVersionKind]int
}

func newIndex() *index {
	return &index{
		bindings:  map[binding.Key]*binding.Binding{},
		byUID:     map[string]binding.Key{},
		named:     map[WorkloadKey]bindingSet{},
		selected:  map[scope]bindingSet{},
		services:  map[ServiceKey]bindingSet{},
		secrets:   map[types.NamespacedName]bindingSet{},
		secretOf:  map[binding.Key]string{},
		workloads: map[schema.GroupVersionKind]int{},
		others:    map[schema.GroupVersionKind]int{},
	}
}

// put adds a binding, or replaces what was there under its key, which it returns (nil for none).
func (x *index) put(b *binding.Binding) *binding.Binding {
	old := x.drop(b.Key)
	x.bindings[b.Key] = b
	x.byUID[b.Projection.UID] = b.Key
	if b.Workload.Selector != nil {
		add(x.selected, scopeOf(b), b.Key)
	} else {
		add(x.named, namedWorkload(b), b.Key)
	}
	add(x.services, serviceKey(b), b.Key)
	x.count(b, 1)
	return old
}

// drop forgets a binding and returns it; nil when it was not there.
func (x *index) drop(key binding.Key) *binding.Binding {
	b := x.bindings[key]
	if b == nil {
		return nil
	}
	x.setSecret(key, "")
	delete(x.bindings, key)
	if x.byUID[b.Projection.UID] == key {
		delete(x.byUID, b.Projection.UID)
	}
	remove(x.selected, scopeOf(b), key)
	remove(x.named, namedWorkload(b), key)
	remove(x.services, serviceKey(b), key)
	x.count(b, -1)
	return b
}

// setSecret notes which Secret a binding needs; "" for none.
func (x *index) setSecret(key binding.Key, secret string) {
	if x.secretOf[key] == secret {
		return
	}
	remove(x.secrets, types.NamespacedName{Namespace: key.Namespace, Name: x.secretOf[key]}, key)
	delete(x.secretOf, key)
	if secret != "" {
		x.secretOf[key] = secret
		add(x.secrets, types.NamespacedName{Namespace: key.Namespace, Name: secret}, key)
	}
}

// forWorkload returns the bindings whose reference names or selects the workload, those being deleted left out, the
// oldest first.
func (x *index) forWorkload(key WorkloadKey, set labels.Set) []*binding.Binding {
	var found []*binding.Binding
	for _, candidates := range []bindingSet{x.named[key], x.selected[scope{key.Kind, key.Namespace}]} {
		for name := range candidates {
			b := x.bindings[name]
			if b.Deleting.IsZero() && b.Workload.Matches(key.Kind, key.Name, set) {
				found = append(found, b)
			}
		}
	}
	slices.SortFunc(found, (*binding.Binding).Before)
	return found
}

// kinds returns each kind that must be watched, and whether as a workload.
func (x *index) kinds() map[schema.GroupVersionKind]bool {
	wanted := make(map[schema.GroupVersionKind]bool, len(x.workloads)+len(x.others))
	for kind := range x.others {
		wanted[kind] = false
	}
	for kind := range x.workloads {
		wanted[kind] = true
	}
	return wanted
}

// versions returns the versions of a kind of workload that bindings name, the most stable first.
func (x *index) versions(kind schema.GroupKind) []schema.GroupVersionKind {
	var found []schema.GroupVersionKind
	for candidate := range x.workloads {
		if candidate.GroupKind() == kind {
			found = append(found, candidate)
		}
	}
	slices.SortFunc(found, func(a, b schema.GroupVersionKind) int {
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	})
	return found
}

func (x *index) count(b *binding.Binding, by int) {
	for _, kind := range b.WorkloadKinds() {
		tally(x.workloads, kind, by)
	}
	if !b.Service.Empty() {
		tally(x.others, b.Service.GroupVersionKind, by)
		tally(x.others, binding.SecretKind, by)
	}
}

func tally(counts map[schema.GroupVersionKind]int, kind schema.GroupVersionKind, by int) {
	counts[kind] += by
	if counts[kind] <= 0 {
		delete(counts, kind)
	}
}

func scopeOf(b *binding.Binding) scope {
	return scope{b.Workload.GroupKind(), b.Key.Namespace}
}

func namedWorkload(b *binding.Binding) WorkloadKey {
	return WorkloadKey{
		Kind:           b.Workload.GroupKind(),
		NamespacedName: types.NamespacedName{Namespace: b.Key.Namespace, Name: b.Workload.Name},
	}
}

func serviceKey(b *binding.Binding) ServiceKey {
	return ServiceKey{
		Kind:           b.Service.GroupKind(),
		NamespacedName: types.NamespacedName{Namespace: b.Key.Namespace, Name: b.Service.Name},
	}
}

func add[K comparable](sets map[K]bindingSet, at K, key binding.Key) {
	if sets[at] == nil {
		sets[at] = bindingSet{}
	}
	sets[at][key] = struct{}{}
}

func remove[K comparable](sets map[K]bindingSet, at K, key binding.Key) {
	delete(sets[at], key)
	if len(sets[at]) == 0 {
		delete(sets, at)
	}
}

// sorted returns the keys of a set in a fixed order.
func (s bindingSet) sorted() []binding.Key {
	return slices.SortedFunc(maps.Keys(s), binding.Key.Compare)
}
