package conformance

import "slices"

// The early draft's API, and the objects that its clauses use.

const (
	draftGroup   = "service.binding"
	draftVersion = "v1alpha1"
)

// draftBinding binds the usual Database, since the draft has no direct reference to a Secret.
const draftBinding = `
---
apiVersion: service.binding/v1alpha1
kind: ServiceBinding
metadata: {name: db}
spec:
  service: {apiVersion: services.conformance.test/v1, kind: Database, name: main}
  application: {apiVersion: apps/v1, kind: Deployment, name: orders}
`

const (
	// draftService is a Secret and the service that names it.
	draftService = secretManifest + databaseManifest
	// draftParts are all that is bound, and draftUsual is that with the binding.
	draftParts = draftService + deploymentManifest
	draftUsual = draftParts + draftBinding
)

// draftClauses returns all clauses of the early draft, in its order.
func draftClauses() []Clause {
	return slices.Concat(
		draftServiceClauses, draftProjectionClauses, draftBindingClauses, draftStatusClauses, draftReconcilerClauses,
		draftContainerClauses, draftLifeClauses, draftMappingClauses, draftEnvClauses, draftSyntheticClauses, draftSelectorClauses,
		draftRoleClauses,
	)
}

// draftInventory returns every normative word of the early draft but those of the sections on notation and on Secret
// generation.
func draftInventory() []Requirement { return requirementsOf(inventoryOfDraft) }
