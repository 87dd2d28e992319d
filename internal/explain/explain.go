// Package explain says how a service can be bound, and of each entry where it comes from. It promises to show no value: it is
// handed the names of entries, and never what they hold. It reads nothing by itself; what it asks for is what the service
// points to.
package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/generate"
	"github.com/bowline-dev/bowline/internal/service"
)

// Manner is how a service tells its entries.
type Manner string

// The manners.
const (
	// MannerSecret is a Secret that is bound directly.
	MannerSecret Manner = "secret"
	// MannerProvisioned is a service that names its Secret.
	MannerProvisioned Manner = "provisioned"
	// MannerDescribed is a service that annotations or descriptors describe.
	MannerDescribed Manner = "described"
	// MannerNone is a service that tells nothing.
	MannerNone Manner = "none"
)

// State is what came of looking for an object.
type State int

// The states.
const (
	// Absent means that there is no such object.
	Absent State = iota
	// Found means that there is one.
	Found
	// Forbidden means that whoever asks may not look.
	Forbidden
)

// Seen is what is told of a Secret or ConfigMap: nothing of its values.
type Seen struct {
	// State says whether it is there.
	State State
	// Type of a Secret.
	Type string
	// Entries are the names of its entries.
	Entries []string
}

// Look tells of a Secret or ConfigMap of the service's namespace. The error is one that ends it all.
type Look func(generate.Reference) (Seen, error)

// Service is what is explained.
type Service struct {
	generate.Sources

	// Namespace of the service.
	Namespace string
	// Object is the service; of a Secret, without its values.
	Object map[string]any
	// Unread are the sources of descriptions that could not be read, as people call them.
	Unread []string
}

// Report says how a service can be bound.
type Report struct {
	// Service is the kind and the name.
	Service string `json:"service"`
	// Namespace of the service.
	Namespace string `json:"namespace"`
	// Manner is how it tells its entries.
	Manner Manner `json:"manner"`
	// Object is the name of the Secret that holds them; empty for described services, whose Secret is made once they are bound.
	Object string `json:"object,omitempty"`
	// Bindable says that nothing stands in the way.
	Bindable bool `json:"bindable"`
	// Entries are sorted by name.
	Entries []Entry `json:"entries"`
	// Problems stand in the way of a binding.
	Problems []string `json:"problems"`
	// Notes do not.
	Notes []string `json:"notes"`
}

// Entry says where an entry comes from.
type Entry struct {
	// Name of the entry.
	Name string `json:"name"`
	// From is what holds the value: Secret, ConfigMap, field or constant.
	From string `json:"from"`
	// Object is the name of the Secret or ConfigMap.
	Object string `json:"object,omitempty"`
	// Key is the entry of that object.
	Key string `json:"key,omitempty"`
	// Path is that of the field, or to the name of the object.
	Path string `json:"path,omitempty"`
	// Rule is the annotation, definition, operator or descriptor that says so.
	Rule string `json:"rule,omitempty"`
}

// Explain says how a service can be bound. The error is the one that looking gave.
func Explain(s Service, look Look) (*Report, error) {
	e := &explanation{service: s, look: look, report: Report{
		Service: s.Kind.Kind + "/" + s.Name, Namespace: s.Namespace, Manner: MannerNone,
		Entries: []Entry{}, Problems: []string{}, Notes: []string{},
	}}
	if group := s.Kind.Group; group != "" {
		e.report.Service = s.Kind.Kind + "." + group + "/" + s.Name
	}
	err := e.explain()
	if err != nil {
		return nil, err
	}
	e.mapped()
	slices.SortFunc(e.report.Entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	e.report.Bindable = len(e.report.Problems) == 0
	if e.report.Bindable && !e.has("type") && len(e.report.Entries) > 0 {
		e.notef("there is no entry type: set spec.type in the binding")
	}
	return &e.report, nil
}

// explanation is a report in the making.
type explanation struct {
	service Service
	look    Look
	report  Report
}

func (e *explanation) problemf(format string, args ...any) {
	e.report.Problems = append(e.report.Problems, fmt.Sprintf(format, args...))
}

func (e *explanation) notef(format string, args ...any) {
	e.report.Notes = append(e.report.Notes, fmt.Sprintf(format, args...))
}

func (e *explanation) has(name string) bool {
	return slices.ContainsFunc(e.report.Entries, func(entry Entry) bool { return entry.Name == name })
}

func (e *explanation) explain() error {
	if e.service.Kind.GroupKind() == binding.SecretKind.GroupKind() {
		e.report.Manner = MannerSecret
		return e.secret(e.service.Name)
	}
	recipe, err := generate.Describe(e.service.Sources)
	if name := secretOf(e.service.Object); name != "" {
		e.report.Manner = MannerProvisioned
		if recipe != nil || err != nil {
			e.notef("annotations and descriptors are passed over, since the service names a Secret in .status.binding.name")
		}
		return e.secret(name)
	}
	for _, unread := range e.service.Unread {
		e.notef("you may not read %s; what describes the service there is not shown", unread)
	}
	if err != nil {
		e.report.Manner = MannerDescribed
		e.faults(err)
		return nil
	}
	if recipe == nil {
		e.problemf("%s %q names no Secret in .status.binding.name, and neither annotations nor descriptors describe it; "+
			"wait for its controller, or annotate it with service.binding/<name>", e.service.Kind.Kind, e.service.Name)
		return nil
	}
	e.report.Manner = MannerDescribed
	return e.described(recipe)
}

func secretOf(object map[string]any) string {
	status, _ := object["status"].(map[string]any)
	bound, _ := status["binding"].(map[string]any)
	name, _ := bound["name"].(string)
	return name
}

// secret explains the entries of a Secret as they are.
func (e *explanation) secret(name string) error {
	e.report.Object = name
	seen, err := e.look(generate.Reference{Kind: string(generate.ObjectSecret), Name: name})
	if err != nil {
		return err
	}
	switch {
	case seen.State == Forbidden && e.report.Manner == MannerProvisioned:
		e.notef("you may not get Secret %q, so that its entries are not shown; the service can be bound without", name)
	case seen.State == Forbidden:
		e.problemf("you may not get Secret %q, and whoever binds it directly must be allowed to", name)
	case seen.State == Absent:
		e.problemf("Secret %q does not exist in namespace %q; create it, or wait for it", name, e.service.Namespace)
	case slices.Contains(service.PlatformSecretTypes(), seen.Type):
		e.problemf("Secret %q is of type %s, which holds credentials of the platform and is not bound", name, seen.Type)
	default:
		for _, key := range seen.Entries {
			e.report.Entries = append(e.report.Entries, Entry{Name: key, From: string(generate.ObjectSecret), Object: name, Key: key})
		}
	}
	return nil
}

// described explains what is made of a described service.
func (e *explanation) described(recipe *generate.Recipe) error {
	needs, _ := recipe.References(e.service.Object) // what is wrong is said when the entries are made
	contents := map[generate.Reference]map[string][]byte{}
	for i := range needs {
		entries, err := e.contents(&needs[i])
		if err != nil {
			return err
		}
		if entries != nil {
			contents[needs[i].Reference] = entries
		}
	}
	made, faults := recipe.Examine(e.service.Object, func(ref generate.Reference) (map[string][]byte, bool) {
		entries, ok := contents[ref]
		return entries, ok
	})
	for _, key := range made.Keys {
		e.report.Entries = append(e.report.Entries, entryOf(key))
	}
	if len(faults) > 0 {
		e.faults(faults)
	} else if len(made.Keys) == 0 {
		e.problemf("what describes %s %q makes no entry at all", e.service.Kind.Kind, e.service.Name)
	}
	return nil
}

// contents are the names of an object's entries, each without a value; nil where there is no such object. Of one that may not
// be looked at, those are taken to be there that are asked for by name.
func (e *explanation) contents(need *generate.Need) (map[string][]byte, error) {
	seen, err := e.look(need.Reference)
	if err != nil || seen.State == Absent {
		return nil, err
	}
	names := seen.Entries
	switch {
	case seen.State == Forbidden:
		e.problemf("you may not get %s, which the service points to, and whoever binds the service must be allowed to", need.Reference)
		if names = need.Entries; need.Whole {
			e.notef("every entry of %s comes from there, but not all are known here", need.Reference)
		}
	case slices.Contains(service.PlatformSecretTypes(), seen.Type):
		return nil, nil //nolint:nilnil // credentials of the platform count as missing
	}
	entries := make(map[string][]byte, len(names))
	for _, name := range names {
		entries[name] = []byte{}
	}
	return entries, nil
}

func (e *explanation) faults(err error) {
	var all generate.Faults
	if !errors.As(err, &all) {
		all = generate.Faults{err}
	}
	for _, fault := range all {
		e.problemf("%s", fault.Error())
	}
}

func entryOf(key generate.Key) Entry {
	entry := Entry{Name: key.Name, Rule: key.Rule.Origin.String(), Key: key.Entry}
	if key.Rule.Path != nil {
		entry.Path = key.Rule.Path.String()
	}
	switch {
	case key.Reference != nil:
		entry.From, entry.Object = key.Reference.Kind, key.Reference.Name
	case key.Rule.Constant != nil:
		entry.From = "constant"
	default:
		entry.From = "field"
	}
	return entry
}

// Definition is the name of the CustomResourceDefinition of a kind.
func Definition(resource schema.GroupResource) string {
	if resource.Group == "" {
		return ""
	}
	return resource.String()
}
