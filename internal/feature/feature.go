// Package feature names what Bowline can do beyond the specification, each with its own permissions and its own switch. It
// only names: what a feature does is decided where it is done.
package feature

import "slices"

// Feature is one optional ability.
type Feature string

// The features.
const (
	// DraftAPI serves ServiceBindings of service.binding/v1alpha1.
	DraftAPI Feature = "draft-api"
	// Templates composes Secrets for the mappings and environment values of such bindings.
	Templates Feature = "templates"
	// SyntheticServices makes Secrets for SyntheticProvisionedServices.
	SyntheticServices Feature = "synthetic-services"
	// SecretGeneration makes Secrets for services that annotations or descriptors describe.
	SecretGeneration Feature = "secret-generation"
	// EntriesAsEnv projects every entry of a Secret as an environment variable.
	EntriesAsEnv Feature = "entries-as-env"
)

// The webhooks of features that bring kinds of their own.
const (
	// DraftAPIWebhook is that of DraftAPI.
	DraftAPIWebhook = "draftbindings.bowline.dev"
	// SyntheticServicesWebhook is that of SyntheticServices.
	SyntheticServicesWebhook = "syntheticservices.bowline.dev"
)

// OfWebhook returns the feature that a webhook belongs to; false for one that is always there.
func OfWebhook(name string) (Feature, bool) {
	switch name {
	case DraftAPIWebhook:
		return DraftAPI, true
	case SyntheticServicesWebhook:
		return SyntheticServices, true
	default:
		return "", false
	}
}

// All lists the features in a fixed order.
func All() []Feature {
	return []Feature{DraftAPI, Templates, SyntheticServices, SecretGeneration, EntriesAsEnv}
}

// Set is a choice of features. The zero value is none.
type Set struct {
	chosen [5]bool
}

// Of returns the set of these features. A feature needs no other, except that templates are those of the draft's API.
func Of(features ...Feature) Set {
	var s Set
	for _, f := range features {
		if at := slices.Index(All(), f); at >= 0 {
			s.chosen[at] = true
		}
	}
	return s
}

// Has says whether a feature is chosen.
func (s Set) Has(f Feature) bool {
	at := slices.Index(All(), f)
	return at >= 0 && s.chosen[at]
}

// List returns what is chosen, in the order of All.
func (s Set) List() []Feature {
	var list []Feature
	for _, f := range All() {
		if s.Has(f) {
			list = append(list, f)
		}
	}
	return list
}

// Arguments are the flags that switch the features on in a controller.
func (s Set) Arguments() []string {
	var arguments []string
	for _, f := range s.List() {
		arguments = append(arguments, "--"+string(f))
	}
	return arguments
}

// Help says in one line what a feature does.
func (f Feature) Help() string {
	switch f {
	case DraftAPI:
		return "serve the early draft's API, service.binding/v1alpha1"
	case Templates:
		return "compose Secrets for the mappings and environment values of the early draft's bindings"
	case SyntheticServices:
		return "make Secrets for SyntheticProvisionedServices"
	case SecretGeneration:
		return "make Secrets for services that annotations or descriptors describe"
	case EntriesAsEnv:
		return "let the annotation bowline.dev/env project every entry as an environment variable"
	}
	return ""
}
