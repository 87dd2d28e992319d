package check

import (
	"encoding/base64"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/compose"
	"github.com/bowline-dev/bowline/internal/node"
)

var (
	bindingKind   = bindingv1.GroupVersion.WithKind("ServiceBinding").GroupKind()
	draftKind     = draftv1alpha1.GroupVersion.WithKind("ServiceBinding").GroupKind()
	syntheticKind = draftv1alpha1.GroupVersion.WithKind("SyntheticProvisionedService").GroupKind()
)

// IsBinding says whether a kind is that of ServiceBindings, of either API.
func IsBinding(kind schema.GroupKind) bool { return kind == bindingKind || kind == draftKind }

// modelOf reads a ServiceBinding of either API, and tells which rules it breaks.
func modelOf(o *Object) (*binding.Binding, field.ErrorList, error) {
	var (
		model *binding.Binding
		errs  field.ErrorList
		err   error
	)
	if o.GroupVersionKind().GroupKind() == draftKind {
		var draft draftv1alpha1.ServiceBinding
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &draft)
		model, errs = binding.FromDraft(&draft), binding.ValidateDraft(&draft)
	} else {
		var sb bindingv1.ServiceBinding
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &sb)
		model, errs = binding.FromV1(&sb), binding.Validate(&sb)
	}
	if err != nil {
		return nil, nil, &ManifestError{o.place(), "a field is of another type than a ServiceBinding has there"}
	}
	if _, err := compose.ParseEnvRule(model.Options); err != nil {
		errs = append(errs, faultsOf(err)...)
	}
	return model, errs, nil
}

func faultsOf(err error) field.ErrorList {
	if faults, ok := errors.AsType[compose.Faults](err); ok {
		return faults.List()
	}
	return nil
}

// compose replaces the entries by those that the binding makes of them. Where they are not known, it tells of the templates what
// is wrong whatever they are.
func (s *Subject) compose(b *binding.Binding) {
	if b.Composition == nil {
		return
	}
	t := compose.TemplatesOf(b)
	t.Type, t.Provider = s.Type, s.Provider
	if s.Unknown {
		s.accuse(compose.CheckTemplates(t, field.NewPath("spec")))
		return
	}
	entries := map[string][]byte{}
	for key, value := range s.Entries {
		entries[key] = value.Reveal()
	}
	derived, err := compose.Derive(entries, t)
	if err != nil {
		s.accuse(faultsOf(err))
		return
	}
	s.Entries = valuesOf(derived.Data)
	for _, env := range derived.Env {
		s.Env = append(s.Env, env.Key)
	}
}

// accuse adds what is wrong with the binding.
func (s *Subject) accuse(errs field.ErrorList) {
	for _, fault := range errs {
		s.Found = append(s.Found, Finding{Severity: Error, Rule: RuleBinding, Message: fault.Error()})
	}
}

func valuesOf(data map[string][]byte) map[string]node.Value {
	values := make(map[string]node.Value, len(data))
	for key, value := range data {
		values[key] = node.NewValue(value)
	}
	return values
}

// synthesize makes the entries of a synthetic service that names no Secret yet, as it does in manifests. It says whether it was
// one.
func (c *collection) synthesize(s *Subject, o *Object) (bool, error) {
	made, _, _ := unstructured.NestedString(o.Object, "status", "binding", "name")
	if o.GroupVersionKind().GroupKind() != syntheticKind || made != "" {
		return false, nil
	}
	var synthetic draftv1alpha1.SyntheticProvisionedService
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &synthetic); err != nil {
		return true, &ManifestError{o.place(), "a field is of another type than a SyntheticProvisionedService has there"}
	}
	input := compose.SyntheticOf(&synthetic.Spec)
	for i, ref := range synthetic.Spec.Services {
		source, err := c.source(o, ref)
		if err != nil {
			return true, err
		}
		input.Sources[i] = source
	}
	result, err := compose.Synthesize(input)
	if err != nil {
		s.Unknown = true
		s.Found = append(s.Found, c.unmade(err))
		return true, nil
	}
	s.Entries, s.Secret = valuesOf(result.Data), &result.SecretType
	return true, nil
}

// unmade says why a synthetic service's entries are not known. What is missing may be elsewhere.
func (c *collection) unmade(err error) Finding {
	if _, missing := errors.AsType[*compose.Missing](err); missing && c.scope == Manifests {
		return Finding{
			Severity: Info, Rule: RuleService,
			Message: "the synthetic service's sources are not all among the manifests, so the entries were not checked: add them with -f",
		}
	}
	return Finding{Severity: Error, Rule: RuleService, Message: err.Error()}
}

// source returns a resource that a synthetic service is made of, with the entries of a Secret in one place.
func (c *collection) source(beside *Object, ref draftv1alpha1.SourceReference) (compose.Source, error) {
	source := compose.Source{ID: ref.ID, APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	found := c.find(kind, ref.Name, beside)
	if found == nil {
		return source, nil
	}
	c.used[found] = true
	source.Object = found.Object
	if kind != binding.SecretKind.GroupKind() {
		return source, nil
	}
	entries, err := data(found)
	encoded := map[string]any{}
	for key, value := range entries {
		encoded[key] = base64.StdEncoding.EncodeToString(value.Reveal())
	}
	source.Object = map[string]any{"apiVersion": ref.APIVersion, "kind": ref.Kind, "data": encoded}
	return source, err
}
