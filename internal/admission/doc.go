// Package admission is what the API server asks before it stores one of our objects or a workload: it completes and
// validates bindings, synthetic services and mappings, records who asked for them, and projects bindings into workloads on
// their way in. It also keeps the certificate that it is called with and tells the API server when to call.
//
// It never refuses a workload, never reads a Secret but the one with its certificate, and decides nothing about a
// projection itself: that is asked of a Projector. Nor does it decide what the author of a binding may do: that is asked of
// an Authority.
package admission

import "github.com/bowline-dev/bowline/internal/feature"

// Paths of the handlers, as the webhook configurations name them.
const (
	PathMutateBinding   = "/mutate-servicebinding"
	PathValidateBinding = "/validate-servicebinding"
	PathMutateMapping   = "/mutate-mapping"
	PathValidateMapping = "/validate-mapping"
	PathMutateWorkload  = "/mutate-workload"

	PathMutateDraftBinding       = "/mutate-draft-servicebinding"
	PathValidateDraftBinding     = "/validate-draft-servicebinding"
	PathMutateSyntheticService   = "/mutate-syntheticservice"
	PathValidateSyntheticService = "/validate-syntheticservice"
)

// Names of the webhooks within their configurations.
const (
	WebhookBindings  = "servicebindings.bowline.dev"
	WebhookMappings  = "mappings.bowline.dev"
	WebhookWorkloads = "workloads.bowline.dev"

	WebhookDraftBindings     = feature.DraftAPIWebhook
	WebhookSyntheticServices = feature.SyntheticServicesWebhook
)

// DefaultName is the name of both webhook configurations.
const DefaultName = "bowline"
