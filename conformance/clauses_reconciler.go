package conformance

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Sections Reconciler Implementation and Direct Secret Reference.

// rooted gives the container main a root of its own.
var rooted = swap(deploymentManifest, "{name: LOG, value: debug}", "{name: SERVICE_BINDING_ROOT, value: /custom/root}")

var reconcilerClauses = []Clause{
	{
		Name: "volume-of-the-service-secret", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      "the Secret that the service names is mounted as a volume; when the service names another, that one is",
		Manifests: secretManifest + otherSecretManifest + databaseManifest + deploymentManifest + databaseBindingManifest,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.merge(databases, "main", `{"status":{"binding":{"name":"other-secret"}}}`, "status")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"type": "redis", "host": "cache.example.com"})
			t.unprojected(deployment)
			t.ready("db")
		},
	},
	{
		Name: "directory-of-spec-name", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      ".spec.name names the directory; when it changes, the directory does",
		Manifests: secretManifest + deploymentManifest + with(bindingManifest, "name: database"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "database")
			t.unbound(deployment, "main", "db")
			t.merge(t.bindings(), "db", `{"spec":{"name":"storage"}}`)
			t.ready("db")
			t.bound(deployment, "main", "storage")
			t.unbound(deployment, "main", "database")
		},
	},
	{
		Name: "directory-of-metadata-name", SpecRef: "Reconciler Implementation", Level: Should,
		Text:      "without .spec.name the directory has the name of the binding",
		Manifests: secretManifest + deploymentManifest + swap(bindingManifest, "{name: db}", "{name: orders-db}"),
		Test: func(t *T) {
			t.ready("orders-db")
			t.bound(deployment, "main", "orders-db")
		},
	},
	{
		Name: "root-of-the-workload", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      "a container that sets SERVICE_BINDING_ROOT has the Secret mounted below that",
		Manifests: secretManifest + rooted + bindingManifest,
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/custom/root/db", entries)
		},
	},
	{
		Name: "root-is-set", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      "a container that does not set SERVICE_BINDING_ROOT gets it, whatever its neighbours do",
		Manifests: secretManifest + rooted + bindingManifest,
		Test: func(t *T) {
			t.ready("db")
			t.sees(deployment, "sidecar", "has one root", oneRoot)
			t.sees(deployment, "migrate", "has one root", oneRoot)
		},
	},
	{
		Name: "root-that-was-set-is-used", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      "where the variable had to be set, the Secret is mounted below the value it got",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.sees(deployment, "main", "has the mount below the root", func(c container) error { return mountedAt(c, c.root+"/db") })
		},
	},
	{
		Name: "root-default", SpecRef: "Reconciler Implementation", Level: Recommended,
		Text:      "the value is /bindings",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.sees(deployment, "main", "has the root /bindings", rootIs("/bindings"))
		},
	},
	{
		Name: "root-is-not-reset", SpecRef: "Reconciler Implementation", Level: MustNot,
		Text:      "a root that the workload sets keeps its value, with several bindings, and after they are gone",
		Manifests: secretManifest + rooted + bindingManifest + swap(bindingManifest, "{name: db}", "{name: db2}"),
		Test: func(t *T) {
			t.ready("db", "db2")
			t.holds(deployment, "main", "/custom/root/db", entries)
			t.holds(deployment, "main", "/custom/root/db2", entries)
			t.sees(deployment, "main", "has its own root", rootIs("/custom/root"))
			t.unbind("db")
			t.unbind("db2")
			t.unbound(deployment, "main", "db")
			t.sees(deployment, "main", "has its own root", rootIs("/custom/root"))
		},
	},
	{
		Name: "type-overrides", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      ".spec.type replaces the entry type, and leaves the others; it can be changed and taken back",
		Manifests: secretManifest + deploymentManifest + with(bindingManifest, "type: mysql"),
		Test: func(t *T) {
			want := map[string]string{"type": "mysql", "provider": entries["provider"], "host": entries["host"]}
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", want)
			t.holds(deployment, "sidecar", "/bindings/db", want)
			t.merge(t.bindings(), "db", `{"spec":{"type":"mariadb"}}`)
			t.holds(deployment, "main", "/bindings/db", map[string]string{"type": "mariadb"})
			t.merge(t.bindings(), "db", `{"spec":{"type":null}}`)
			t.holds(deployment, "main", "/bindings/db", entries)
		},
	},
	{
		Name: "provider-overrides", SpecRef: "Reconciler Implementation", Level: Must,
		Text: ".spec.provider replaces the entry provider, or adds it where the Secret has none",
		Manifests: swap(secretManifest, "  provider: example\n", "") + deploymentManifest +
			with(bindingManifest, "provider: acme"),
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"provider": "acme", "type": entries["type"]})
			t.merge(secrets, "db-secret", `{"stringData":{"provider":"example"}}`)
			t.holds(deployment, "main", "/bindings/db", map[string]string{"provider": "acme"})
		},
	},
	{
		Name: "error-is-reported", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      "an error that only a person can mend shows in the status",
		Manifests: secretManifest + deploymentManifest + databaseBindingManifest,
		Test:      func(t *T) { t.mustSay(t.unready("db"), "") },
	},
	{
		Name: "conflict-is-not-reported", SpecRef: "Reconciler Implementation", Level: ShouldNot,
		Text:      "a conflict of writes is tried again and does not show in the status",
		Manifests: secretManifest + deploymentManifest,
		Test:      testConflict,
	},
	{
		Name: "missing-workload-is-reported", SpecRef: "Reconciler Implementation", Level: Should,
		Text:      "that the workload does not exist shows in the status, until it does",
		Manifests: secretManifest + bindingManifest,
		Test: func(t *T) {
			t.mustSay(t.unready("db"), "orders")
			t.Apply(deploymentManifest)
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
}

// testConflict lets writers change the workload without a pause while it is bound.
func testConflict(t *T) {
	seen := t.history("db")
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				patch := `{"metadata":{"annotations":{"conformance.test/turn":"` + strconv.Itoa(i) + `"}}}`
				_, _ = t.in(deployment.resource, t.ns).
					Patch(ctx, deployment.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			}
		})
	}
	t.Apply(bindingManifest)
	err := poll(t.ctx, "the binding is ready while others write", func() error {
		if c := t.current("db"); c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Errorf("it is not: %v", c)
		}
		return nil
	})
	stop()
	writers.Wait()
	if err != nil {
		t.ready("db")
	}
	for _, c := range seen() {
		if seesConflict(c) {
			t.Fatalf("%s tells of a conflict (%s): %s", c.Type, c.Reason, c.Message)
		}
	}
	t.bound(deployment, "main", "db")
}

var secretClauses = []Clause{
	{
		Name: "direct-secret", SpecRef: "Direct Secret Reference", Level: Must,
		Text:      "a service of kind Secret, v1, is the Secret itself",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			s, _, err := readStatus(t.must(t.bindings(), "db"))
			if err != nil || s.Binding == nil || strings.TrimSpace(s.Binding.Name) == "" {
				t.Fatalf("the status names no Secret: %v", err)
			}
		},
	},
	{
		Name: "direct-secret-is-no-resource", SpecRef: "Direct Secret Reference", Level: Must,
		Text: "a status in the form of the duck type that a Secret carries among its entries means nothing",
		Manifests: swap(secretManifest, "  host:", "  status: \"{binding: {name: other-secret}}\"\n  host:") +
			otherSecretManifest + deploymentManifest + bindingManifest,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "direct-secret-changed", SpecRef: "Direct Secret Reference", Level: Stated,
		Text:      "a binding that is changed to another Secret projects that one",
		Manifests: usual + otherSecretManifest,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.merge(t.bindings(), "db", `{"spec":{"service":{"name":"other-secret"}}}`)
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"type": "redis"})
			t.unprojected(deployment)
		},
	},
}
