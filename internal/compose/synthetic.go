package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// maxNodes is what the paths of one synthetic service may cost together, in the measure of the jsonpath package.
const maxNodes = 4 * jsonpath.MaxVisits

// Synthetic is what a synthetic service is made of.
type Synthetic struct {
	// Type and Provider are the entries of those names, unless they are empty.
	Type, Provider string
	// Sources are the resources to take values from.
	Sources []Source
	// Mappings make the entries. A token in them is <source>.<path>, where the source is called by its id or its name.
	Mappings []Mapping
}

// Source is a resource that a synthetic service takes values from.
type Source struct {
	// ID is what tokens may call the source; it may be empty.
	ID string
	// APIVersion, Kind and Name tell which resource it is.
	APIVersion, Kind, Name string
	// Object is the resource; nil where there is none, and where only the names are to be checked.
	Object map[string]any
}

// String is the kind and name, such as Secret "db".
func (s Source) String() string {
	return fmt.Sprintf("%s %q", s.Kind, s.Name)
}

// Synthesized is what a synthetic service's Secret holds.
type Synthesized struct {
	// Data is the entries.
	Data map[string][]byte
	// SecretType is servicebinding.io/<type>, or Opaque where the type cannot be part of a name. The API server lets no Secret
	// change its type.
	SecretType string
}

// Missing says which sources of a synthetic service are not there.
type Missing struct { //nolint:errname // what it is
	// Sources are those that are missing, sorted by kind and name.
	Sources []Source
}

// Error names each.
func (m *Missing) Error() string {
	texts := make([]string, 0, len(m.Sources))
	for _, s := range m.Sources {
		texts = append(texts, fmt.Sprintf("%s of %s", s, s.APIVersion))
	}
	return "not found: " + strings.Join(texts, ", ") + "; create what is missing, or correct spec.services"
}

// CheckSynthetic tells what is wrong with a synthetic service whatever its sources may hold. The path is that of the spec.
func CheckSynthetic(s Synthetic, at *field.Path) field.ErrorList {
	return compileSynthetic(s, at).faults.List()
}

// Synthesize makes the entries of a synthetic service's Secret. The error is Faults or a *Missing; what can be wrong with the
// values is only told once all sources are there.
//
// Of a Secret and a ConfigMap, paths see the data as it is mounted: decoded, binary data among it. Where such a source has no
// field of a path's first name, but has an entry of that name, the path begins at the entry: ((db.password)) is
// ((db.data.password)).
func Synthesize(s Synthetic) (*Synthesized, error) {
	spec := field.NewPath("spec")
	c := compileSynthetic(s, spec)
	if err := c.faults.err(); err != nil {
		return nil, err
	}
	if err := missing(s.Sources); err != nil {
		return nil, err
	}
	e := &extractor{
		given: s.Sources, views: make([]*view, len(s.Sources)), budget: jsonpath.NewBudget(maxNodes), left: MaxSize,
	}
	made := make(map[string][]byte, len(c.recipes))
	for _, r := range c.recipes {
		made[r.name] = e.entry(r)
	}
	data := overridden(made, Templates{Type: s.Type, Provider: s.Provider})
	if size(data) > MaxSize && !e.full {
		e.tooLarge(spec)
	}
	if err := e.faults.err(); err != nil {
		return nil, err
	}
	return &Synthesized{Data: data, SecretType: secretType(data)}, nil
}

func missing(sources []Source) error {
	var gone []Source
	for _, s := range sources {
		if s.Object == nil {
			gone = append(gone, s)
		}
	}
	if gone == nil {
		return nil
	}
	slices.SortFunc(gone, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion))
	})
	return &Missing{Sources: gone}
}
