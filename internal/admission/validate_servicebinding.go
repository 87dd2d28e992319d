package admission

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
)

// BindingValidator refuses a ServiceBinding that breaks a rule, naming each field. An update is refused only for what it
// newly breaks.
type BindingValidator struct{}

// Handle answers one request.
func (BindingValidator) Handle(_ context.Context, req admission.Request) admission.Response {
	var updated, old bindingv1.ServiceBinding
	if err := decode(req.Object, "ServiceBinding", &updated); err != nil {
		return unreadable(err)
	}
	if req.Operation != admissionv1.Update {
		return verdict(&req, binding.Validate(&updated))
	}
	if err := decode(req.OldObject, "stored ServiceBinding", &old); err != nil {
		return unreadable(err)
	}
	return verdict(&req, binding.ValidateUpdate(&updated, &old))
}
