package admission

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
)

// MappingValidator refuses a ClusterWorkloadResourceMapping that breaks a rule or does not compile, naming each field.
// An update is refused only for what it newly breaks.
type MappingValidator struct{}

// Handle answers one request.
func (MappingValidator) Handle(_ context.Context, req admission.Request) admission.Response {
	var updated, old bindingv1.ClusterWorkloadResourceMapping
	if err := decode(req.Object, "ClusterWorkloadResourceMapping", &updated); err != nil {
		return unreadable(err)
	}
	if req.Operation != admissionv1.Update {
		return verdict(&req, binding.ValidateMapping(&updated))
	}
	if err := decode(req.OldObject, "stored ClusterWorkloadResourceMapping", &old); err != nil {
		return unreadable(err)
	}
	return verdict(&req, binding.ValidateMappingUpdate(&updated, &old))
}
