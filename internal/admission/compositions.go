package admission

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	"github.com/bowline-dev/bowline/internal/compose"
)

// checkOptions tells which annotations of a binding say what no option means.
func checkOptions(annotations map[string]string) field.ErrorList {
	_, err := compose.ParseEnvRule(annotations)
	if faults, ok := errors.AsType[compose.Faults](err); ok {
		return faults.List()
	}
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("metadata", "annotations"), err)}
	}
	return nil
}

// templatesOf is what a binding of the early draft composes.
func templatesOf(spec *draftv1alpha1.ServiceBindingSpec) compose.Templates {
	t := compose.Templates{Type: cmp.Or(spec.Type, spec.Kind), Provider: spec.Provider}
	for _, mapping := range spec.Mappings {
		t.Mappings = append(t.Mappings, compose.Mapping(mapping))
	}
	for _, env := range spec.Env {
		t.Env = append(t.Env, compose.Variable(env))
	}
	return t
}

// compositionOf is what a synthetic service is made of, but for the objects.
func compositionOf(spec *draftv1alpha1.SyntheticProvisionedServiceSpec) compose.Synthetic {
	s := compose.Synthetic{Type: spec.Type, Provider: spec.Provider}
	for _, source := range spec.Services {
		s.Sources = append(s.Sources, compose.Source{
			ID: source.ID, APIVersion: source.APIVersion, Kind: source.Kind, Name: source.Name,
		})
	}
	for _, mapping := range spec.Mappings {
		s.Mappings = append(s.Mappings, compose.Mapping(mapping))
	}
	return s
}

// joined adds errors, but none of a field that something is wrong with already.
func joined(errs, more field.ErrorList) field.ErrorList {
	all := slices.Clone(errs)
	for _, err := range more {
		if !slices.ContainsFunc(errs, func(known *field.Error) bool { return known.Field == err.Field }) {
			all = append(all, err)
		}
	}
	return all
}
