package conformance

// Section Workload Resource Mapping: the resource, its templates and its paths.

// form is the shape that the mappings of most clauses describe.
var form = shape{
	annotations: "spec/podMeta", volumes: "spec/disks", containers: []string{"spec/steps/*"},
	name: "title", env: "config/variables", mounts: "config/mounts",
}

// mappingManifest maps a kind onto form.
const mappingManifest = `
---
apiVersion: servicebinding.io/v1
kind: ClusterWorkloadResourceMapping
metadata: {name: KINDs.workloads.conformance.test}
spec:
  versions:
  - version: "*"
    annotations: .spec.podMeta
    volumes: .spec.disks
    containers: [{path: ".spec.steps[*]", name: .title, env: .config.variables, volumeMounts: .config.mounts}]
`

const mappedManifest = `
---
apiVersion: workloads.conformance.test/v1
kind: KIND
metadata: {name: w}
spec:
  title: a workload
  steps:
  - {title: first, config: {variables: [{name: LOG, value: debug}], keep: true}}
  - {title: second}
`

const mappedBinding = `
---
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: db}
spec:
  type: mysql
  env: [{name: DB_HOST, key: host}]
  service: {apiVersion: v1, kind: Secret, name: db-secret}
  workload: {apiVersion: workloads.conformance.test/v1, kind: KIND, name: w}
`

// of fills in the kind of a manifest. Each clause that maps has a kind of its own, since a mapping is the cluster's.
func of(kind, manifest string) string {
	return swap(manifest, "KINDs", lower(kind)+"s", "KIND", kind)
}

// mapped is the Secret, a workload of a kind, its mapping and the binding of the two.
func mapped(kind string) string {
	return of(kind, secretManifest+mappingManifest+mappedManifest+mappedBinding)
}

// mappedEntries are the entries as a mapped binding projects them.
var mappedEntries = map[string]string{
	"type": "mysql", "provider": entries["provider"], "host": entries["host"], "password": entries["password"],
}

// formed is the workload of a mapped kind.
func formed(kind string) target { return invented(lower(kind)+"s", "w", form) }

var mappingClauses = []Clause{
	{
		Name: "mapping-api-v1beta1", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "a cluster-scoped servicebinding.io/v1beta1 ClusterWorkloadResourceMapping is served and used",
		Manifests: of("Elder", secretManifest+swap(mappingManifest, "servicebinding.io/v1", "servicebinding.io/v1beta1")+
			mappedManifest+mappedBinding),
		Test: func(t *T) { t.formBound("Elder", "first", "second") },
	},
	{
		Name: "schema-mapping", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "the schema of ClusterWorkloadResourceMapping has the fields, types and required fields of the exemplar",
		Test: func(t *T) { testSchema(t, "clusterworkloadresourcemappings", mappingSchema) },
	},
	{
		Name: "mapping-by-name", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "a mapping belongs to the resource that its name names, and to no other",
		Manifests: mapped("Named") + of("Other", mappedManifest) +
			swap(of("Other", mappedBinding), "{name: db}", "{name: other}"),
		Test: func(t *T) {
			t.formBound("Named", "first", "second")
			t.unprojected(formed("Other"))
		},
	},
	{
		Name: "mapping-needs-version", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "a template without a version is refused",
		Test: func(t *T) {
			t.rejected("a template without a version", swap(of("Unversioned", mappingManifest),
				"version: \"*\"\n    annotations", "annotations"))
		},
	},
	{
		Name: "mapping-wildcard", SpecRef: "Workload Resource Mapping", Level: May,
		Text:      "the template of version * is used for a version without a template of its own",
		Manifests: mapped("Wild"),
		Test:      func(t *T) { t.formBound("Wild", "first", "second") },
	},
	{
		Name: "mapping-explicit-version", SpecRef: "Workload Resource Mapping", Level: May,
		Text:      "a template of the workload's version is used before that of *",
		Manifests: swap(mapped("Versioned"), "  - version: \"*\"\n", versionedTemplate),
		Test: func(t *T) {
			t.formBound("Versioned", "first", "second")
			t.Apply(swap(of("Versioned", mappedManifest+mappedBinding), "test/v1", "test/v2",
				"{name: w}", "{name: w2}", "name: w}", "name: w2}", "{name: db}", "{name: db2}"))
			t.ready("db2")
			w := formed("Versioned").called("w2")
			w.shape.volumes = "spec/newDisks"
			t.holds(w, "first", "/bindings/db2", mappedEntries)
		},
	},
	{
		Name: "mapping-annotations", SpecRef: "Workload Resource Mapping", Level: May,
		Text:      "annotations that a projection needs are those at the mapped path: the overridden type resolves there",
		Manifests: mapped("Annotated"),
		Test: func(t *T) {
			t.ready("db")
			t.holds(formed("Annotated"), "first", "/bindings/db", map[string]string{"type": "mysql"})
		},
	},
	{
		Name: "mapping-containers", SpecRef: "Workload Resource Mapping", Level: May,
		Text: "several container paths may be mapped, each with paths of its own",
		Manifests: swap(mapped("Crew"), "    containers: [", "    containers: [{path: .spec.guard, env: .vars},",
			"  title: a workload", "  title: a workload\n  guard: {name: g}"),
		Test: func(t *T) {
			t.formBound("Crew", "first", "second")
			w := formed("Crew")
			w.shape.containers, w.shape.env, w.shape.mounts, w.shape.name = []string{"spec/guard"}, "vars", "volumeMounts", "name"
			t.holds(w, "g", "/bindings/db", mappedEntries)
			t.variable(w, "g", "DB_HOST", entries["host"])
		},
	},
	{
		Name: "mapping-volumes", SpecRef: "Workload Resource Mapping", Level: May,
		Text:      "volumes are put at the mapped path, beside those that are there",
		Manifests: swap(mapped("Stored"), "  steps:\n", "  disks: [{name: own, emptyDir: {}}]\n  steps:\n"),
		Test: func(t *T) {
			t.formBound("Stored", "first", "second")
			t.keeps(formed("Stored"), "spec/disks/*/emptyDir")
		},
	},
	{
		Name: "mapping-container-needs-path", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "a container mapping without a path is refused",
		Test: func(t *T) {
			t.rejected("a container mapping without a path", swap(of("Pathless", mappingManifest), "path: \".spec.steps[*]\", ", ""))
		},
	},
	{
		Name: "mapping-each-match", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "the expressions are applied to each object that a path matches, through nested lists and maps",
		Manifests: swap(mapped("Nested"), ".spec.steps[*]", ".spec.crews[*].members.*", "  steps:\n", `  crews:
  - members: {a: {title: a}, b: {title: b}}
  - members: {c: {title: c}}
  - members: {}
  steps:
`),
		Test: func(t *T) {
			w := formed("Nested")
			w.shape.containers = []string{"spec/crews/*/members/*"}
			t.ready("db")
			for _, name := range []string{"a", "b", "c"} {
				t.holds(w, name, "/bindings/db", mappedEntries)
				t.variable(w, name, "DB_HOST", entries["host"])
			}
			t.unprojected(formed("Nested"))
		},
	},
	{
		Name: "mapping-no-match", SpecRef: "Workload Resource Mapping", Level: Stated,
		Text:      "a path that matches nothing in a workload disturbs none of the others",
		Manifests: swap(mapped("Sparse"), "    containers: [", "    containers: [{path: \".spec.absent[*]\"},"),
		Test:      func(t *T) { t.formBound("Sparse", "first", "second") },
	},
}

// versionedTemplate puts a template of version v2 before that of all versions.
const versionedTemplate = `  - version: v2
    annotations: .spec.podMeta
    volumes: .spec.newDisks
    containers: [{path: ".spec.steps[*]", name: .title, env: .config.variables, volumeMounts: .config.mounts}]
  - version: "*"
`

// formBound waits until the containers of a mapped workload have the entries and the variable.
func (t *T) formBound(kind string, names ...string) {
	t.ready("db")
	for _, name := range names {
		t.holds(formed(kind), name, "/bindings/db", mappedEntries)
		t.variable(formed(kind), name, "DB_HOST", entries["host"])
		t.sees(formed(kind), name, "has one root", oneRoot)
	}
}

// keeps sees that something is still at a path of a workload.
func (t *T) keeps(w target, at string) {
	if len(find(t.must(w.resource, w.name).Object, at)) == 0 {
		t.Fatalf("%s lost what was at %s", w, at)
	}
}
