package bindings

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

// Binding is one binding as it was at one moment. It does not change; read it again, or watch, to see what came later.
type Binding struct {
	name, dir      string
	kind, provider string
	entries        map[string]Value
}

// newBinding makes a binding of what was read; nil where the entries have no type and so are no binding.
func newBinding(name, dir string, entries map[string]Value) *Binding {
	kind := strings.TrimSpace(entries[catalogue.TypeEntry].Text())
	if kind == "" {
		return nil
	}
	provider := strings.TrimSpace(entries[catalogue.ProviderEntry].Text())
	return &Binding{name: name, dir: dir, kind: kind, provider: provider, entries: entries}
}

// Name is the name of the binding's directory.
func (b *Binding) Name() string { return b.name }

// Dir is the path of the binding's directory, for clients that want the name of a file.
func (b *Binding) Dir() string { return b.dir }

// Type is the abstract classification of the binding, without white space around it. It is never empty.
func (b *Binding) Type() string { return b.kind }

// Provider says whose flavour the binding is of, without white space around it; it may be empty.
func (b *Binding) Provider() string { return b.provider }

// Entries lists the names of all entries, sorted. Type and provider are among them.
func (b *Binding) Entries() []string { return slices.Sorted(maps.Keys(b.entries)) }

// Value returns what an entry holds, and whether there is one.
func (b *Binding) Value(entry string) (Value, bool) {
	v, ok := b.entries[entry]
	return v, ok
}

// First returns the value of the first of some entries that is there; the error is a *MissingError. It is for entries with
// more than one spelling.
func (b *Binding) First(spellings ...string) (Value, error) {
	if _, v, ok := b.first(spellings); ok {
		return v, nil
	}
	return Value{}, &MissingError{Binding: b.name, Spellings: spellings}
}

// first returns the spelling as well.
func (b *Binding) first(spellings []string) (string, Value, bool) {
	for _, spelling := range spellings {
		if v, ok := b.entries[spelling]; ok {
			return spelling, v, true
		}
	}
	return "", Value{}, false
}

// Is says whether the binding is of a type, and of a provider unless that is "". Case and white space around them do not count.
func (b *Binding) Is(kind, provider string) bool {
	return b.fits(Query{Type: kind, Provider: provider})
}

func (b *Binding) fits(q Query) bool {
	same := func(wanted, is string) bool {
		wanted = strings.TrimSpace(wanted)
		return wanted == "" || strings.EqualFold(wanted, is)
	}
	return (q.Name == "" || q.Name == b.name) && same(q.Type, b.kind) && same(q.Provider, b.provider)
}

// Equal says whether both have the same name and the same entries with the same values.
func (b *Binding) Equal(other *Binding) bool {
	if b == nil || other == nil {
		return b == other
	}
	return b.name == other.name && maps.EqualFunc(b.entries, other.entries, Value.Equal)
}

// shown is what of a binding may be shown.
type shown struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Provider string   `json:"provider,omitempty"`
	Entries  []string `json:"entries"`
}

// Format writes the binding's name, type and provider and the names of its entries, whatever the verb.
func (b *Binding) Format(state fmt.State, _ rune) {
	if b == nil {
		_, _ = io.WriteString(state, "<nil>")
		return
	}
	_, _ = fmt.Fprintf(state, "%s (type %q, provider %q, entries %s)", b.name, b.kind, b.provider, strings.Join(b.Entries(), " "))
}

// MarshalJSON returns the binding's name, type and provider and the names of its entries.
func (b *Binding) MarshalJSON() ([]byte, error) {
	return json.Marshal(shown{Name: b.name, Type: b.kind, Provider: b.provider, Entries: b.Entries()})
}
