// Package offline reads manifests and says what a cluster that holds nothing else would make of them: the workload with its
// bindings projected into it, and the Secrets and ConfigMaps beside it.
//
// It promises the same validation, the same resolution of services and the same projection as the controller and its
// admission, and that each complaint names the file and the line. It refuses to read or write anything: text comes in with
// the name of its file, and no value of a Secret is ever part of an error.
package offline

import (
	"fmt"
)

// File is one manifest: any number of YAML documents, or JSON.
type File struct {
	// Name is what complaints call it.
	Name string
	// Text is its content.
	Text []byte
}

// Place is where something stands.
type Place struct {
	// File is the name of the file.
	File string
	// Line counts from 1.
	Line int
}

// String is of the form FILE:LINE.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Fault is something wrong with a manifest.
type Fault struct { //nolint:errname // what it is
	// At is where.
	At Place
	// Err says what.
	Err error
}

// Error names the place first.
func (f *Fault) Error() string { return f.At.String() + ": " + f.Err.Error() }

// Unwrap returns what is wrong.
func (f *Fault) Unwrap() error { return f.Err }
