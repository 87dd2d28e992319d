package admission

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/internal/binding"
)

// Authority finds out what stands against a user's following references.
type Authority interface {
	May(
		ctx context.Context, user authenticationv1.UserInfo, namespace string, references []authority.Reference,
	) (authority.Findings, error)
}

// Validator refuses an object that breaks a rule, naming each field, one that bears a false record of who asked for it, and
// one whose author may not do what it would do for them. An update is refused only for the rules that it newly breaks, and
// its author is asked about only when it changes the spec or an option: what leaves both alone changes no authority.
type Validator struct {
	// Kind of the objects. It MUST be set.
	Kind Kind
	// Authority MUST be set. What it cannot find out is refused.
	Authority Authority
	// WarnOnly lets objects pass whose author lacks a permission, with a warning.
	WarnOnly bool
	// Record says whether it is recorded who asks.
	Record bool
}

// Handle answers one request.
func (v Validator) Handle(ctx context.Context, req admission.Request) admission.Response {
	updated, stored, err := v.Kind.wishes(req.Object, req.OldObject)
	if err != nil {
		return unreadable(err)
	}
	errs := broken(updated, stored)
	errs = append(errs, checkRequester(updated, stored, req.UserInfo)...)
	if len(errs) > 0 {
		return verdict(&req, errs)
	}
	if !updated.asksForMore(stored) {
		return admission.Allowed("")
	}
	response := v.authorize(ctx, &req, updated.references)
	if v.Record && response.Allowed && authority.Record(req.UserInfo) == "" {
		return response.WithWarnings("bowline: what the API server tells of you is too long to be recorded, so that no Secret can be made for you")
	}
	return response
}

// broken tells which rules an object breaks that the stored one did not.
func broken(updated, stored *wish) field.ErrorList {
	errs := updated.check()
	if len(errs) == 0 || stored == nil {
		return errs
	}
	return binding.NewErrors(errs, stored.check())
}

// authorize asks whether the author may have what the object refers to.
func (v Validator) authorize(ctx context.Context, req *admission.Request, references []authority.Reference) admission.Response {
	findings, err := v.Authority.May(ctx, req.UserInfo, req.Namespace, references)
	switch {
	case err != nil && v.WarnOnly:
		logf.FromContext(ctx).Error(err, "Letting an object pass whose author could not be reviewed",
			"kind", v.Kind.name, "namespace", req.Namespace, "name", req.Name)
		return admission.Allowed("").WithWarnings("bowline: whether you may have this " + v.Kind.noun + " could not be found out")
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("%w; try again", err))
	case len(findings.Unfit) > 0:
		return verdict(req, findings.Unfit)
	case len(findings.Lacking) == 0:
		return admission.Allowed("")
	case v.WarnOnly:
		return admission.Allowed("").WithWarnings(v.warnings(req, findings.Lacking)...)
	}
	return v.forbidden(req, findings.Lacking)
}

// warnings says what the author lacks, in lines that fit into a header of HTTP.
func (v Validator) warnings(req *admission.Request, lacking []authority.Permission) []string {
	lines := make([]string, 0, len(lacking))
	for _, p := range lacking {
		lines = append(lines, fmt.Sprintf("bowline: user %q may not %s, which %s needs; once this is enforced, the %s is refused",
			req.UserInfo.Username, p, p.Field, v.Kind.noun))
	}
	return lines
}

// forbidden refuses for what the author lacks. Whether any of it exists is not told.
func (v Validator) forbidden(req *admission.Request, lacking []authority.Permission) admission.Response {
	wants := make([]string, 0, len(lacking))
	for _, p := range lacking {
		wants = append(wants, fmt.Sprintf("%s (for %s)", p, p.Field))
	}
	//nolint:err113 // the words are the answer
	why := fmt.Errorf("user %q may not do what this %s would do for them: %s; refer to what they may use, "+
		"or ask an administrator to apply this Role and bind it to them:\n%s",
		req.UserInfo.Username, v.Kind.noun, strings.Join(wants, ", "), authority.Role("bind-"+req.Name, lacking))
	resource := schema.GroupResource{Group: req.Resource.Group, Resource: req.Resource.Resource}
	status := apierrors.NewForbidden(resource, req.Name, why).Status()
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}
