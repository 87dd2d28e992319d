// Package compose decides what is in the Secrets that Bowline composes: those of bindings with mappings or environment
// variables of their own, and those of synthetic services.
//
// It promises the same entries for the same input, each value byte for byte where it is taken whole, and all that is wrong at
// once: each fault names the field, the position within it, what is wrong and what to do. It refuses to give a part of the
// entries when one of them is at fault, to overwrite one name with another, and to tell a value: no error quotes one. It reads
// nothing and writes nothing; what it is given stays as it was.
package compose

import "github.com/bowline-dev/bowline/internal/template"

// The bounds of what one object may ask for.
const (
	// MaxMappings is the number of mappings.
	MaxMappings = 256
	// MaxEnv is the number of environment variables.
	MaxEnv = 256
	// MaxServices is the number of a synthetic service's sources.
	MaxServices = 64
	// MaxTokens is the number of tokens in all templates of one object.
	MaxTokens = template.MaxTokens
	// MaxSize is the number of bytes of all values of a Secret, as the API server counts them.
	MaxSize = template.MaxResult

	// mostNames is how many names an error lists.
	mostNames = 20
)

// The entries that say what a binding is.
const (
	typeEntry     = "type"
	providerEntry = "provider"
)
