package admission

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/internal/binding"
)

// Authority finds out what stands against a request for a binding.
type Authority interface {
	Review(ctx context.Context, request authority.Request) (authority.Findings, error)
}

// BindingValidator refuses a ServiceBinding that breaks a rule, naming each field, and one whose author may not do what it
// would do for them. An update is refused only for the rules that it newly breaks, and its author is asked about only when
// it changes the spec: what leaves the spec alone changes no authority.
type BindingValidator struct {
	// Authority MUST be set. What it cannot find out is refused.
	Authority Authority
	// WarnOnly lets bindings pass whose author lacks a permission, with a warning.
	WarnOnly bool
}

// Handle answers one request.
func (v BindingValidator) Handle(ctx context.Context, req admission.Request) admission.Response {
	var updated, old bindingv1.ServiceBinding
	if err := decode(req.Object, "ServiceBinding", &updated); err != nil {
		return unreadable(err)
	}
	if req.Operation != admissionv1.Update {
		if errs := binding.Validate(&updated); len(errs) > 0 {
			return verdict(&req, errs)
		}
		return v.authorize(ctx, &req, &updated)
	}
	if err := decode(req.OldObject, "stored ServiceBinding", &old); err != nil {
		return unreadable(err)
	}
	if errs := binding.ValidateUpdate(&updated, &old); len(errs) > 0 {
		return verdict(&req, errs)
	}
	if equality.Semantic.DeepEqual(updated.Spec, old.Spec) {
		return admission.Allowed("")
	}
	return v.authorize(ctx, &req, &updated)
}

// authorize asks whether the author may have the binding.
func (v BindingValidator) authorize(ctx context.Context, req *admission.Request, b *bindingv1.ServiceBinding) admission.Response {
	findings, err := v.Authority.Review(ctx, authority.Request{User: req.UserInfo, Namespace: req.Namespace, Spec: &b.Spec})
	switch {
	case err != nil && v.WarnOnly:
		logf.FromContext(ctx).Error(err, "Letting a binding pass whose author could not be reviewed",
			"namespace", req.Namespace, "name", req.Name)
		return admission.Allowed("").WithWarnings("bowline: whether you may have this binding could not be found out")
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("%w; try again", err))
	case len(findings.Unfit) > 0:
		return verdict(req, findings.Unfit)
	case len(findings.Lacking) == 0:
		return admission.Allowed("")
	case v.WarnOnly:
		return admission.Allowed("").WithWarnings(warnings(req, findings.Lacking)...)
	}
	return forbidden(req, findings.Lacking)
}

// warnings says what the author lacks, in lines that fit into a header of HTTP.
func warnings(req *admission.Request, lacking []authority.Permission) []string {
	lines := make([]string, 0, len(lacking))
	for _, p := range lacking {
		lines = append(lines, fmt.Sprintf("bowline: user %q may not %s, which %s needs; once this is enforced, the binding is refused",
			req.UserInfo.Username, p, p.Field))
	}
	return lines
}

// forbidden refuses for what the author lacks. Whether any of it exists is not told.
func forbidden(req *admission.Request, lacking []authority.Permission) admission.Response {
	wants := make([]string, 0, len(lacking))
	for _, p := range lacking {
		wants = append(wants, fmt.Sprintf("%s (for %s)", p, p.Field))
	}
	//nolint:err113 // the words are the answer
	why := fmt.Errorf("user %q may not do what this binding would do for them: %s; refer to what they may use, "+
		"or ask an administrator to apply this Role and bind it to them:\n%s",
		req.UserInfo.Username, strings.Join(wants, ", "), authority.Role("bind-"+req.Name, lacking))
	resource := schema.GroupResource{Group: req.Resource.Group, Resource: req.Resource.Resource}
	status := apierrors.NewForbidden(resource, req.Name, why).Status()
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}
