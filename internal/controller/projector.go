package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/watch"
	"github.com/bowline-dev/bowline/projection"
)

// projector answers admission from memory.
type projector struct {
	hub *watch.Hub
}

// ProjectForAdmission projects the bindings of a workload that is being created or changed. What it does not know of it
// leaves alone: a binding may have reached the replica that projected it before this one.
func (p projector) ProjectForAdmission(kind schema.GroupVersionKind, object projection.Workload) (projection.Workload, error) {
	meta := unstructured.Unstructured{Object: object}
	w := watch.Workload{
		Key: watch.WorkloadKey{
			Kind:           kind.GroupKind(),
			NamespacedName: types.NamespacedName{Namespace: meta.GetNamespace(), Name: meta.GetName()},
		},
		Version: kind.Version,
		Object:  object,
	}
	want, matched, err := wanted(p.hub, w)
	if err != nil {
		return nil, err
	}
	mapping, err := p.hub.Mapping(kind)
	if err != nil {
		return nil, fmt.Errorf("looking for the mapping of %s: %w", kind, err)
	}
	var drop []string
	for _, uid := range w.Projected() {
		if b := p.hub.BindingByUID(uid); b != nil && b.Fault == nil {
			if _, ok := matched[uid]; !ok {
				drop = append(drop, uid)
			}
		}
	}
	after, _, err := projection.Settle(object, mapping, want, drop)
	if err != nil {
		return nil, fmt.Errorf("projecting into %s %s: %w", kind.Kind, w.Key.NamespacedName, err)
	}
	return after, nil
}

// scoper tells admission which workloads bindings are about.
type scoper struct {
	hub *watch.Hub
}

// Scope returns it as of now.
func (s scoper) Scope() admission.Scope {
	resources, namespaces := s.hub.Scope()
	return admission.Scope{Resources: resources, Namespaces: namespaces}
}

// coverage says whether the API server asks admission about the workloads of a binding. Where the kind is not known
// there is nothing to wait for.
func coverage(hub *watch.Hub, registrar *admission.Registrar) func(*binding.Binding) bool {
	return func(b *binding.Binding) bool {
		resource, ok := hub.Resource(b.Workload.GroupVersionKind)
		return !ok || registrar == nil || registrar.Covered(resource, b.Key.Namespace)
	}
}
