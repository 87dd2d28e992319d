package convert

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/compose"
	"github.com/bowline-dev/bowline/internal/template"
)

const (
	typeEntry     = "type"
	providerEntry = "provider"

	// mostPieces bounds what the templates of one binding may become once they are put into each other.
	mostPieces = 10_000
	// mostName leaves room for what is put behind the name of a binding.
	mostName = 230
)

var (
	secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	// plainKey is a key that a path names without quotes.
	plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// composed is what stands for the mappings and the composed variables of a binding.
type composed struct {
	service draftv1alpha1.SyntheticProvisionedService
	env     []bindingv1.EnvMapping
	secret  string
}

// metadata is that of the synthetic service, which goes with the binding.
func (c *composed) metadata(of *unstructured.Unstructured) map[string]any {
	object := unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": c.service.Name}}}
	if namespace := of.GetNamespace(); namespace != "" {
		object.SetNamespace(namespace)
	}
	if labels := of.GetLabels(); len(labels) > 0 {
		object.SetLabels(labels)
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	return metadata
}

func (c *composed) note() *Remark {
	return &Remark{Field: "spec.mappings", Text: fmt.Sprintf("SyntheticProvisionedService %q lists the entries that Secret %q has now; "+
		"an entry that the Secret gets later needs a mapping there", c.service.Name, c.secret)}
}

// plainEnv is the variables of a binding that composes nothing: each of them is one entry as it is.
func plainEnv(draft *draftv1alpha1.ServiceBinding) ([]bindingv1.EnvMapping, bool) {
	if len(draft.Spec.Mappings) > 0 {
		return nil, false
	}
	var plain []bindingv1.EnvMapping
	for _, variable := range draft.Spec.Env {
		parsed, err := template.Parse(variable.Value)
		if err != nil {
			return nil, false
		}
		token, ok := parsed.Whole()
		if !ok {
			return nil, false
		}
		plain = append(plain, bindingv1.EnvMapping{Name: variable.Name, Key: token.Name})
	}
	return plain, true
}

// compose makes a synthetic service that has the entries which the binding composes. It shows only what it lists, so that the
// entries of the service's Secret must be known.
func (c *converter) compose(draft *draftv1alpha1.ServiceBinding) (*composed, *obstacle) {
	at := composing(draft)
	if draft.Name == "" {
		return nil, blocked("metadata.name", "%s takes a SyntheticProvisionedService, which needs the binding's name; name it", at)
	}
	entries, why := c.entries(draft, at)
	if why != nil {
		return nil, why
	}
	templates := compose.TemplatesOfSpec(&draft.Spec)
	derived, err := compose.Derive(entries, templates)
	if err != nil {
		return nil, faulty(err)
	}
	made := &composed{secret: draft.Spec.Service.Name}
	made.service.ObjectMeta = metav1.ObjectMeta{Name: c.freeName(draft), Namespace: draft.Namespace}
	made.service.Spec = draftv1alpha1.SyntheticProvisionedServiceSpec{
		Type: templates.Type, Provider: templates.Provider, Services: []draftv1alpha1.SourceReference{source(draft)},
	}
	w := newWriter(entries, templates, made.service.Spec.Services[0])
	if made.service.Spec.Mappings, err = w.mappings(derived); err != nil {
		return nil, blocked(at, "%v; write a SyntheticProvisionedService by hand", err)
	}
	for _, variable := range derived.Env {
		made.env = append(made.env, bindingv1.EnvMapping{Name: variable.Name, Key: variable.Key})
	}
	return made, proven(made, entries, derived, at)
}

// proven sees that the synthetic service comes to the same entries.
func proven(made *composed, entries map[string][]byte, derived *compose.Derived, at string) *obstacle {
	data := map[string]any{}
	for key, value := range entries {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	spec := made.service.Spec
	one := spec.Services[0]
	synthetic := compose.Synthetic{Type: spec.Type, Provider: spec.Provider, Sources: []compose.Source{{
		ID: one.ID, APIVersion: one.APIVersion, Kind: one.Kind, Name: one.Name,
		Object: map[string]any{"apiVersion": one.APIVersion, "kind": one.Kind, "data": data},
	}}}
	for _, mapping := range spec.Mappings {
		synthetic.Mappings = append(synthetic.Mappings, compose.Mapping(mapping))
	}
	got, err := compose.Synthesize(synthetic)
	if err != nil {
		return blocked(at, "a SyntheticProvisionedService cannot say the same: %v", err)
	}
	if !maps.EqualFunc(got.Data, derived.Data, bytes.Equal) {
		return blocked(at, "a SyntheticProvisionedService cannot say the same; write one by hand")
	}
	return nil
}

// composing is the first field that takes more than entries as they are.
func composing(draft *draftv1alpha1.ServiceBinding) string {
	if len(draft.Spec.Mappings) > 0 {
		return "spec.mappings"
	}
	return "spec.env"
}

// faulty tells the first thing that is wrong with a binding's templates.
func faulty(err error) *obstacle {
	faults, ok := errors.AsType[compose.Faults](err)
	if !ok {
		return blocked("spec", "%v", err)
	}
	first := faults[0]
	return blocked(first.Field, "%s", strings.TrimLeft(strings.TrimPrefix(first.Error(), first.Field), ":, "))
}

// entries are those of the Secret that a binding refers to directly.
func (c *converter) entries(draft *draftv1alpha1.ServiceBinding, at string) (map[string][]byte, *obstacle) {
	service := draft.Spec.Service
	if schema.FromAPIVersionAndKind(service.APIVersion, service.Kind) != secretKind {
		return nil, blocked(at, "it needs the entries of the Secret of %s %q, which are not known here; "+
			"write a SyntheticProvisionedService over that Secret by hand, and bind it", service.Kind, service.Name)
	}
	secret := c.find(identity{secretKind.GroupKind(), draft.Namespace, service.Name})
	if secret == nil {
		return nil, blocked(at, "it needs the names of the entries of Secret %q; hand the Secret in, too", service.Name)
	}
	entries := map[string][]byte{}
	encoded, _, err := unstructured.NestedStringMap(secret.Object, "data")
	plain, _, wrong := unstructured.NestedStringMap(secret.Object, "stringData")
	if err != nil || wrong != nil {
		return nil, blocked("spec.service", "Secret %q holds what is no text; correct it", service.Name)
	}
	for key, value := range encoded {
		if entries[key], err = base64.StdEncoding.DecodeString(value); err != nil {
			return nil, blocked("spec.service", "the entry %q of Secret %q is no base64; correct it", key, service.Name)
		}
	}
	for key, value := range plain {
		entries[key] = []byte(value)
	}
	return entries, nil
}

// source refers to the binding's Secret. A name with dots in it gets an id, which is easier to read.
func source(draft *draftv1alpha1.ServiceBinding) draftv1alpha1.SourceReference {
	service := draft.Spec.Service
	s := draftv1alpha1.SourceReference{APIVersion: service.APIVersion, Kind: service.Kind, Name: service.Name}
	if strings.Contains(s.Name, ".") {
		s.ID = "secret"
	}
	return s
}

// freeName is a name for the synthetic service that none has yet.
func (c *converter) freeName(draft *draftv1alpha1.ServiceBinding) string {
	base := strings.TrimRight(draft.Name[:min(len(draft.Name), mostName)], ".-") + "-composed"
	name := base
	for n := 2; c.taken[identity{syntheticKind.GroupKind(), draft.Namespace, name}]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// sorted lists keys.
func sorted(data map[string][]byte) []string { return slices.Sorted(maps.Keys(data)) }
