package admission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/bowline-dev/bowline/projection"
)

// Operations of a JSON patch (RFC 6902) that the handlers write themselves.
const (
	opAdd    = projection.OpAdd
	opRemove = projection.OpRemove
)

// verdict allows what breaks no rule, and else answers as the API server does for an invalid object of its own, so that
// a client shows each field with its cause.
func verdict(req *admission.Request, errs field.ErrorList) admission.Response {
	if len(errs) == 0 {
		return admission.Allowed("")
	}
	kind := schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
	status := apierrors.NewInvalid(kind, req.Name, errs).Status()
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}

// unreadable answers a request whose object is not of the shape that its kind says.
func unreadable(err error) admission.Response {
	return admission.Errored(http.StatusBadRequest, err)
}

// patched allows the request with changes.
func patched(patch []projection.Operation) admission.Response {
	response := admission.Allowed("")
	if len(patch) == 0 {
		return response
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("writing the patch: %w", err))
	}
	kind := admissionv1.PatchTypeJSONPatch
	response.Patch, response.PatchType = raw, &kind
	return response
}

// unread lets an object pass that a mutating handler cannot read: the schema is judged after it, with a better answer.
func unread() admission.Response {
	return admission.Allowed("")
}

// decode reads an object of a request. All served versions of a kind have one shape, so that one type fits them all.
func decode(raw runtime.RawExtension, what string, into any) error {
	if err := kubejson.Unmarshal(raw.Raw, into); err != nil {
		return fmt.Errorf("reading the %s: %w", what, err)
	}
	return nil
}

// token escapes a map key for use in a JSON pointer (RFC 6901).
func token(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
