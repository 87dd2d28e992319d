package conformance

// Sections Provisioned Service and Workload Projection.

var serviceClauses = []Clause{
	{
		Name: "service-duck-type", SpecRef: "Provisioned Service", Level: Must,
		Text:      "any resource with .status.binding.name is a service, and the Secret of that name is projected",
		Manifests: secretManifest + databaseManifest + deploymentManifest + databaseBindingManifest,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "service-without-status-subresource", SpecRef: "Provisioned Service", Level: Must,
		Text: "the duck type asks for the field alone: a kind without a status subresource is a service too",
		Manifests: secretManifest + deploymentManifest + swap(databaseManifest, "Database", "Queue") +
			swap(databaseBindingManifest, "Database", "Queue"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "service-without-binding", SpecRef: "Provisioned Service", Level: Must,
		Text: "a resource that names no Secret is no service until it does",
		Manifests: secretManifest + deploymentManifest + swap(databaseManifest, "status: {binding: {name: db-secret}}", "") +
			databaseBindingManifest,
		Test: func(t *T) {
			t.unready("db")
			t.unprojected(deployment)
			t.merge(databases, "main", `{"status":{"binding":{"name":"db-secret"}}}`, "status")
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "service-secret-in-same-namespace", SpecRef: "Provisioned Service", Level: Must,
		Text:      "the Secret has to be in the namespace of the service: one of that name elsewhere is not taken",
		Manifests: databaseManifest + deploymentManifest,
		Test: func(t *T) {
			elsewhere := t.namespace()
			t.Apply(swap(secretManifest, "{name: db-secret}", "{name: db-secret, namespace: "+elsewhere+"}"))
			t.Apply(databaseBindingManifest)
			t.unready("db")
			t.Apply(secretManifest)
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "service-without-type-entry", SpecRef: "Provisioned Service", Level: Stated,
		Text:      "a Secret without the entry type can be bound when the binding gives the type",
		Manifests: swap(usual, "  type: postgresql\n  provider", "  provider") + "  type: mysql\n",
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"type": "mysql", "host": entries["host"]})
		},
	},
	{
		Name: "service-of-any-secret-type", SpecRef: "Provisioned Service", Level: Should,
		Text:      "a Secret whose own type does not follow the convention can be bound",
		Manifests: swap(usual, "type: servicebinding.io/postgresql", "type: Opaque"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
}

var projectionClauses = []Clause{
	{
		Name: "projection-directory", SpecRef: "Workload Projection", Level: Must,
		Text:      "a volume is mounted at $SERVICE_BINDING_ROOT/<binding name>",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.sees(deployment, "main", "has a mount of the binding", func(c container) error {
				return mountedAt(c, c.root+"/db")
			})
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "projection-name-allowed", SpecRef: "Workload Projection", Level: Must,
		Text:      "the characters a-z, 0-9, - and . may be used in the name of a binding",
		Manifests: secretManifest + deploymentManifest + with(bindingManifest, "name: 0-my.db-1"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "0-my.db-1")
		},
	},
	{
		Name: "projection-name-refused", SpecRef: "Workload Projection", Level: Must,
		Text:      "a binding name outside of [a-z0-9\\-\\.]{1,253} is not projected: it is refused, or Ready is False",
		Manifests: secretManifest + deploymentManifest,
		Test:      testNameRefused,
	},
	{
		Name: "projection-root-declared", SpecRef: "Workload Projection", Level: Must,
		Text:      "SERVICE_BINDING_ROOT is set in every container with a projection, once, to an absolute path",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			for _, name := range []string{"migrate", "main", "sidecar"} {
				t.sees(deployment, name, "has one root", oneRoot)
			}
		},
	},
	{
		Name: "projection-has-type", SpecRef: "Workload Projection", Level: Must,
		Text:      "the projection has the entry type",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"type": entries["type"]})
		},
	},
	{
		Name: "projection-has-provider", SpecRef: "Workload Projection", Level: Recommended,
		Text:      "the projection has the entry provider where the Secret has it",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"provider": entries["provider"]})
		},
	},
	{
		Name: "projection-has-every-entry", SpecRef: "Workload Projection", Level: May,
		Text: "entries that the specification does not know are projected too, bytes included",
		Manifests: swap(secretManifest, "stringData:", "data: {keystore.p12: AAH/gA==, empty: \"\"}\nstringData:") +
			deploymentManifest + bindingManifest,
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"keystore.p12": "\x00\x01\xff\x80", "empty": ""})
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "projection-entry-names", SpecRef: "Workload Projection", Level: Should,
		Text: "an entry keeps its name as that of its file",
		Manifests: swap(secretManifest, "  host:", "  a.b-c.0: x\n  private-key: key\n  host:") +
			deploymentManifest + bindingManifest,
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"a.b-c.0": "x", "private-key": "key"})
		},
	},
	{
		Name: "projection-follows-secret", SpecRef: "Workload Projection", Level: May,
		Text:      "files may change while the workload exists: what is added to the Secret is projected",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.merge(secrets, "db-secret", `{"stringData":{"added":"later"}}`)
			t.holds(deployment, "main", "/bindings/db", map[string]string{"added": "later"})
		},
	},
}

func testNameRefused(t *T) {
	names := map[string]string{
		"upper": "Database", "slash": "a/b", "underscore": "my_db", "space": "a b", "parent": "../etc",
		"long": longName(254), "umlaut": "\u00fc",
	}
	for as, name := range names {
		t.refused(with(swap(bindingManifest, "{name: db}", "{name: "+as+"}"), "name: \""+name+"\""), deployment)
	}
}
