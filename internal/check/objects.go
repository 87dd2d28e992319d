package check

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/service"
)

const bindingGroup = "servicebinding.io"

// Scope says how much of the world the objects are.
type Scope int

const (
	// Manifests are what somebody wrote down: what is missing there may be elsewhere.
	Manifests Scope = iota
	// Cluster means that what is missing was looked for, and is not there.
	Cluster
)

// collection is all objects, with what refers to what.
type collection struct {
	scope   Scope
	objects []Object
	used    map[*Object]bool
}

// Subjects says what there is to check among some objects: every ServiceBinding with its service and Secret, every other service
// that names a Secret, and every other Secret that may be meant for bindings. The error is a *ManifestError.
func Subjects(objects []Object, scope Scope) ([]Subject, error) {
	c := collection{scope: scope, objects: objects, used: map[*Object]bool{}}
	var subjects []Subject
	for _, pass := range []func(*Object) (*Subject, error){c.binding, c.service, c.secret} {
		for i := range c.objects {
			s, err := pass(&c.objects[i])
			if err != nil {
				return nil, err
			}
			if s != nil {
				subjects = append(subjects, *s)
			}
		}
	}
	return subjects, nil
}

// find returns the object of a kind, in any version, and name, in the namespace of another.
func (c *collection) find(kind schema.GroupKind, name string, beside *Object) *Object {
	for i := range c.objects {
		o := &c.objects[i]
		if o.GroupVersionKind().GroupKind() == kind && o.GetName() == name && o.GetNamespace() == beside.GetNamespace() {
			return o
		}
	}
	return nil
}

// binding makes a subject of a ServiceBinding.
func (c *collection) binding(o *Object) (*Subject, error) {
	if !IsBinding(o.GroupVersionKind().GroupKind()) {
		return nil, nil //nolint:nilnil // it is of another kind
	}
	model, errs, err := modelOf(o)
	if err != nil {
		return nil, err
	}
	p := model.Projection
	s := &Subject{Name: o.label(), Origin: o.Origin, Directory: p.Name, Type: p.Type, Provider: p.Provider, Bound: true}
	for _, env := range p.Env {
		s.Env = append(s.Env, env.Key)
	}
	s.accuse(errs)
	err = c.resolve(s, o, model.Service)
	s.compose(model)
	return s, err
}

// resolve follows a service to its Secret, and takes the Secret's entries.
func (c *collection) resolve(s *Subject, from *Object, ref binding.Reference) error {
	found := c.find(ref.GroupKind(), ref.Name, from)
	var content map[string]any
	if found != nil {
		content = found.Object
		c.used[found] = true
		if made, err := c.synthesize(s, found); made || err != nil {
			return err
		}
	}
	name, err := service.Resolve(ref, content, func(name string) service.Presence {
		if c.find(binding.SecretKind.GroupKind(), name, from) == nil {
			return service.Missing
		}
		return service.Present
	})
	if unavailable, ok := errors.AsType[*service.Unavailable](err); ok {
		s.Unknown = true
		s.Found = append(s.Found, c.unavailable(unavailable))
		return nil
	}
	secret := c.find(binding.SecretKind.GroupKind(), name, from)
	c.used[secret] = true
	return s.take(secret)
}

// unavailable is worse in a cluster than in a folder of manifests.
func (c *collection) unavailable(why *service.Unavailable) Finding {
	if c.scope == Cluster || why.Reason == service.ReasonNoBinding {
		return Finding{Severity: Error, Rule: RuleService, Message: why.Message}
	}
	return Finding{
		Severity: Info, Rule: RuleService,
		Message: "its service or Secret is not among the manifests, so the entries were not checked: add it with -f, or ask a cluster",
	}
}

// take takes a Secret's type and entries.
func (s *Subject) take(secret *Object) error {
	kind, _, err := unstructured.NestedString(secret.Object, "type")
	if err != nil {
		return &ManifestError{secret.place(), "type is no text: put quotes around it"}
	}
	entries, err := data(secret)
	s.Secret, s.Entries = &kind, entries
	return err
}

// service makes a subject of a service that no ServiceBinding names. What names no Secret is one only if somebody says so, or if
// it is a synthetic one.
func (c *collection) service(o *Object) (*Subject, error) {
	if c.used[o] || !isService(o) {
		return nil, nil //nolint:nilnil // it is none
	}
	s := &Subject{Name: o.label(), Origin: o.Origin}
	return s, c.resolve(s, o, binding.Reference{GroupVersionKind: o.GroupVersionKind(), Name: o.GetName()})
}

func isService(o *Object) bool {
	kind := o.GroupVersionKind().GroupKind()
	if kind.Group == bindingGroup || kind == draftKind || kind == binding.SecretKind.GroupKind() {
		return false
	}
	name, _, _ := unstructured.NestedString(o.Object, "status", "binding", "name")
	return name != "" || o.Asked || kind == syntheticKind
}

// secret makes a subject of a Secret that nothing else names. Those of the platform are none, unless somebody says so.
func (c *collection) secret(o *Object) (*Subject, error) {
	kind, _, _ := unstructured.NestedString(o.Object, "type")
	isSecret := o.GroupVersionKind().GroupKind() == binding.SecretKind.GroupKind()
	meant := o.Asked || kind == "" || kind == "Opaque" || strings.HasPrefix(kind, secretTypePrefix)
	if c.used[o] || !isSecret || !meant {
		return nil, nil //nolint:nilnil // it is none
	}
	s := &Subject{Name: o.label(), Origin: o.Origin}
	return s, s.take(o)
}
