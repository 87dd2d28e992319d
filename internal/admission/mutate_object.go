package admission

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/projection"
)

// Mutator gives a binding its finalizer and the list of kinds that may bear its projections, so that neither costs the
// controller a write of its own, and each object the record of who asked for it. It refuses nothing: validation speaks
// after it.
type Mutator struct {
	// Kind of the objects. It MUST be set.
	Kind Kind
	// Record says whether it is recorded who asks. Otherwise a record goes once the object asks for something else.
	Record bool
}

// Handle answers one request.
func (m Mutator) Handle(_ context.Context, req admission.Request) admission.Response {
	updated, stored, err := m.Kind.wishes(req.Object, req.OldObject)
	if err != nil {
		return unread()
	}
	wanted := map[string]string{}
	var patch []projection.Operation
	if updated.binds {
		patch = finalize(updated.object)
		wanted[binding.WorkloadKindsAnnotation] = kindsOf(updated, stored)
	}
	wanted[binding.RequesterAnnotation] = m.requester(&req, updated, stored)
	return patched(append(patch, annotate(updated.object, wanted)...))
}

func (m Mutator) requester(req *admission.Request, updated, stored *wish) string {
	if !m.Record && updated.asksForMore(stored) {
		return ""
	}
	return requesterOf(updated, stored, req.UserInfo)
}

// finalize adds the finalizer where it is missing. The API server accepts none on an object that is being deleted.
func finalize(object *metav1.ObjectMeta) []projection.Operation {
	if object.DeletionTimestamp != nil || slices.Contains(object.Finalizers, binding.Finalizer) {
		return nil
	}
	if len(object.Finalizers) == 0 {
		return []projection.Operation{{Op: opAdd, Path: "/metadata/finalizers", Value: []any{binding.Finalizer}}}
	}
	return []projection.Operation{{Op: opAdd, Path: "/metadata/finalizers/-", Value: binding.Finalizer}}
}

// annotate gives annotations the wanted values; the empty one removes.
func annotate(object *metav1.ObjectMeta, wanted map[string]string) []projection.Operation {
	var patch []projection.Operation
	added := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		path := "/metadata/annotations/" + token(name)
		switch got, present := object.Annotations[name]; {
		case wanted[name] == "" && present:
			patch = append(patch, projection.Operation{Op: opRemove, Path: path})
		case wanted[name] != got:
			added[name] = wanted[name]
			patch = append(patch, projection.Operation{Op: opAdd, Path: path, Value: wanted[name]})
		}
	}
	if len(object.Annotations) == 0 && len(added) > 0 {
		return []projection.Operation{{Op: opAdd, Path: "/metadata/annotations", Value: added}}
	}
	return patch
}

// kindsOf lists the kinds that may bear projections: those recorded before, the one that was bound, and the one that will
// be. What the request itself says of them does not count, since a projection that nobody remembers would stay for ever.
func kindsOf(updated, stored *wish) string {
	kinds := slices.Clone(updated.workloads)
	if stored != nil {
		kinds = append(kinds, stored.workloads...)
		kinds = append(kinds, binding.ParseKinds(stored.object.Annotations[binding.WorkloadKindsAnnotation])...)
	}
	return binding.FormatKinds(kinds)
}

// workloadKind returns the kind of workload that a binding names, or nothing where it names none that the list could
// hold; validation then refuses the binding.
func workloadKind(apiVersion, kind string) []schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Version == "" || kind == "" {
		return nil
	}
	kinds := []schema.GroupVersionKind{gv.WithKind(kind)}
	if !slices.Equal(kinds, binding.ParseKinds(binding.FormatKinds(kinds))) {
		return nil
	}
	return kinds
}
