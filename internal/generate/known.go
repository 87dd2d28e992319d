package generate

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

//go:embed known/*.yaml
var knownFiles embed.FS

// Operators are the operators whose resources are described although they carry no annotations, one file each. They are
// immutable and safe for concurrent use.
type Operators struct {
	operators []*operator
}

// operator is one file.
type operator struct {
	// Name is that of the file, by which the operator is switched on and off.
	Name string `json:"name"`
	// Title is how people call it.
	Title string `json:"title"`
	// Describes are its kinds.
	Describes []knownKind `json:"describes"`
}

// knownKind describes some kinds of one group. Of several that match a service, later ones take the place of earlier ones,
// entry by entry.
type knownKind struct {
	// Group of the kinds.
	Group string `json:"group"`
	// Kinds of the group.
	Kinds []string `json:"kinds"`
	// Versions that are described; none means all.
	Versions []string `json:"versions,omitempty"`
	// When is a path that must lead to something other than false; empty for always.
	When string `json:"when,omitempty"`
	// Is is what it must lead to; empty for anything.
	Is string `json:"is,omitempty"`
	// Annotations are those that the CustomResourceDefinition would carry.
	Annotations map[string]string `json:"annotations"`

	when *Template
}

// Known reads the known operators that are enabled; all of them where enabled is nil.
func Known(enabled func(name string) bool) (*Operators, error) {
	files, err := knownFiles.ReadDir("known")
	if err != nil {
		return nil, fmt.Errorf("listing the known operators: %w", err)
	}
	known := &Operators{}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".yaml")
		if enabled != nil && !enabled(name) {
			continue
		}
		text, err := knownFiles.ReadFile(path.Join("known", file.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading the known operator %q: %w", name, err)
		}
		o, err := parseOperator(text, name)
		if err != nil {
			return nil, fmt.Errorf("reading the known operator %q: %w", name, err)
		}
		known.operators = append(known.operators, o)
	}
	return known, nil
}

func parseOperator(text []byte, name string) (*operator, error) {
	o := &operator{}
	if err := yaml.UnmarshalStrict(text, o); err != nil {
		return nil, err
	}
	if o.Name != name {
		return nil, fmt.Errorf("it calls itself %q", o.Name)
	}
	for i := range o.Describes {
		d := &o.Describes[i]
		if d.When == "" {
			continue
		}
		when, w := parseTemplate(d.When)
		if w != nil {
			return nil, fmt.Errorf("describes[%d].when, position %d: %s", i, w.at, w.problem)
		}
		d.when = when
	}
	return o, nil
}

// Names are the names of the operators, sorted.
func (o *Operators) Names() []string {
	names := make([]string, 0, len(o.operators))
	for _, each := range o.operators {
		names = append(names, each.Name)
	}
	return names
}

// Kinds are the kinds that are described, sorted, each once.
func (o *Operators) Kinds() []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, each := range o.operators {
		for _, d := range each.Describes {
			for _, kind := range d.Kinds {
				kinds = append(kinds, schema.GroupKind{Group: d.Group, Kind: kind})
			}
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(kinds)
}

// Describe gives what is known of a service; nil for nothing. How a service was set up may decide it, such as whether it
// names a Secret of its own.
func (o *Operators) Describe(kind schema.GroupVersionKind, service map[string]any) *Description {
	if o == nil {
		return nil
	}
	for _, each := range o.operators {
		annotations := map[string]string{}
		for _, d := range each.Describes {
			if d.matches(kind) && d.holds(service) {
				maps.Copy(annotations, d.Annotations)
			}
		}
		if len(annotations) > 0 {
			return &Description{Operator: each.Name, Annotations: annotations}
		}
	}
	return nil
}

func (d *knownKind) matches(kind schema.GroupVersionKind) bool {
	return d.Group == kind.Group && slices.Contains(d.Kinds, kind.Kind) && (len(d.Versions) == 0 || slices.Contains(d.Versions, kind.Version))
}

func (d *knownKind) holds(service map[string]any) bool {
	if d.when == nil {
		return true
	}
	text, err := newWork().expand(d.when, service)
	if err != nil || text == "" || text == "false" {
		return false
	}
	return d.Is == "" || d.Is == text
}
