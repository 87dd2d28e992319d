package bindings

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
)

// RootVariable names the environment variable with the directory of all bindings.
const RootVariable = "SERVICE_BINDING_ROOT"

// Set is all bindings of a program, as they were when they were read, sorted by name.
type Set struct {
	root     string
	bindings []*Binding
}

// FromEnv reads the bindings below $SERVICE_BINDING_ROOT. Where the variable is not set, or names no directory, the error is
// a *RootError; where a binding cannot be read, it is a *ReadError.
func FromEnv() (Set, error) { return FromDir(os.Getenv(RootVariable)) }

// FromDir reads the bindings below a directory.
func FromDir(root string) (Set, error) {
	var r reader
	return r.read(root)
}

// Root is the directory that was read.
func (s Set) Root() string { return s.root }

// Len is the number of bindings.
func (s Set) Len() int { return len(s.bindings) }

// All gives each binding in turn, by name.
func (s Set) All() iter.Seq[*Binding] { return slices.Values(s.bindings) }

// Named returns the binding of that name; the error is a *NoneError.
func (s Set) Named(name string) (*Binding, error) { return s.Find(Query{Name: name}) }

// One returns the one binding of that type; the error is a *NoneError or a *SeveralError. The type's case does not count.
func (s Set) One(kind string) (*Binding, error) { return s.Find(Query{Type: kind}) }

// OneOf returns the one binding of that type and provider; the error is a *NoneError or a *SeveralError. Case does not count.
func (s Set) OneOf(kind, provider string) (*Binding, error) {
	return s.Find(Query{Type: kind, Provider: provider})
}

// Find returns the one binding that fits; the error is a *NoneError or a *SeveralError.
func (s Set) Find(q Query) (*Binding, error) {
	switch found := s.Select(q); len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, &NoneError{Query: q, Root: s.root, Others: s.describe()}
	default:
		names := make([]string, 0, len(found))
		for _, b := range found {
			names = append(names, b.name)
		}
		return nil, &SeveralError{Query: q, Root: s.root, Names: names}
	}
}

// Select returns all bindings that fit, by name.
func (s Set) Select(q Query) []*Binding {
	var found []*Binding
	for _, b := range s.bindings {
		if b.fits(q) {
			found = append(found, b)
		}
	}
	return found
}

func (s Set) describe() []string {
	list := make([]string, 0, len(s.bindings))
	for _, b := range s.bindings {
		list = append(list, fmt.Sprintf("%s (%s)", b.name, b.kind))
	}
	return list
}

// Equal says whether both hold the same bindings with the same values.
func (s Set) Equal(other Set) bool {
	return slices.EqualFunc(s.bindings, other.bindings, (*Binding).Equal)
}

// Format writes what Binding's Format writes of each, whatever the verb.
func (s Set) Format(state fmt.State, _ rune) {
	list := make([]string, 0, len(s.bindings))
	for _, b := range s.bindings {
		list = append(list, fmt.Sprint(b))
	}
	_, _ = fmt.Fprintf(state, "%s: %s", s.root, strings.Join(list, ", "))
}

// MarshalJSON returns a list of what Binding's MarshalJSON returns of each.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(append([]*Binding{}, s.bindings...)) }
