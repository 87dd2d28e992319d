package binding

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
)

// ValidateSynthetic tells which rules the names and references of a SyntheticProvisionedService break. What its mappings say
// is not looked at: who composes them knows its rules.
func ValidateSynthetic(s *draftv1alpha1.SyntheticProvisionedService) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if s.Spec.Name != "" {
		errs = invalid(spec.Child("name"), s.Spec.Name, validation.IsDNS1123Subdomain(s.Spec.Name),
			"it begins the name of the Secret that is made; choose a name that a Secret can bear")
	}
	services := spec.Child("services")
	if len(s.Spec.Services) == 0 {
		errs = append(errs, field.Required(services, "must refer to at least one resource to take values from"))
	}
	for i, source := range s.Spec.Services {
		at := services.Index(i)
		errs = append(errs, validateKind(source.APIVersion, source.Kind, at)...)
		if source.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), "must name the resource to take values from"))
		} else {
			errs = append(errs, validateName(source.Name, at.Child("name"))...)
		}
	}
	return errs
}
