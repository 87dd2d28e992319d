package binding

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
)

const (
	// rootVariable names the directory of all bindings in a container; no entry may take its place.
	rootVariable = "SERVICE_BINDING_ROOT"

	// maxOverride bounds type and provider in bytes. They become annotations of a pod, all of which share 256 KiB.
	maxOverride = 1024
)

// directoryName is the specification's rule for the name of a binding.
var directoryName = regexp.MustCompile(`^[a-z0-9\-.]{1,253}$`)

// Validate tells which rules a ServiceBinding breaks. It looks at the object alone: whether what is referred to exists
// is seen later and reported in the status.
func Validate(b *bindingv1.ServiceBinding) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validateDirectory(b.Spec.Name, &b.ObjectMeta, spec.Child("name"))
	errs = append(errs, validateOverride(b.Spec.Type, spec.Child("type"))...)
	errs = append(errs, validateOverride(b.Spec.Provider, spec.Child("provider"))...)
	errs = append(errs, validateWorkload(&b.Spec.Workload, spec.Child("workload"))...)
	errs = append(errs, validateService(&b.Spec.Service, spec.Child("service"))...)
	return append(errs, validateEnv(b.Spec.Env, spec.Child("env"))...)
}

func validateDirectory(name string, object *metav1.ObjectMeta, at *field.Path) field.ErrorList {
	if name == "" {
		name, at = object.Name, field.NewPath("metadata", "name")
	}
	if name == "" && object.GenerateName != "" {
		return nil // The API server has yet to choose the name, and chooses one that fits.
	}
	if directoryName.MatchString(name) && name != "." && name != ".." {
		return nil
	}
	return field.ErrorList{field.Invalid(at, name, `must match [a-z0-9\-\.]{1,253} and be neither "." nor "..", `+
		"since it names the directory of the binding; use lower-case letters, digits, '-' and '.'")}
}

func validateOverride(value string, at *field.Path) field.ErrorList {
	if len(value) > maxOverride {
		err := field.TooLong(at, value, maxOverride)
		err.BadValue = value // Not printed; it tells NewErrors of a change.
		return field.ErrorList{err}
	}
	unprintable := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	if !strings.ContainsFunc(value, unprintable) {
		return nil
	}
	return field.ErrorList{field.Invalid(at, value,
		"must hold printable characters only; remove line breaks and control characters")}
}

func validateWorkload(w *bindingv1.ServiceBindingWorkloadReference, at *field.Path) field.ErrorList {
	errs := validateKind(w.APIVersion, w.Kind, at)
	errs = append(errs, validateTarget(w, at)...)
	for i, name := range w.Containers {
		if name == "" {
			errs = append(errs, field.Required(at.Child("containers").Index(i),
				"must be the name of a container; remove the empty item"))
		}
	}
	return errs
}

// validateTarget sees that exactly one of name and selector says which workloads are meant.
func validateTarget(w *bindingv1.ServiceBindingWorkloadReference, at *field.Path) field.ErrorList {
	switch {
	case w.Name == "" && w.Selector == nil:
		return field.ErrorList{field.Required(at.Child("name"),
			"exactly one of name and selector must be set; name the workload, or select workloads by label")}
	case w.Name != "" && w.Selector != nil:
		return field.ErrorList{field.Forbidden(at.Child("selector"), fmt.Sprintf(
			"must not be set together with name: got name %q and selector %q; remove one of them",
			w.Name, metav1.FormatLabelSelector(w.Selector)))}
	case w.Name != "":
		return validateName(w.Name, at.Child("name"))
	default:
		return validateSelector(w.Selector, at.Child("selector"))
	}
}

// validateSelector refuses the empty selector beside those that do not compile: it would bind every workload of the
// kind in the namespace, and is more often a slip than a wish.
func validateSelector(s *metav1.LabelSelector, at *field.Path) field.ErrorList {
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return field.ErrorList{field.Required(at, "must hold at least one of matchLabels and matchExpressions, "+
			"since an empty selector would bind every workload of the kind; name a label that the workloads bear")}
	}
	errs := metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, at)
	for _, err := range errs {
		if err.Type == field.ErrorTypeRequired || err.Type == field.ErrorTypeForbidden {
			err.BadValue = s // Not printed; it tells NewErrors of a change.
		}
	}
	return errs
}

func validateService(s *bindingv1.ServiceBindingServiceReference, at *field.Path) field.ErrorList {
	errs := validateKind(s.APIVersion, s.Kind, at)
	if s.Name == "" {
		return append(errs, field.Required(at.Child("name"), "must name the service to bind"))
	}
	return append(errs, validateName(s.Name, at.Child("name"))...)
}

func validateName(name string, at *field.Path) field.ErrorList {
	return invalid(at, name, content.IsPathSegmentName(name), "use the .metadata.name of the resource")
}

func validateKind(apiVersion, kind string, at *field.Path) field.ErrorList {
	errs := validateAPIVersion(apiVersion, at.Child("apiVersion"))
	if kind == "" {
		errs = append(errs, field.Required(at.Child("kind"), "must be the kind of a resource, such as Deployment"))
	} else {
		errs = append(errs, invalid(at.Child("kind"), kind, validation.IsDNS1035Label(strings.ToLower(kind)),
			"use the resource's kind, such as Deployment; case is free")...)
	}
	group, _, found := strings.Cut(apiVersion, "/")
	if found && refusedGroup(group) {
		errs = append(errs, field.Forbidden(at.Child("apiVersion"), fmt.Sprintf(
			"kinds of the group %s govern the cluster and cannot be bound: got %s of %s; refer to another kind",
			group, kind, apiVersion)))
	}
	return errs
}

// refusedGroup names the groups whose objects decide who may do what: a binding must never write or follow them.
func refusedGroup(group string) bool {
	switch group {
	case "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io":
		return true
	default:
		return false
	}
}

func validateAPIVersion(apiVersion string, at *field.Path) field.ErrorList {
	const advice = "must be <group>/<version>, or <version> alone for the core group, such as apps/v1 or v1"
	if apiVersion == "" {
		return field.ErrorList{field.Required(at, advice)}
	}
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "", apiVersion
	}
	wrong := len(validation.IsDNS1035Label(version)) > 0 || found && len(validation.IsDNS1123Subdomain(group)) > 0
	if wrong {
		return field.ErrorList{field.Invalid(at, apiVersion, advice)}
	}
	return nil
}

func validateEnv(env []bindingv1.EnvMapping, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[string]bool, len(env))
	for i, e := range env {
		name := at.Index(i).Child("name")
		errs = append(errs, validateEnvName(e.Name, name)...)
		errs = append(errs, unique(seen, e.Name, name)...)
		errs = append(errs, validateEnvKey(e.Key, at.Index(i).Child("key"))...)
	}
	return errs
}

// unique refuses a name that was seen before, and takes it down.
func unique(seen map[string]bool, name string, at *field.Path) field.ErrorList {
	if name != "" && seen[name] {
		return field.ErrorList{field.Duplicate(at, name)}
	}
	seen[name] = true
	return nil
}

func validateEnvName(name string, at *field.Path) field.ErrorList {
	switch name {
	case "":
		return field.ErrorList{field.Required(at, "must name the environment variable to set")}
	case rootVariable:
		return field.ErrorList{field.Invalid(at, name,
			"must not be "+rootVariable+", which names the directory of all bindings; choose another variable")}
	default:
		return invalid(at, name, validation.IsRelaxedEnvVarName(name), "choose a name that a container accepts")
	}
}

func validateEnvKey(key string, at *field.Path) field.ErrorList {
	return validateKey(key, at, "must be the key of an entry in the binding Secret")
}

func validateKey(key string, at *field.Path, needed string) field.ErrorList {
	if key == "" {
		return field.ErrorList{field.Required(at, needed)}
	}
	return invalid(at, key, validation.IsConfigMapKey(key), "use a key that a Secret can hold")
}

// invalid turns the rules that a value breaks into errors that also say what to do.
func invalid(at *field.Path, value string, broken []string, advice string) field.ErrorList {
	errs := make(field.ErrorList, 0, len(broken))
	for _, rule := range broken {
		errs = append(errs, field.Invalid(at, value, rule+"; "+advice))
	}
	return errs
}
