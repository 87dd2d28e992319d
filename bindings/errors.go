package bindings

import (
	"fmt"
	"strings"
)

// RootError says that there is no place to look for bindings in.
type RootError struct {
	// Root is the directory that is not there; "" when the environment names none.
	Root string
}

// Error says what is missing and what to do.
func (e *RootError) Error() string {
	if e.Root == "" {
		return RootVariable + " is not set: bind this workload with a ServiceBinding, or set it to a directory of bindings"
	}
	return fmt.Sprintf("%s is %s, where there is no directory: bind this workload with a ServiceBinding, or correct the variable",
		RootVariable, e.Root)
}

// Query is what was looked for. Empty fields match everything.
type Query struct {
	// Name of the binding's directory.
	Name string
	// Type of the binding, in any case.
	Type string
	// Provider of the binding, in any case.
	Provider string
}

func (q Query) String() string {
	var parts []string
	for _, part := range []struct{ what, value string }{{"name", q.Name}, {"type", q.Type}, {"provider", q.Provider}} {
		if part.value != "" {
			parts = append(parts, fmt.Sprintf("%s %q", part.what, part.value))
		}
	}
	if len(parts) == 0 {
		return "any kind"
	}
	return strings.Join(parts, " and ")
}

// NoneError says that no binding fits.
type NoneError struct {
	// Query is what was looked for.
	Query Query
	// Root is where.
	Root string
	// Others are the bindings that are there, as "name (type)".
	Others []string
}

// Error says what was looked for, what is there, and what to do.
func (e *NoneError) Error() string {
	there := "there is none at all"
	if len(e.Others) > 0 {
		there = "there are " + strings.Join(e.Others, ", ")
	}
	return fmt.Sprintf("no binding of %s in %s (%s): bind such a service to this workload, or look for another", e.Query, e.Root, there)
}

// SeveralError says that more than one binding fits.
type SeveralError struct {
	// Query is what was looked for.
	Query Query
	// Root is where.
	Root string
	// Names are the bindings that fit.
	Names []string
}

// Error says which bindings fit and what to do.
func (e *SeveralError) Error() string {
	return fmt.Sprintf("%d bindings of %s in %s (%s): choose one by its name or provider, or unbind the others",
		len(e.Names), e.Query, e.Root, strings.Join(e.Names, ", "))
}

// MissingError says that a binding does not have an entry that is needed.
type MissingError struct {
	// Binding is the binding's name.
	Binding string
	// Spellings are the names of the entry that would do.
	Spellings []string
	// Empty says that an entry of one of these names is there, and holds nothing.
	Empty bool
}

// Error says which entry is missing and what to do.
func (e *MissingError) Error() string {
	if e.Empty {
		return fmt.Sprintf("binding %q has an entry %s that is empty: fill it in, in the service's Secret",
			e.Binding, strings.Join(e.Spellings, " or "))
	}
	return fmt.Sprintf("binding %q has no entry %s: add it to the service's Secret", e.Binding, strings.Join(e.Spellings, " or "))
}

// MalformedError says that the value of an entry is not what the entry is for. It does not hold the value.
type MalformedError struct {
	// Binding is the binding's name.
	Binding string
	// Entry is the entry's.
	Entry string
	// Err says what is wrong.
	Err error
}

// Error says what is wrong and what to do.
func (e *MalformedError) Error() string {
	return fmt.Sprintf("binding %q: entry %s %v: correct it in the service's Secret", e.Binding, e.Entry, e.Err)
}

// Unwrap returns what is wrong.
func (e *MalformedError) Unwrap() error { return e.Err }

// ReadError says that a binding is there and cannot be read.
type ReadError struct {
	// Binding is the binding's name.
	Binding string
	// Err is what came of reading it.
	Err error
}

// Error says which binding, and why.
func (e *ReadError) Error() string { return fmt.Sprintf("reading binding %q: %v", e.Binding, e.Err) }

// Unwrap returns what came of reading.
func (e *ReadError) Unwrap() error { return e.Err }

// UnstableError says that the files of a binding changed each time they were read.
type UnstableError struct {
	// Tries is how often they were read.
	Tries int
}

// Error says what happened and what to do.
func (e *UnstableError) Error() string {
	return fmt.Sprintf("its files changed during each of %d readings: read again, or replace them less often", e.Tries)
}
