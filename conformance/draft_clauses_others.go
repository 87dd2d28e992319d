package conformance

import "k8s.io/apimachinery/pkg/runtime/schema"

// The early draft's sections Multi-Application Bindings and Role-Based Access Control.

func services(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: serviceGroup, Version: "v1", Resource: resource}
}

var draftShopBinding = swap(draftBinding, "name: orders}", "selector: {matchLabels: {part-of: shop}}}")

var draftSelectorClauses = []Clause{
	{
		Name: "draft-application-by-name", SpecRef: "Multi-Application Bindings", Level: May, Extension: Selectors,
		Text:      "an application is referred to by name; another with the same labels is left alone",
		Manifests: draftUsual + secondDeployment,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.unprojected(deployment.called("payments"))
		},
	},
	{
		Name: "draft-name-and-selector", SpecRef: "Multi-Application Bindings", Level: MustNot, Extension: Selectors,
		Text:      "a binding with both a name and a selector is refused, or Ready is False; nothing is projected",
		Manifests: draftParts,
		Test: func(t *T) {
			t.refused(swap(draftBinding, "name: orders}", "name: orders, selector: {matchLabels: {app: orders}}}"), deployment)
		},
	},
	{
		Name: "draft-selector-binds-each", SpecRef: "Multi-Application Bindings", Level: Must, Extension: Selectors,
		Text:      "each application that a selector matches is bound as if it were named, one that comes later, too",
		Manifests: draftParts + draftShopBinding,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.Apply(secondDeployment)
			t.bound(deployment.called("payments"), "main", "db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "draft-selector-partial-failure", SpecRef: "Multi-Application Bindings", Level: Must, Extension: Selectors,
		Text: "when one of the selected applications cannot be bound, Ready says so; the others are bound",
		Manifests: draftService + narrowManifest +
			swap(draftShopBinding, "apps/v1, kind: Deployment", "workloads.conformance.test/v1, kind: Narrow"),
		Test: func(t *T) {
			t.mustSay(t.unready("db"), "")
			t.bound(invented("narrows", "roomy", shapeAt("spec/template")), "main", "db")
			t.unprojected(invented("narrows", "full", shapeAt("spec/template")))
			t.unready("db")
		},
	},
}

var draftRoleClauses = roleText{
	prefix: "draft-", serviceRef: draftRoleSection, workloadRef: draftRoleSection, sumRef: draftRoleSection,
	workload: "application", service: draftService, serviceBinding: draftBinding, workloadBinding: draftBinding,
	label: "service.binding/controller",
}.clauses()

const draftRoleSection = "Role-Based Access Control (RBAC)"
