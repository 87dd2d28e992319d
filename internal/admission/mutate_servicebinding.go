package admission

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/projection"
)

// BindingMutator gives a ServiceBinding its finalizer and the list of kinds that may bear its projections, so that
// neither costs the controller a write of its own. It refuses nothing: validation speaks after it.
type BindingMutator struct{}

// Handle answers one request.
func (BindingMutator) Handle(_ context.Context, req admission.Request) admission.Response {
	var updated, old bindingv1.ServiceBinding
	if err := decode(req.Object, "ServiceBinding", &updated); err != nil {
		return unread()
	}
	if req.Operation == admissionv1.Update {
		if err := decode(req.OldObject, "stored ServiceBinding", &old); err != nil {
			return unread()
		}
	}
	return patched(append(finalize(&updated), recordKinds(&updated, &old)...))
}

// finalize adds the finalizer where it is missing. The API server accepts none on an object that is being deleted.
func finalize(b *bindingv1.ServiceBinding) []projection.Operation {
	if b.DeletionTimestamp != nil || slices.Contains(b.Finalizers, binding.Finalizer) {
		return nil
	}
	if len(b.Finalizers) == 0 {
		return []projection.Operation{{Op: opAdd, Path: "/metadata/finalizers", Value: []any{binding.Finalizer}}}
	}
	return []projection.Operation{{Op: opAdd, Path: "/metadata/finalizers/-", Value: binding.Finalizer}}
}

// recordKinds writes the kinds that may bear projections: those recorded before, the one that was bound, and the one
// that will be. What the request itself says of them does not count, since a projection that nobody remembers would stay
// for ever.
func recordKinds(updated, old *bindingv1.ServiceBinding) []projection.Operation {
	kinds := binding.ParseKinds(old.Annotations[binding.WorkloadKindsAnnotation])
	kinds = append(kinds, workloadKind(old)...)
	kinds = append(kinds, workloadKind(updated)...)
	want := binding.FormatKinds(kinds)
	switch got, present := updated.Annotations[binding.WorkloadKindsAnnotation]; {
	case present && got == want, !present && want == "":
		return nil
	case len(updated.Annotations) == 0:
		return []projection.Operation{{
			Op: opAdd, Path: "/metadata/annotations", Value: map[string]any{binding.WorkloadKindsAnnotation: want},
		}}
	default:
		path := "/metadata/annotations/" + token(binding.WorkloadKindsAnnotation)
		return []projection.Operation{{Op: opAdd, Path: path, Value: want}}
	}
}

// workloadKind returns the kind of workload that a binding names, or nothing where it names none that the list could
// hold; validation then refuses the binding.
func workloadKind(b *bindingv1.ServiceBinding) []schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(b.Spec.Workload.APIVersion)
	if err != nil || gv.Version == "" || b.Spec.Workload.Kind == "" {
		return nil
	}
	kinds := []schema.GroupVersionKind{gv.WithKind(b.Spec.Workload.Kind)}
	if !slices.Equal(kinds, binding.ParseKinds(binding.FormatKinds(kinds))) {
		return nil
	}
	return kinds
}
