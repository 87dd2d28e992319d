package admission

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/compose"
)

// Kind is one of the kinds whose objects have something followed for their authors. The zero value is none.
type Kind struct {
	// name of the kind, for people.
	name string
	// what an object is called in a sentence.
	noun string
	// read decodes an object.
	read func(raw runtime.RawExtension, what string) (*wish, error)
}

// wish is an object as far as admission looks at it.
type wish struct {
	object *metav1.ObjectMeta
	// spec is what the object says, to be compared.
	spec any
	// binds says that the object projects into workloads, of the kinds listed; there is none where it names none that the
	// list of kinds could hold.
	binds     bool
	workloads []schema.GroupVersionKind
	// references is what is followed for the author.
	references []authority.Reference
	// check tells which rules the object breaks.
	check func() field.ErrorList
}

// Bindings are the ServiceBindings of servicebinding.io.
func Bindings() Kind {
	return Kind{name: "ServiceBinding", noun: "binding", read: func(raw runtime.RawExtension, what string) (*wish, error) {
		var b bindingv1.ServiceBinding
		if err := decode(raw, what, &b); err != nil {
			return nil, err
		}
		return &wish{
			object: &b.ObjectMeta, spec: b.Spec, binds: true,
			workloads:  workloadKind(b.Spec.Workload.APIVersion, b.Spec.Workload.Kind),
			references: authority.References(&b.Spec),
			check: func() field.ErrorList {
				return append(binding.Validate(&b), checkOptions(b.Annotations)...)
			},
		}, nil
	}}
}

// DraftBindings are the ServiceBindings of service.binding.
func DraftBindings() Kind {
	return Kind{name: "ServiceBinding", noun: "binding", read: func(raw runtime.RawExtension, what string) (*wish, error) {
		var b draftv1alpha1.ServiceBinding
		if err := decode(raw, what, &b); err != nil {
			return nil, err
		}
		return &wish{
			object: &b.ObjectMeta, spec: b.Spec, binds: true,
			workloads:  workloadKind(b.Spec.Application.APIVersion, b.Spec.Application.Kind),
			references: authority.DraftReferences(&b.Spec),
			check: func() field.ErrorList {
				errs := joined(binding.ValidateDraft(&b), compose.CheckTemplates(compose.TemplatesOfSpec(&b.Spec), field.NewPath("spec")))
				return append(errs, checkOptions(b.Annotations)...)
			},
		}, nil
	}}
}

// SyntheticServices are the SyntheticProvisionedServices of service.binding.
func SyntheticServices() Kind {
	const name = "SyntheticProvisionedService"
	return Kind{name: name, noun: "synthetic service", read: func(raw runtime.RawExtension, what string) (*wish, error) {
		var s draftv1alpha1.SyntheticProvisionedService
		if err := decode(raw, what, &s); err != nil {
			return nil, err
		}
		return &wish{
			object: &s.ObjectMeta, spec: s.Spec,
			references: authority.SyntheticReferences(&s.Spec),
			check: func() field.ErrorList {
				return joined(binding.ValidateSynthetic(&s), compose.CheckSynthetic(compose.SyntheticOf(&s.Spec), field.NewPath("spec")))
			},
		}, nil
	}}
}

// wishes reads both objects of a request; there is no old one unless the request is an update.
func (k Kind) wishes(object, old runtime.RawExtension) (updated, stored *wish, err error) {
	if updated, err = k.read(object, k.name); err != nil {
		return nil, nil, err
	}
	if len(old.Raw) == 0 {
		return updated, nil, nil
	}
	if stored, err = k.read(old, "stored "+k.name); err != nil {
		return nil, nil, err
	}
	return updated, stored, nil
}

// asksForMore says whether an object asks for anything that the stored one did not: only then authority is at stake.
func (w *wish) asksForMore(stored *wish) bool {
	return stored == nil || !equality.Semantic.DeepEqual(w.spec, stored.spec) || !maps.Equal(w.options(), stored.options())
}

// options are the annotations that say what is wanted of a binding.
func (w *wish) options() map[string]string {
	if !w.binds {
		return nil
	}
	return binding.OptionsOf(w.object.Annotations)
}
