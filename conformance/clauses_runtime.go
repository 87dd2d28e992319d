package conformance

// Section Workload Resource Mapping, Runtime Behavior.

var runtimeClauses = []Clause{
	{
		Name: "mapping-is-used", SpecRef: "Runtime Behavior", Level: Must,
		Text: "a mapping of the workload's resource is used, and the places of a PodSpec-able resource are left alone",
		Manifests: swap(mapped("Kiln"), "  steps:\n", `  template: {spec: {containers: [{name: main}]}}
  steps:
`),
		Test: func(t *T) {
			t.formBound("Kiln", "first", "second")
			t.unprojected(plain("Kiln"))
			t.sees(plain("Kiln"), "main", "has no root", noRoot)
		},
	},
	{
		Name: "mapping-none", SpecRef: "Runtime Behavior", Level: Must,
		Text:      "a kind without a mapping is treated as PodSpec-able",
		Manifests: of("Robot", secretManifest+plainManifest+mappedBinding),
		Test: func(t *T) {
			t.ready("db")
			for _, name := range []string{"migrate", "main", "sidecar"} {
				t.holds(plain("Robot"), name, "/bindings/db", mappedEntries)
				t.variable(plain("Robot"), name, "DB_HOST", entries["host"])
			}
		},
	},
	{
		Name: "mapping-of-the-projection-is-used-to-remove", SpecRef: "Runtime Behavior", Level: Must,
		Text:      "a projection is removed with the mapping that made it, when that is deleted before the binding",
		Manifests: of("Loom", secretManifest+mappingManifest+mappedManifest),
		Test: func(t *T) {
			before := t.template(formed("Loom"))
			t.Apply(of("Loom", mappedBinding))
			t.formBound("Loom", "first", "second")
			err := t.Client().Resource(t.mappings()).Delete(t.ctx, "looms.workloads.conformance.test", deleteNow)
			if err != nil {
				t.Fatalf("deleting the mapping: %v", err)
			}
			t.unbind("db")
			t.restored(formed("Loom"), before)
		},
	},
	{
		Name: "mapping-changed", SpecRef: "Runtime Behavior", Level: Must,
		Text:      "when a mapping changes, what it projected is removed with the old one and projected with the new one",
		Manifests: mapped("Stamp"),
		Test: func(t *T) {
			t.formBound("Stamp", "first", "second")
			t.remap("stamps.workloads.conformance.test", movedMapping("Stamp"))
			t.moved("Stamp", "db")
			t.ready("db")
		},
	},
	{
		Name: "mapping-changed-all-bindings", SpecRef: "1.1: mapping changes", Level: Must,
		Text: "when a mapping changes, every binding of the kind is projected again: by name, by selector, several on one workload",
		Manifests: mapped("Mill") + swap(of("Mill", mappedBinding), "{name: db}", "{name: db2}", "DB_HOST", "DB2_HOST") +
			swap(of("Mill", mappedManifest), "{name: w}", "{name: w2, labels: {part-of: shop}}") +
			swap(of("Mill", mappedBinding), "{name: db}", "{name: all}", "name: w}", "selector: {matchLabels: {part-of: shop}}}"),
		Test: func(t *T) {
			t.ready("db", "db2", "all")
			t.formBound("Mill", "first", "second")
			t.remap("mills.workloads.conformance.test", movedMapping("Mill"))
			t.moved("Mill", "db")
			t.moved("Mill", "db2")
			w := movedTarget("Mill").called("w2")
			t.holds(w, "first", "/bindings/all", mappedEntries)
			t.unbound(formed("Mill").called("w2"), "first", "all")
			t.ready("db", "db2", "all")
		},
	},
	{
		Name: "mapping-comes-later", SpecRef: "Runtime Behavior", Level: Must,
		Text: "a mapping that is made when there are bindings takes effect for them",
		Manifests: of("Forge", secretManifest+swap(mappedManifest, "  steps:\n",
			"  template: {spec: {containers: [{name: main}]}}\n  steps:\n")+mappedBinding),
		Test: func(t *T) {
			t.ready("db")
			t.holds(plain("Forge"), "main", "/bindings/db", mappedEntries)
			t.Apply(of("Forge", mappingManifest))
			t.formBound("Forge", "first", "second")
			t.unbound(plain("Forge"), "main", "db")
			t.noVariable(plain("Forge"), "main", "DB_HOST")
		},
	},
	{
		Name: "mapping-deleted", SpecRef: "Runtime Behavior", Level: Must,
		Text: "when a mapping is deleted, the kind is PodSpec-able again, for the bindings that exist",
		Manifests: swap(mapped("Anvil"), "  steps:\n",
			"  template: {spec: {containers: [{name: main}]}}\n  steps:\n"),
		Test: func(t *T) {
			t.formBound("Anvil", "first", "second")
			err := t.Client().Resource(t.mappings()).Delete(t.ctx, "anvils.workloads.conformance.test", deleteNow)
			if err != nil {
				t.Fatalf("deleting the mapping: %v", err)
			}
			t.holds(plain("Anvil"), "main", "/bindings/db", mappedEntries)
			t.unbound(formed("Anvil"), "first", "db")
		},
	},
	{
		Name: "mapping-name-limits-containers", SpecRef: "Runtime Behavior", Level: Must,
		Text:      "where the mapping has a name expression, the listed containers are found by it",
		Manifests: swap(mapped("Lathe"), "name: w}", "name: w, containers: [second]}"),
		Test: func(t *T) {
			t.formBound("Lathe", "second")
			t.unbound(formed("Lathe"), "first", "db")
			t.noVariable(formed("Lathe"), "first", "DB_HOST")
		},
	},
	{
		Name: "mapping-without-name-binds-all", SpecRef: "Runtime Behavior", Level: Should,
		Text: "where the mapping has no name expression, the list of containers does not limit",
		Manifests: swap(mapped("Plough"), " name: .title,", "",
			"name: w}", "name: w, containers: [second]}"),
		Test: func(t *T) { t.formBound("Plough", "first", "second") },
	},
	{
		Name: "mapping-creates-what-is-missing", SpecRef: "Runtime Behavior", Level: Must,
		Text: "values that Fixed JSONPaths lead to are made where they are missing or null, with all that is above them",
		Manifests: swap(mapped("Hollow"), ".spec.disks", ".spec.deep.down.disks", ".spec.podMeta", ".spec.deep.meta",
			"  steps:\n", "  deep: null\n  steps:\n  - {title: nulls, config: {variables: null, mounts: null}}\n"),
		Test: func(t *T) {
			w := formed("Hollow")
			w.shape.volumes, w.shape.annotations = "spec/deep/down/disks", "spec/deep/meta"
			t.ready("db")
			for _, name := range []string{"nulls", "first", "second"} {
				t.holds(w, name, "/bindings/db", mappedEntries)
				t.variable(w, name, "DB_HOST", entries["host"])
			}
		},
	},
	{
		Name: "mapping-as-pod-template", SpecRef: "Runtime Behavior", Level: Must,
		Text: "what is mapped is changed as a pod template is: own variables, mounts, volumes and roots count and are kept",
		Manifests: swap(mapped("Wagon"), "  steps:\n", "  disks: [{name: own, emptyDir: {}}]\n  podMeta: {own: note}\n  steps:\n",
			"{name: LOG, value: debug}", "{name: SERVICE_BINDING_ROOT, value: /custom}",
			"keep: true", "keep: true, mounts: [{name: own, mountPath: /own}]"),
		Test: func(t *T) {
			t.ready("db")
			w := formed("Wagon")
			t.holds(w, "first", "/custom/db", mappedEntries)
			t.sees(w, "first", "has its own root", rootIs("/custom"))
			t.sees(w, "first", "has its own mount", func(c container) error { return mountedAt(c, "/own") })
			t.holds(w, "second", "/bindings/db", mappedEntries)
			t.keeps(w, "spec/podMeta/own")
			t.keeps(w, "spec/disks/*/emptyDir")
		},
	},
	{
		Name: "mapping-preserves-the-rest", SpecRef: "Runtime Behavior", Level: Must,
		Text: "fields of the workload outside of what is mapped stay as they are, bound and unbound",
		Manifests: of("Cart", secretManifest+mappingManifest+swap(mappedManifest, "  steps:\n", `  number: 9007199254740993
  text: "a: b"
  nested: {"key.with/dots": [1, two, {three: [null, false, 2.5]}]}
  steps:
`)),
		Test: func(t *T) {
			before := t.template(formed("Cart"))
			t.Apply(of("Cart", mappedBinding))
			t.formBound("Cart", "first", "second")
			now := t.template(formed("Cart"))
			for _, key := range []string{"number", "text", "nested", "title"} {
				if !equal(before[key], now[key]) {
					t.Fatalf("%s was changed from %v to %v", key, before[key], now[key])
				}
			}
			t.unbind("db")
			t.restored(formed("Cart"), before)
		},
	},
}

// movedMapping maps a kind onto other places than mappingManifest.
func movedMapping(kind string) string {
	return of(kind, swap(mappingManifest, ".spec.disks", ".spec.newDisks", ".config.variables", ".newConfig.variables",
		".config.mounts", ".newConfig.mounts", ".spec.podMeta", ".spec.newMeta"))
}

func movedTarget(kind string) target {
	w := formed(kind)
	w.shape.annotations, w.shape.volumes = "spec/newMeta", "spec/newDisks"
	w.shape.env, w.shape.mounts = "newConfig/variables", "newConfig/mounts"
	return w
}

// moved waits until a binding is in the new places and not in the old ones.
func (t *T) moved(kind, binding string) {
	for _, name := range []string{"first", "second"} {
		t.holds(movedTarget(kind), name, "/bindings/"+binding, mappedEntries)
		t.unbound(formed(kind), name, binding)
		t.noVariable(formed(kind), name, "DB_HOST")
	}
	w := t.must(formed(kind).resource, "w").Object
	if left := prune(find(w, "spec/disks")); left != nil {
		t.Fatalf("volumes were left at the old place: %v", left)
	}
	t.variable(formed(kind), "first", "LOG", "debug")
}
