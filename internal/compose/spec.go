package compose

import (
	"cmp"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	"github.com/bowline-dev/bowline/internal/binding"
)

// TemplatesOf is what a binding composes. The binding may be one that composes nothing.
func TemplatesOf(b *binding.Binding) Templates {
	t := Templates{Type: b.Projection.Type, Provider: b.Projection.Provider}
	if b.Composition == nil {
		return t
	}
	for _, m := range b.Composition.Mappings {
		t.Mappings = append(t.Mappings, Mapping(m))
	}
	for _, v := range b.Composition.Env {
		t.Env = append(t.Env, Variable(v))
	}
	return t
}

// TemplatesOfSpec is what a binding of the early draft composes.
func TemplatesOfSpec(spec *draftv1alpha1.ServiceBindingSpec) Templates {
	t := Templates{Type: cmp.Or(spec.Type, spec.Kind), Provider: spec.Provider}
	for _, m := range spec.Mappings {
		t.Mappings = append(t.Mappings, Mapping(m))
	}
	for _, v := range spec.Env {
		t.Env = append(t.Env, Variable(v))
	}
	return t
}

// SyntheticOf is what a synthetic service is made of, without its sources' contents.
func SyntheticOf(spec *draftv1alpha1.SyntheticProvisionedServiceSpec) Synthetic {
	s := Synthetic{Type: spec.Type, Provider: spec.Provider}
	for _, source := range spec.Services {
		s.Sources = append(s.Sources, Source{
			ID: source.ID, APIVersion: source.APIVersion, Kind: source.Kind, Name: source.Name,
		})
	}
	for _, m := range spec.Mappings {
		s.Mappings = append(s.Mappings, Mapping(m))
	}
	return s
}
