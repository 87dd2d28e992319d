// Package catalogue says, for each type of binding, which entries it has, how they are spelled, what their values must look
// like, which libraries read which of them, and which producers emit which. It is one data file, read once, and the rules for
// values. It never shows a value: not in an error either.
//
// It collects what is known, and is no measurement: the libraries and producers were not run, and may have changed since. What is
// not listed is not wrong: the specification leaves the entries of a type open.
package catalogue

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Names of the two entries that classify a binding.
const (
	// TypeEntry names the entry with the abstract classification of a binding. A projected binding MUST have it.
	TypeEntry = "type"
	// ProviderEntry names the entry that says whose flavour a binding is of.
	ProviderEntry = "provider"
)

// Catalogue is the whole data file.
type Catalogue struct {
	// WellKnown are the entries that the specification itself defines, whatever the type: their values MUST keep the rule.
	WellKnown []Entry `json:"wellKnown"`
	// Libraries are the programs' sides: what reads bindings.
	Libraries []Library `json:"libraries"`
	// Types are sorted by name.
	Types []Type `json:"types"`
}

// Library reads bindings.
type Library struct {
	// Name is how consumers refer to it.
	Name string `json:"name"`
	// Language is what programs that use it are written in.
	Language string `json:"language"`
	// Description says how it matches and reads.
	Description string `json:"description"`
	// ExactType says that it compares the entry type byte by byte, so that a line break at its end hides the binding.
	ExactType bool `json:"exactType,omitempty"`
}

// Type is one value of the entry type.
type Type struct {
	// Name is the value.
	Name string `json:"name"`
	// Aliases are other values in use for the same kind of service.
	Aliases []string `json:"aliases,omitempty"`
	// Description is what a service of the type is.
	Description string `json:"description"`
	// Entries of the type, in the order of importance.
	Entries []Entry `json:"entries"`
	// Instead lists entries any of which says alone what the required ones say together.
	Instead []string `json:"instead,omitempty"`
	// Consumers say which library reads what.
	Consumers []Consumer `json:"consumers,omitempty"`
	// Producers say who emits what.
	Producers []Producer `json:"producers,omitempty"`
}

// Entry is one thing that a binding may say.
type Entry struct {
	// Name is its usual spelling.
	Name string `json:"name"`
	// Alternatives are other spellings in use.
	Alternatives []string `json:"alternatives,omitempty"`
	// Required says that a client can do nothing without it.
	Required bool `json:"required,omitempty"`
	// Rule is what its value must look like.
	Rule Rule `json:"rule"`
	// Values are all that the rule one-of allows.
	Values []string `json:"values,omitempty"`
	// Description is what it says.
	Description string `json:"description"`
}

// Consumer is what one library reads of one type.
type Consumer struct {
	// Library is the name of a Library.
	Library string `json:"library"`
	// Reads are the entries that it looks for, in its own spelling.
	Reads []string `json:"reads"`
	// Needs lists sets of entries; it can do nothing unless all of one set are there. None means that it needs nothing.
	Needs [][]string `json:"needs,omitempty"`
	// Note tells what else a reader of the catalogue should know.
	Note string `json:"note,omitempty"`
}

// Producer is what one producer puts into the Secrets of one type.
type Producer struct {
	// Name of the producer.
	Name string `json:"name"`
	// Emits are the entries, in its own spelling.
	Emits []string `json:"emits"`
	// Note tells what else a reader of the catalogue should know.
	Note string `json:"note,omitempty"`
}

//go:embed catalogue.json
var data []byte

var load = sync.OnceValue(func() *Catalogue {
	c, err := Parse(data)
	if err != nil {
		panic("bowline: " + err.Error()) // the file is part of the program, and a test reads it
	}
	return c
})

// Default returns the catalogue that comes with this package. Callers MUST NOT change it.
func Default() *Catalogue { return load() }

// Parse reads a catalogue and refuses fields that it does not know.
func Parse(text []byte) (*Catalogue, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	c := &Catalogue{}
	if err := decoder.Decode(c); err != nil {
		return nil, fmt.Errorf("reading the catalogue: %w", err)
	}
	return c, nil
}

// Type returns the type of that name or alias, whatever its letters' case and the white space around it; nil where the
// catalogue has none.
func (c *Catalogue) Type(name string) *Type {
	name = strings.TrimSpace(name)
	same := func(other string) bool { return strings.EqualFold(name, other) }
	for i := range c.Types {
		if same(c.Types[i].Name) || slices.ContainsFunc(c.Types[i].Aliases, same) {
			return &c.Types[i]
		}
	}
	return nil
}

// Library returns the library of that name; nil where there is none.
func (c *Catalogue) Library(name string) *Library {
	for i := range c.Libraries {
		if c.Libraries[i].Name == name {
			return &c.Libraries[i]
		}
	}
	return nil
}

// Entry returns the entry that is spelled so, in a type or, where t is nil or does not have it, among the well-known ones;
// nil where neither has it.
func (c *Catalogue) Entry(t *Type, spelling string) *Entry {
	if t != nil {
		if e := find(t.Entries, spelling); e != nil {
			return e
		}
	}
	return find(c.WellKnown, spelling)
}

// WellKnownEntry returns the specification's entry of that very name; nil where there is none.
func (c *Catalogue) WellKnownEntry(name string) *Entry { return find(c.WellKnown, name) }

func find(entries []Entry, spelling string) *Entry {
	for i := range entries {
		if entries[i].Name == spelling || slices.Contains(entries[i].Alternatives, spelling) {
			return &entries[i]
		}
	}
	return nil
}

// Entry returns the entry of that name or spelling; nil where the type has none.
func (t *Type) Entry(spelling string) *Entry { return find(t.Entries, spelling) }

// Spellings are the name and the alternatives, the name first.
func (e *Entry) Spellings() []string { return append([]string{e.Name}, e.Alternatives...) }

// Check says what is wrong with a value of this entry; nil for nothing. The error never holds the value.
func (e *Entry) Check(value []byte) error {
	if e.Rule == OneOf {
		return oneOf(e.Values, value)
	}
	return e.Rule.Check(value)
}
