package binding

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
)

// ValidateDraft tells which rules a ServiceBinding of service.binding/v1alpha1 breaks, as Validate does for one of the
// specification. What stands in the values of mappings and env is not looked at: who composes them knows its rules.
func ValidateDraft(b *draftv1alpha1.ServiceBinding) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validateDirectory(b.Spec.Name, &b.ObjectMeta, spec.Child("name"))
	errs = append(errs, validateOverride(b.Spec.Type, spec.Child("type"))...)
	errs = append(errs, validateOverride(b.Spec.Kind, spec.Child("kind"))...)
	errs = append(errs, validateOverride(b.Spec.Provider, spec.Child("provider"))...)
	errs = append(errs, validateApplication(&b.Spec.Application, spec.Child("application"))...)
	service := bindingv1.ServiceBindingServiceReference{
		APIVersion: b.Spec.Service.APIVersion, Kind: b.Spec.Service.Kind, Name: b.Spec.Service.Name,
	}
	errs = append(errs, validateService(&service, spec.Child("service"))...)
	errs = append(errs, validateDraftMappings(b.Spec.Mappings, spec.Child("mappings"))...)
	return append(errs, validateDraftEnv(b.Spec.Env, spec.Child("env"))...)
}

func validateApplication(a *draftv1alpha1.ApplicationReference, at *field.Path) field.ErrorList {
	errs := validateKind(a.APIVersion, a.Kind, at)
	errs = append(errs, validateTarget(
		&bindingv1.ServiceBindingWorkloadReference{Name: a.Name, Selector: a.Selector}, at)...)
	for i, container := range a.Containers {
		switch item := at.Child("containers").Index(i); {
		case container.Type == intstr.Int && container.IntVal < 0:
			errs = append(errs, field.Invalid(item, container.IntVal,
				"must be the position of a container, counted from 0; count from the first container, or name it"))
		case container.Type == intstr.String && container.StrVal == "":
			errs = append(errs, field.Required(item,
				"must be the name or the position of a container; remove the empty item"))
		}
	}
	return errs
}

func validateDraftMappings(mappings []draftv1alpha1.Mapping, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[string]bool, len(mappings))
	for i, mapping := range mappings {
		name := at.Index(i).Child("name")
		errs = append(errs, validateKey(mapping.Name, name, "must name the entry to make")...)
		errs = append(errs, unique(seen, mapping.Name, name)...)
	}
	return errs
}

func validateDraftEnv(env []draftv1alpha1.EnvVar, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[string]bool, len(env))
	for i, e := range env {
		name := at.Index(i).Child("name")
		errs = append(errs, validateEnvName(e.Name, name)...)
		errs = append(errs, unique(seen, e.Name, name)...)
	}
	return errs
}
