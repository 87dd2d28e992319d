package conformance

// Section Service Binding: the resource, its references, containers and environment variables.

var apiClauses = []Clause{
	{
		Name: "api-v1beta1", SpecRef: "Service Binding", Level: Must,
		Text:      "servicebinding.io/v1beta1 ServiceBinding is served, and one made through it is bound",
		Manifests: secretManifest + deploymentManifest + swap(bindingManifest, "servicebinding.io/v1", "servicebinding.io/v1beta1"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "api-v1", SpecRef: "1.1: API version v1", Level: Must,
		Text:      "servicebinding.io/v1 is served for both kinds, and a binding made through it is bound",
		Manifests: usual,
		Test: func(t *T) {
			if t.suite.version != "v1" {
				t.Fatalf("the API server serves %s only", t.suite.apiVersion())
			}
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "schema-binding", SpecRef: "Service Binding", Level: Must,
		Text: "the schema of ServiceBinding has the fields, types and required fields of the exemplar, in each version",
		Test: func(t *T) { testSchema(t, "servicebindings", bindingSchema) },
	},
	{
		Name: "binding-needs-workload", SpecRef: "Service Binding", Level: Must,
		Text:      "a binding without a workload is refused",
		Manifests: secretManifest,
		Test: func(t *T) {
			t.rejected("a binding without a workload", swap(bindingManifest,
				"  workload: {apiVersion: apps/v1, kind: Deployment, name: orders}\n", ""))
		},
	},
	{
		Name: "binding-needs-service", SpecRef: "Service Binding", Level: Must,
		Text:      "a binding without a service is refused",
		Manifests: deploymentManifest,
		Test: func(t *T) {
			t.rejected("a binding without a service", swap(bindingManifest,
				"  service: {apiVersion: v1, kind: Secret, name: db-secret}\n", ""))
		},
	},
}

var referenceClauses = []Clause{
	{
		Name: "workload-by-name", SpecRef: "Service Binding", Level: May,
		Text:      "the workload is referred to by name; another with the same labels is left alone",
		Manifests: usual + swap(deploymentManifest, "{name: orders,", "{name: payments,"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.unprojected(deployment.called("payments"))
		},
	},
	{
		Name: "workload-by-selector", SpecRef: "Service Binding", Level: May,
		Text: "the workload is referred to by labels",
		Manifests: secretManifest + deploymentManifest +
			swap(deploymentManifest, "{name: orders, labels: {app: orders, part-of: shop}}", "{name: payments}") +
			swap(bindingManifest, "name: orders}", "selector: {matchLabels: {app: orders}}}"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.unprojected(deployment.called("payments"))
		},
	},
	{
		Name: "workload-name-and-selector", SpecRef: "Service Binding", Level: MustNot,
		Text:      "a binding with both a name and a selector is refused, or Ready is False; nothing is projected",
		Manifests: secretManifest + deploymentManifest,
		Test: func(t *T) {
			t.refused(swap(bindingManifest, "name: orders}", "name: orders, selector: {matchLabels: {app: orders}}}"), deployment)
		},
	},
	{
		Name: "same-namespace", SpecRef: "Service Binding", Level: Stated,
		Text:      "service and workload are those of the binding's namespace, not those of the same name elsewhere",
		Manifests: usual,
		Test: func(t *T) {
			own, elsewhere := t.ns, t.namespace()
			t.ns = elsewhere
			t.Apply(secretManifest + deploymentManifest)
			t.ns = own
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.ns = elsewhere
			t.unprojected(deployment)
		},
	},
	{
		Name: "other-kinds", SpecRef: "Service Binding", Level: May,
		Text: "kinds that others define may be services and workloads",
		Manifests: secretManifest + databaseManifest + `
---
apiVersion: workloads.conformance.test/v1
kind: Runner
metadata: {name: r}
spec: {template: {spec: {containers: [{name: main}]}}}
` + swap(databaseBindingManifest, "apps/v1, kind: Deployment, name: orders", "workloads.conformance.test/v1, kind: Runner, name: r"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(invented("runners", "r", shapeAt("spec/template")), "main", "db")
		},
	},
}

var containerClauses = []Clause{
	{
		Name: "containers-all", SpecRef: "Service Binding", Level: Must,
		Text:      "without a list of containers all are bound, init containers too",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			for _, name := range []string{"migrate", "main", "sidecar"} {
				t.bound(deployment, name, "db")
			}
		},
	},
	{
		Name: "containers-are-strings", SpecRef: "Service Binding", Level: Must,
		Text: "a list of containers that holds anything but strings is refused",
		Test: func(t *T) {
			t.rejected("a text for a list", swap(bindingManifest, "name: orders}", "name: orders, containers: main}"))
			t.rejected("a list of objects", swap(bindingManifest, "name: orders}", "name: orders, containers: [{name: main}]}"))
			t.rejected("a list of numbers", swap(bindingManifest, "name: orders}", "name: orders, containers: [1]}"))
		},
	},
	{
		Name: "containers-listed", SpecRef: "Service Binding", Level: Must,
		Text: "a listed container is bound, an init container too; one that is not listed is not",
		Manifests: secretManifest + deploymentManifest +
			swap(bindingManifest, "name: orders}", "name: orders, containers: [migrate, main]}"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "migrate", "db")
			t.bound(deployment, "main", "db")
			t.unbound(deployment, "sidecar", "db")
		},
	},
	{
		Name: "containers-unknown", SpecRef: "Service Binding", Level: Should,
		Text: "a listed name that no container has is ignored",
		Manifests: secretManifest + deploymentManifest +
			swap(bindingManifest, "name: orders}", "name: orders, containers: [nobody, sidecar]}"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "sidecar", "db")
			t.unbound(deployment, "main", "db")
			t.unbound(deployment, "migrate", "db")
		},
	},
	{
		Name: "containers-changed", SpecRef: "Service Binding", Level: Stated,
		Text:      "when the list changes, so do the containers that are bound",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.merge(t.bindings(), "db", `{"spec":{"workload":{"containers":["sidecar"]}}}`)
			t.ready("db")
			t.unbound(deployment, "main", "db")
			t.bound(deployment, "sidecar", "db")
			t.merge(t.bindings(), "db", `{"spec":{"workload":{"containers":null}}}`)
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
}

var envClauses = []Clause{
	{
		Name: "env-configured", SpecRef: "Service Binding", Level: Must,
		Text: "each variable of .spec.env has the value of the Secret's entry, in every bound container",
		Manifests: secretManifest + deploymentManifest +
			with(bindingManifest, "env: [{name: DB_HOST, key: host}, {name: DB_USER, key: username}]"),
		Test: func(t *T) {
			t.ready("db")
			for _, name := range []string{"migrate", "main", "sidecar"} {
				t.variable(deployment, name, "DB_HOST", entries["host"])
				t.variable(deployment, name, "DB_USER", entries["username"])
			}
			t.variable(deployment, "main", "LOG", "debug")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "env-needs-name-and-key", SpecRef: "Service Binding", Level: Must,
		Text: "a variable without a name, or without a key, is refused",
		Test: func(t *T) {
			t.rejected("a variable without a key", with(bindingManifest, "env: [{name: DB_HOST}]"))
			t.rejected("a variable without a name", with(bindingManifest, "env: [{key: host}]"))
		},
	},
	{
		Name: "env-key-is-an-entry", SpecRef: "Service Binding", Level: Must,
		Text: "the key is that of an entry of the binding Secret, with dots and dashes as well",
		Manifests: swap(secretManifest, "  host:", "  a.b-c: dotted\n  host:") + deploymentManifest +
			with(bindingManifest, "env: [{name: DOTTED, key: a.b-c}]"),
		Test: func(t *T) {
			t.ready("db")
			t.variable(deployment, "main", "DOTTED", "dotted")
		},
	},
	{
		Name: "env-of-overridden-entries", SpecRef: "Reconciler Implementation", Level: Must,
		Text: "a variable of the entries type and provider has the binding's value where the binding gives one",
		Manifests: secretManifest + deploymentManifest + with(bindingManifest, "type: mysql", "provider: acme",
			"env: [{name: DB_TYPE, key: type}, {name: DB_PROVIDER, key: provider}]"),
		Test: func(t *T) {
			t.ready("db")
			t.variable(deployment, "main", "DB_TYPE", "mysql")
			t.variable(deployment, "main", "DB_PROVIDER", "acme")
		},
	},
	{
		Name: "env-only-where-bound", SpecRef: "Service Binding", Level: Stated,
		Text: "a container that is not listed gets no variable",
		Manifests: secretManifest + deploymentManifest + with(
			swap(bindingManifest, "name: orders}", "name: orders, containers: [main]}"), "env: [{name: DB_HOST, key: host}]"),
		Test: func(t *T) {
			t.ready("db")
			t.variable(deployment, "main", "DB_HOST", entries["host"])
			t.noVariable(deployment, "sidecar", "DB_HOST")
			t.noVariable(deployment, "migrate", "DB_HOST")
		},
	},
	{
		Name: "env-changed", SpecRef: "Service Binding", Level: Stated,
		Text:      "when .spec.env changes, so do the variables; those that are gone from it are removed",
		Manifests: secretManifest + deploymentManifest + with(bindingManifest, "env: [{name: DB_HOST, key: host}]"),
		Test: func(t *T) {
			t.ready("db")
			t.variable(deployment, "main", "DB_HOST", entries["host"])
			t.merge(t.bindings(), "db", `{"spec":{"env":[{"name":"DB_PORT","key":"port"}]}}`)
			t.ready("db")
			t.variable(deployment, "main", "DB_PORT", entries["port"])
			t.noVariable(deployment, "main", "DB_HOST")
			t.variable(deployment, "main", "LOG", "debug")
		},
	},
}
