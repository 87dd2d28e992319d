package authority

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
)

// Verbs that a person needs.
const (
	// VerbRead is what following a service, or a source of one, takes.
	VerbRead = "get"
	// VerbWrite is what projecting into a workload takes.
	VerbWrite = "update"
)

// Reference is one object, or all of a kind, that is followed for a person, with what they must be allowed to do with it.
type Reference struct {
	// Field is where it is referred to.
	Field *field.Path
	// Kind of the object.
	Kind schema.GroupVersionKind
	// Name of the object; empty for all of the kind.
	Name string
	// Verb is what takes place.
	Verb string
}

// References returns what a binding refers to. A reference that is of no kind is left out: nothing can follow it until the
// spec is changed, and then it is asked about.
func References(spec *bindingv1.ServiceBindingSpec) []Reference {
	at := field.NewPath("spec")
	service, workload := spec.Service, spec.Workload
	return followed(
		reference(at.Child("service"), VerbRead, service.APIVersion, service.Kind).to(service.Name),
		reference(at.Child("workload"), VerbWrite, workload.APIVersion, workload.Kind).to(workload.Name),
	)
}

// DraftReferences returns what a binding of the early draft refers to, as References does.
func DraftReferences(spec *draftv1alpha1.ServiceBindingSpec) []Reference {
	at := field.NewPath("spec")
	service, application := spec.Service, spec.Application
	return followed(
		reference(at.Child("service"), VerbRead, service.APIVersion, service.Kind).to(service.Name),
		reference(at.Child("application"), VerbWrite, application.APIVersion, application.Kind).to(application.Name),
	)
}

// SyntheticReferences returns the resources that a synthetic service is made of, as References does.
func SyntheticReferences(spec *draftv1alpha1.SyntheticProvisionedServiceSpec) []Reference {
	at := field.NewPath("spec", "services")
	sources := make([]Reference, 0, len(spec.Services))
	for i, source := range spec.Services {
		sources = append(sources, reference(at.Index(i), VerbRead, source.APIVersion, source.Kind).to(source.Name))
	}
	return followed(sources...)
}

func reference(at *field.Path, verb, apiVersion, kind string) Reference {
	return Reference{Field: at, Verb: verb, Kind: schema.FromAPIVersionAndKind(apiVersion, kind)}
}

func (r Reference) to(name string) Reference {
	r.Name = name
	return r
}

func followed(references ...Reference) []Reference {
	var found []Reference
	for _, r := range references {
		if r.Kind.Version != "" && r.Kind.Kind != "" {
			found = append(found, r)
		}
	}
	return found
}

func unfit(r Reference) *field.Error {
	return field.Forbidden(r.Field.Child("kind"), fmt.Sprintf(
		"%s of %s is cluster-scoped and can be neither service nor workload; refer to a namespaced kind",
		r.Kind.Kind, r.Kind.GroupVersion()))
}
