package offline

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/compose"
	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/projection"
)

var syntheticKind = draftv1alpha1.GroupVersion.WithKind("SyntheticProvisionedService").GroupKind()

// compose fills in what a binding makes of the entries of its service's Secret: the Secret that is made for its templates, and a
// variable for each entry where that is asked for.
func (s *Scene) compose(b *binding.Binding, secret string) (projection.Binding, error) {
	p := b.Projection
	p.Secret = secret
	entries := revealed(s.Objects.Secrets[secret])
	if b.Composition != nil {
		derived, err := compose.Derive(entries, compose.TemplatesOf(b))
		if err != nil {
			return p, err //nolint:wrapcheck // it names the field, and the caller the binding
		}
		entries, p.Env, p.Secret = derived.Data, derived.Env, nameOfMade(types.UID(p.UID))
		s.Objects.Secrets[p.Secret] = concealed(derived.Data)
	}
	rule, err := compose.ParseEnvRule(b.Options)
	if err != nil || rule == nil {
		return p, err //nolint:wrapcheck // it names the annotation, and the caller the binding
	}
	keys := slices.Collect(maps.Keys(entries))
	for key, override := range map[string]string{"type": p.Type, "provider": p.Provider} {
		if _, there := entries[key]; override != "" && !there {
			keys = append(keys, key)
		}
	}
	every, err := rule.Env(keys, p.Env)
	p.Env = slices.Concat(p.Env, every)
	return p, err //nolint:wrapcheck // it names the entries, and the caller the binding
}

// secretOf returns the name of the Secret of a service, which is made here where that is a synthetic one.
func (w *World) secretOf(s *Scene, ref binding.Reference) (string, error) {
	if ref.GroupKind() != syntheticKind {
		return w.resolve(ref, space{s.Namespace})
	}
	for _, o := range slices.Backward(w.others) {
		if o.kind.GroupKind() == syntheticKind && o.name == ref.Name && (space{s.Namespace}).holds(o.identity) {
			return w.synthesize(s, o)
		}
	}
	return w.resolve(ref, space{s.Namespace}) // which says that it is not there
}

func (w *World) synthesize(s *Scene, o object) (string, error) {
	synthetic := &draftv1alpha1.SyntheticProvisionedService{}
	if err := decode(o.source, synthetic); err != nil {
		return "", err
	}
	input := compose.SyntheticOf(&synthetic.Spec)
	for i, source := range synthetic.Spec.Services {
		input.Sources[i].Object = w.source(s, source)
	}
	made, err := compose.Synthesize(input)
	if err != nil {
		return "", fmt.Errorf("SyntheticProvisionedService %q: %w", o.name, err)
	}
	name := nameOfMade(types.UID("synthetic service " + o.name))
	s.Objects.Secrets[name] = concealed(made.Data)
	return name, nil
}

// source returns a resource that a synthetic service is made of; nil where there is none.
func (w *World) source(s *Scene, ref draftv1alpha1.SourceReference) map[string]any {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	switch kind {
	case secretKind.WithVersion("v1"):
		return w.secretObject(s, ref.Name)
	case configMapKind.WithVersion("v1"):
		return configMapObject(s.Objects, ref.Name)
	}
	for _, o := range slices.Backward(w.others) {
		if o.kind == kind && o.name == ref.Name && (space{s.Namespace}).holds(o.identity) {
			return o.source.object
		}
	}
	return nil
}

// secretObject is a Secret as an API server has it; nil where there is none, or one that must not be bound.
func (w *World) secretObject(s *Scene, name string) map[string]any {
	entries, ok := s.Objects.Secrets[name]
	if !ok || !w.bindable(s, name) {
		return nil
	}
	return map[string]any{"apiVersion": "v1", "kind": secretKind.Kind, "data": encoded(entries)}
}

// bindable says whether a Secret is none with credentials of the platform.
func (w *World) bindable(s *Scene, name string) bool {
	for id, secret := range w.secrets {
		if id.name == name && (space{s.Namespace}).holds(id) && slices.Contains(service.PlatformSecretTypes(), secret.kind) {
			return false
		}
	}
	return true
}

func configMapObject(objects node.Objects, name string) map[string]any {
	data, ok := objects.ConfigMaps[name]
	if !ok {
		return nil
	}
	texts := map[string]any{}
	for key, value := range data {
		texts[key] = string(value.Reveal())
	}
	return map[string]any{
		"apiVersion": "v1", "kind": configMapKind.Kind, "data": texts, "binaryData": encoded(objects.BinaryData[name]),
	}
}

func encoded(entries node.Entries) map[string]any {
	data := map[string]any{}
	for key, value := range entries {
		data[key] = base64.StdEncoding.EncodeToString(value.Reveal())
	}
	return data
}

func revealed(entries node.Entries) map[string][]byte {
	data := make(map[string][]byte, len(entries))
	for key, value := range entries {
		data[key] = value.Reveal()
	}
	return data
}

func concealed(data map[string][]byte) node.Entries {
	entries := make(node.Entries, len(data))
	for key, value := range data {
		entries[key] = node.NewValue(value)
	}
	return entries
}
