package conformance

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a projection is from its beginning to its end, and beside others.

// ownedManifest has entries of its own that look much like a projection's: the same Secret, a root, a volume.
const ownedManifest = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders, labels: {app: orders}, annotations: {own: note}}
spec:
  replicas: 0
  selector: {matchLabels: {app: orders}}
  template:
    metadata: {labels: {app: orders}, annotations: {own: note}}
    spec:
      containers:
      - name: main
        image: none
        env:
        - {name: OWN_HOST, valueFrom: {secretKeyRef: {name: db-secret, key: host}}}
        - {name: SERVICE_BINDING_ROOT, value: /own}
        volumeMounts: [{name: own, mountPath: /etc/db}]
      - {name: sidecar, image: none}
      volumes:
      - {name: own, secret: {secretName: db-secret}}
`

var lifeClauses = []Clause{
	{
		Name: "unbind-removes", SpecRef: "Runtime Behavior", Level: Must,
		Text:      "when a binding is deleted, its files and variables are gone from every container",
		Manifests: secretManifest + deploymentManifest + with(bindingManifest, "env: [{name: DB_HOST, key: host}]"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.unbind("db")
			t.unprojected(deployment)
			for _, name := range []string{"migrate", "main", "sidecar"} {
				t.noVariable(deployment, name, "DB_HOST")
				t.unbound(deployment, name, "db")
			}
		},
	},
	{
		Name: "unbind-restores", SpecRef: "Runtime Behavior", Level: Must,
		Text:      "bound and unbound, a workload keeps what is its own, where it refers to the same Secret too",
		Manifests: secretManifest + ownedManifest,
		Test: func(t *T) {
			before := t.template(deployment)
			t.Apply(with(bindingManifest, "env: [{name: DB_HOST, key: host}]", "type: mysql"))
			t.ready("db")
			t.holds(deployment, "main", "/own/db", map[string]string{"type": "mysql"})
			t.holds(deployment, "main", "/etc/db", entries)
			t.variable(deployment, "main", "OWN_HOST", entries["host"])
			t.unbind("db")
			t.restored(deployment, before)
			t.sees(deployment, "main", "has its own root", rootIs("/own"))
		},
	},
	{
		Name: "unbind-keeps-edits", SpecRef: "Runtime Behavior", Level: Must,
		Text:      "what people change while a workload is bound stays when it is unbound, and the binding stays until then",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			before := t.template(deployment)
			t.merge(deployment.resource, "orders", `{"spec":{"minReadySeconds":7,"template":{"metadata":{"annotations":{"edit":"1"}}}}}`)
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.unbind("db")
			t.unprojected(deployment)
			after := t.template(deployment)
			if equal(before, after) {
				t.Fatalf("the edit was lost")
			}
			t.keeps(deployment, "spec/template/metadata/annotations/edit")
		},
	},
	{
		Name: "unbind-without-workload", SpecRef: "Runtime Behavior", Level: Stated,
		Text:      "a binding whose workload or service is gone can be deleted",
		Manifests: usual + swap(databaseBindingManifest, "{name: db}", "{name: serviceless}"),
		Test: func(t *T) {
			t.ready("db")
			t.unready("serviceless")
			t.remove(deployment.resource, "orders")
			t.unbind("db")
			t.unbind("serviceless")
		},
	},
	{
		Name: "unbind-after-service", SpecRef: "Runtime Behavior", Level: Must,
		Text:      "a projection is removed when the service and the Secret went away before the binding did",
		Manifests: secretManifest + databaseManifest + databaseBindingManifest + deploymentManifest,
		Test: func(t *T) {
			t.ready("db")
			t.remove(databases, "main")
			t.remove(secrets, "db-secret")
			t.unready("db")
			t.unbind("db")
			t.unbound(deployment, "main", "db")
		},
	},
	{
		Name: "binding-moves-to-another-workload", SpecRef: "Service Binding", Level: Stated,
		Text:      "when a binding is changed to name another workload, that one is bound and the former one unbound",
		Manifests: usual + secondDeployment,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.merge(t.bindings(), "db", `{"spec":{"workload":{"name":"payments"}}}`)
			t.ready("db")
			t.bound(deployment.called("payments"), "main", "db")
			t.unbound(deployment, "main", "db")
		},
	},
	{
		Name: "projection-heals", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      "a projection that someone removes from the workload is made again",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.merge(deployment.resource, "orders",
				`{"spec":{"template":{"spec":{"volumes":null,"containers":[{"name":"main","image":"none"}]}}}}`)
			t.bound(deployment, "main", "db")
			t.ready("db")
		},
	},
	{
		Name: "new-container-is-bound", SpecRef: "Service Binding", Level: Must,
		Text:      "a container that is added to a bound workload is bound too",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.patchJSON(deployment, `[{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"late","image":"none"}}]`)
			t.bound(deployment, "late", "db")
			t.bound(deployment, "main", "db")
		},
	},
}

var severalClauses = []Clause{
	{
		Name: "several-bindings-of-a-workload", SpecRef: "Service Binding", Level: Stated,
		Text: "several bindings may refer to one workload; each has its directory and variables, whatever the order",
		Manifests: usual + otherSecretManifest + with(swap(bindingManifest, "{name: db}", "{name: cache}",
			"db-secret", "other-secret"), "env: [{name: CACHE_HOST, key: host}]"),
		Test: func(t *T) {
			t.ready("db", "cache")
			t.bound(deployment, "main", "db")
			t.holds(deployment, "main", "/bindings/cache", map[string]string{"type": "redis"})
			t.variable(deployment, "main", "CACHE_HOST", "cache.example.com")
			t.sees(deployment, "main", "has one root", oneRoot)
			t.unbind("db")
			t.unbound(deployment, "main", "db")
			t.holds(deployment, "main", "/bindings/cache", map[string]string{"type": "redis"})
			t.variable(deployment, "main", "CACHE_HOST", "cache.example.com")
			t.sees(deployment, "main", "has one root", oneRoot)
			t.ready("cache")
			t.unbind("cache")
			t.unbound(deployment, "main", "cache")
			t.noVariable(deployment, "main", "CACHE_HOST")
		},
	},
	{
		Name: "several-bindings-of-a-service", SpecRef: "Service Binding", Level: Stated,
		Text: "several bindings may refer to one service, for one workload or for several",
		Manifests: usual + secondDeployment + swap(bindingManifest, "{name: db}", "{name: again}") +
			swap(bindingManifest, "{name: db}", "{name: elsewhere}", "name: orders", "name: payments"),
		Test: func(t *T) {
			t.ready("db", "again", "elsewhere")
			t.bound(deployment, "main", "db")
			t.bound(deployment, "main", "again")
			t.bound(deployment.called("payments"), "main", "elsewhere")
			t.unbind("again")
			t.unbound(deployment, "main", "again")
			t.bound(deployment, "main", "db")
			t.bound(deployment.called("payments"), "main", "elsewhere")
		},
	},
	{
		Name: "many-bindings-at-once", SpecRef: "Service Binding", Level: Stated,
		Text:      "ten bindings of one workload that are made together are all projected, and all removed",
		Manifests: secretManifest + deploymentManifest,
		Test:      testMany,
	},
	{
		Name: "name-collision", SpecRef: "1.1: binding name collisions", Level: Should,
		Text:      "of two bindings that want one directory of a workload, one is not Ready, and the other stays as it was",
		Manifests: secretManifest + otherSecretManifest + deploymentManifest + with(bindingManifest, "name: shared"),
		Test:      testCollision,
	},
}

func testMany(t *T) {
	const n = 10
	before := t.template(deployment)
	name := func(i int) string { return fmt.Sprintf("b%d", i) }
	for i := range n {
		t.Apply(swap(bindingManifest, "{name: db}", "{name: "+name(i)+"}"))
	}
	for i := range n {
		t.ready(name(i))
		t.bound(deployment, "main", name(i))
		t.bound(deployment, "migrate", name(i))
	}
	t.sees(deployment, "main", "has one root", oneRoot)
	if err := t.in(t.bindings(), t.ns).DeleteCollection(t.ctx, deleteNow, metav1.ListOptions{}); err != nil {
		t.Fatalf("deleting the bindings: %v", err)
	}
	for i := range n {
		t.gone(t.bindings(), name(i))
	}
	t.restored(deployment, before)
}

func testCollision(t *T) {
	t.ready("db")
	t.bound(deployment, "main", "shared")
	second := with(swap(bindingManifest, "{name: db}", "{name: cache}", "db-secret", "other-secret"), "name: shared")
	objects, err := parse(second)
	if err != nil || len(objects) != 1 {
		t.Fatalf("reading a binding: %v", err)
	}
	err = t.create(objects[0])
	if isRefusal(err) {
		return
	}
	if err != nil {
		t.Fatalf("creating a binding: %v", err)
	}
	t.Eventually("one of the two is Ready and the other is not", func() error {
		states := map[metav1.ConditionStatus]int{}
		for _, name := range []string{"db", "cache"} {
			if c := t.current(name); c != nil {
				states[c.Status]++
			}
		}
		if states[metav1.ConditionTrue] != 1 || states[metav1.ConditionFalse] != 1 {
			return errors.New("they are not")
		}
		return nil
	})
	t.ready("db")
	t.bound(deployment, "main", "shared")
}
