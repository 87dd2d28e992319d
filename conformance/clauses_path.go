package conformance

import "strconv"

// Section Workload Resource Mapping: what may be left out of a template, and which paths are allowed.

// plainManifest is a PodSpec-able workload of an invented kind.
const plainManifest = `
---
apiVersion: workloads.conformance.test/v1
kind: KIND
metadata: {name: w}
spec:
  template:
    spec:
      initContainers: [{name: migrate}]
      containers: [{name: main}, {name: sidecar}]
`

const emptyMapping = `
---
apiVersion: servicebinding.io/v1
kind: ClusterWorkloadResourceMapping
metadata: {name: KINDs.workloads.conformance.test}
spec: {}
`

// leastMapping leaves out all that may be left out.
const leastMapping = `
---
apiVersion: servicebinding.io/v1
kind: ClusterWorkloadResourceMapping
metadata: {name: KINDs.workloads.conformance.test}
spec: {versions: [{version: "*"}]}
`

func plain(kind string) target { return invented(lower(kind)+"s", "w", shapeAt("spec/template")) }

var defaultClauses = []Clause{
	{
		Name: "mapping-default-annotations", SpecRef: "Workload Resource Mapping", Level: Must,
		Text:      "without annotations the path is .spec.template.metadata.annotations",
		Manifests: of("Bare", secretManifest+leastMapping+plainManifest+mappedBinding),
		Test: func(t *T) {
			t.ready("db")
			t.holds(plain("Bare"), "main", "/bindings/db", map[string]string{"type": "mysql"})
		},
	},
	{
		Name: "mapping-default-containers", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "without containers they are those and the init containers of .spec.template.spec, with their names",
		Manifests: of("Bulk", secretManifest+leastMapping+plainManifest+
			swap(mappedBinding, "name: w}", "name: w, containers: [migrate, main]}")),
		Test: func(t *T) {
			t.ready("db")
			t.holds(plain("Bulk"), "migrate", "/bindings/db", mappedEntries)
			t.holds(plain("Bulk"), "main", "/bindings/db", mappedEntries)
			t.unbound(plain("Bulk"), "sidecar", "db")
		},
	},
	{
		Name: "mapping-default-volumes", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "without volumes the path is .spec.template.spec.volumes",
		Manifests: of("Bottle", secretManifest+swap(mappingManifest, "    volumes: .spec.disks\n", "")+
			mappedManifest+mappedBinding),
		Test: func(t *T) {
			t.ready("db")
			w := formed("Bottle")
			w.shape.volumes = "spec/template/spec/volumes"
			t.holds(w, "first", "/bindings/db", mappedEntries)
		},
	},
	{
		Name: "mapping-default-env", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "without env the path in a container is .env",
		Manifests: of("Brook", secretManifest+swap(mappingManifest, " env: .config.variables,", "")+
			mappedManifest+mappedBinding),
		Test: func(t *T) {
			t.ready("db")
			w := formed("Brook")
			w.shape.env = "env"
			t.variable(w, "first", "DB_HOST", entries["host"])
			t.holds(w, "first", "/bindings/db", mappedEntries)
		},
	},
	{
		Name: "mapping-default-mounts", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "without volumeMounts the path in a container is .volumeMounts",
		Manifests: of("Bench", secretManifest+swap(mappingManifest, ", volumeMounts: .config.mounts", "")+
			mappedManifest+mappedBinding),
		Test: func(t *T) {
			t.ready("db")
			w := formed("Bench")
			w.shape.mounts = "volumeMounts"
			t.holds(w, "first", "/bindings/db", mappedEntries)
		},
	},
	{
		Name: "mapping-empty", SpecRef: "Workload Resource Mapping", Level: Stated,
		Text:      "an empty mapping means the same as none: the workload is PodSpec-able",
		Manifests: of("Blank", secretManifest+emptyMapping+plainManifest+mappedBinding),
		Test: func(t *T) {
			t.ready("db")
			t.holds(plain("Blank"), "main", "/bindings/db", mappedEntries)
			t.holds(plain("Blank"), "migrate", "/bindings/db", mappedEntries)
		},
	},
}

var pathClauses = []Clause{
	{
		Name: "path-full-jsonpath", SpecRef: "Fixed JSONPath", Level: May,
		Text: "the path of containers may use filters, unions and recursion",
		Manifests: swap(mapped("Filter"), "path: \".spec.steps[*]\"", "path: \".spec.steps[?(@.kind=='app')]\"",
			"{title: first,", "{title: first, kind: app,"),
		Test: testFullPath,
	},
	{
		Name: "path-fixed-forms", SpecRef: "Fixed JSONPath", Level: Must,
		Text: "a Fixed JSONPath may name fields with dots and in quoted brackets, keys with dots in them too",
		Manifests: swap(mapped("Quoted"), ".spec.podMeta", "\".spec['pod.example.com/meta']\"",
			".spec.disks", "\".spec['template'].spec['volumes']\"", "name: .title", "name: \"['title']\"",
			"env: .config.variables", "env: \".config['app.variables']\""),
		Test: func(t *T) {
			t.ready("db")
			w := formed("Quoted")
			w.shape.annotations, w.shape.volumes = "spec/pod.example.com~meta", "spec/template/spec/volumes"
			w.shape.env = "config/app.variables"
			t.holds(w, "first", "/bindings/db", mappedEntries)
			t.variable(w, "first", "DB_HOST", entries["host"])
			t.holds(w, "second", "/bindings/db", mappedEntries)
		},
	},
	{
		Name: "path-fixed-only", SpecRef: "Fixed JSONPath", Level: MustNot,
		Text:      "a Fixed JSONPath with any other operator is not used: the mapping is refused, or Ready is False",
		Manifests: of("Loose", secretManifest+mappedManifest),
		Test:      testFixedOnly,
	},
	{
		Name: "path-through-text", SpecRef: "Ready Condition Status", Level: Must,
		Text: "a path that leads through a text cannot be followed: Ready is False and says why, and the workload stays as it is",
		Manifests: of("Textual", secretManifest+swap(mappingManifest, ".spec.disks", ".spec.title.disks")+
			mappedManifest),
		Test: func(t *T) { testThrough(t, "Textual") },
	},
	{
		Name: "path-through-number", SpecRef: "Ready Condition Status", Level: Must,
		Text: "a path that leads through a number cannot be followed: Ready is False and says why, and the workload stays as it is",
		Manifests: of("Numeral", secretManifest+swap(mappingManifest, ".spec.disks", ".spec.size.disks")+
			swap(mappedManifest, "  title: a workload\n", "  size: 3\n")),
		Test: func(t *T) { testThrough(t, "Numeral") },
	},
	{
		Name: "path-deep", SpecRef: "Workload Resource Mapping", Level: Must,
		Text: "each match of a path is bound through nested lists and maps, quoted keys with dots and filters; parents that are " +
			"missing or null lead nowhere and are left as they are",
		Manifests: of("Crewmate", secretManifest+crewsMapping+crewsManifest),
		Test:      testDeepPath,
	},
}

// crewsManifest is a workload whose containers are deep in lists and maps, beside places that lack what is on the way.
const crewsManifest = `
---
apiVersion: workloads.conformance.test/v1
kind: KIND
metadata: {name: w}
spec:
  crews.example.com/all:
  - members: null
  - {}
  - null
  - members:
      deck: [{title: a, role.name: app}, {title: b, role.name: tool}, {title: c}, null]
      engine: null
      galley: []
  - members: {deck: [{title: d, role.name: app, config: null}]}
`

// crewsMapping takes those whose role is app. All is quoted: the keys have dots in them.
const crewsMapping = `
---
apiVersion: servicebinding.io/v1
kind: ClusterWorkloadResourceMapping
metadata: {name: KINDs.workloads.conformance.test}
spec:
  versions:
  - version: "*"
    annotations: .spec['pod.meta']
    volumes: .spec['disks.all']
    containers:
    - path: ".spec['crews.example.com/all'][*].members.*[?(@['role.name']=='app')]"
      name: .title
      env: .config['variables.all']
      volumeMounts: .config['mounts.all']
`

func testDeepPath(t *T) {
	w := invented("crewmates", "w", shape{
		annotations: "spec/pod.meta", volumes: "spec/disks.all", containers: []string{"spec/crews.example.com~all/*/members/*/*"},
		name: "title", env: "config/variables.all", mounts: "config/mounts.all",
	})
	before := t.template(w)
	t.Apply(of("Crewmate", mappedBinding))
	t.ready("db")
	for _, name := range []string{"a", "d"} {
		t.holds(w, name, "/bindings/db", mappedEntries)
		t.variable(w, name, "DB_HOST", entries["host"])
	}
	for _, name := range []string{"b", "c"} {
		t.unbound(w, name, "db")
	}
	t.unbind("db")
	t.restored(w, before)
}

// testThrough maps volumes through something that has no fields, and sees that nothing comes of it but a condition that
// says so.
func testThrough(t *T, kind string) {
	w := formed(kind)
	before := t.template(w)
	t.Apply(of(kind, mappedBinding))
	if ready := t.unready("db"); ready.Message == "" {
		t.Fatalf("Ready has no message")
	}
	t.restored(w, before)
}

func testFullPath(t *T) {
	w := formed("Filter")
	t.ready("db")
	t.holds(w, "first", "/bindings/db", mappedEntries)
	t.unbound(w, "second", "db")
	remap := func(path string) {
		t.remap("filters.workloads.conformance.test", of("Filter", swap(mappingManifest, ".spec.steps[*]", path)))
	}
	remap(".spec.steps[0,1]")
	t.holds(w, "second", "/bindings/db", mappedEntries)
	t.holds(w, "first", "/bindings/db", mappedEntries)
	remap(".spec.steps[1:]")
	t.unbound(w, "first", "db")
	t.holds(w, "second", "/bindings/db", mappedEntries)
	remap(".spec..steps[0]")
	t.holds(w, "first", "/bindings/db", mappedEntries)
	t.unbound(w, "second", "db")
	t.ready("db")
}

// testFixedOnly tries each operator that a Fixed JSONPath must not have, in each place of one.
func testFixedOnly(t *T) {
	w := formed("Loose")
	before := t.template(w)
	for i, path := range []string{
		".spec.disks[*]", ".spec.*", ".spec..disks", ".spec.lists[0]", ".spec.lists[0:1]", ".spec['a','b']",
		".spec.lists[?(@.name=='x')]",
	} {
		for place, old := range map[string]string{
			"annotations": ".spec.podMeta", "volumes": ".spec.disks", "name": ".title",
			"env": ".config.variables", "mounts": ".config.mounts",
		} {
			name := "db-" + strconv.Itoa(i) + "-" + place
			t.refusedMapping(swap(of("Loose", mappingManifest), old, "\""+path+"\""),
				swap(of("Loose", mappedBinding), "{name: db}", "{name: "+name+"}"), name)
		}
	}
	t.restored(w, before)
}

// refusedMapping sees that a mapping is not accepted, or that a binding says that it cannot be followed.
func (t *T) refusedMapping(mapping, binding, name string) {
	objects, err := parse(mapping)
	if err != nil || len(objects) != 1 {
		t.Fatalf("reading a mapping: %v", err)
	}
	err = t.create(objects[0])
	if isRefusal(err) {
		return
	}
	if err != nil {
		t.Fatalf("creating a mapping: %v", err)
	}
	t.Apply(binding)
	t.unready(name)
	t.unbind(name)
	err = t.of(objects[0]).Delete(t.ctx, objects[0].GetName(), deleteNow)
	if err != nil {
		t.Fatalf("deleting a mapping: %v", err)
	}
}
