package offline

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/compose"
)

// bindingID names a binding among those of both APIs.
type bindingID struct {
	identity

	api binding.API
}

// bound is a binding of either API: one of the two is set.
type bound struct {
	object *bindingv1.ServiceBinding
	draft  *draftv1alpha1.ServiceBinding
	source document
}

// in is the binding's model in a namespace, and whether its UID was made here.
func (b bound) in(namespace string) (model *binding.Binding, made bool) {
	if b.draft != nil {
		draft := b.draft.DeepCopy()
		draft.Namespace, made = namespace, draft.UID == ""
		if made {
			draft.UID = uidOf(binding.KeyOf(binding.Draft, namespace, draft.Name))
		}
		return binding.FromDraft(draft), made
	}
	sb := b.object.DeepCopy()
	sb.Namespace, made = namespace, sb.UID == ""
	if made {
		sb.UID = uidOf(binding.KeyOf(binding.Specification, namespace, sb.Name))
	}
	return binding.FromV1(sb), made
}

// addDraft takes in a binding of the early draft.
func (w *World) addDraft(d document, id identity) error {
	sb := &draftv1alpha1.ServiceBinding{}
	if err := decode(d, sb); err != nil {
		return err
	}
	errs := binding.ValidateDraft(sb)
	if model := binding.FromDraft(sb); model.Composition != nil {
		errs = append(errs, compose.CheckTemplates(compose.TemplatesOf(model), field.NewPath("spec"))...)
	}
	if len(errs) > 0 {
		return invalid(d, fmt.Sprintf("ServiceBinding %q", id.name), errs)
	}
	w.bindings[bindingID{id, binding.Draft}] = bound{draft: sb, source: d}
	return nil
}

// nameOfMade is what a Secret is called that is made here. No Secret of a cluster can have such a name.
func nameOfMade(uid types.UID) string { return "made here: " + string(uid) }
