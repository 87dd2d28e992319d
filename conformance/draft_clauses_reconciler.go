package conformance

import (
	"errors"
	"path"
	"strings"
)

// The early draft's section Reconciler Implementation, and what its schema says of containers.

func containsWord(text, word string) bool { return strings.Contains(text, word) }

var draftRooted = draftService + rooted + draftBinding

var draftReconcilerClauses = []Clause{
	{
		Name: "draft-volume-of-the-service-secret", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      "the Secret that the service names is mounted as a volume; when the service names another, that one is",
		Manifests: draftUsual + otherSecretManifest,
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
		Name: "draft-projection-remains", SpecRef: "Reconciler Implementation", Level: Should,
		Text:      "when another reconciler writes the application without the volume, the volume comes back",
		Manifests: draftUsual,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.merge(deployment.resource, "orders", `{"spec":{"template":{"spec":{"volumes":null,"initContainers":null,`+
				`"containers":[{"name":"main","image":"none"}]}}}}`)
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "draft-directory-of-spec-name", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      ".spec.name names the directory; when it changes, the directory does",
		Manifests: draftParts + with(draftBinding, "name: database"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "database")
			t.unbound(deployment, "main", "db")
			t.merge(t.bindings(), "db", `{"spec":{"name":"storage"}}`)
			t.bound(deployment, "main", "storage")
			t.unbound(deployment, "main", "database")
		},
	},
	{
		Name: "draft-directory-of-metadata-name", SpecRef: "Reconciler Implementation", Level: Should,
		Text:      "without .spec.name the directory has the name of the binding",
		Manifests: draftParts + swap(draftBinding, "{name: db}", "{name: orders-db}"),
		Test: func(t *T) {
			t.ready("orders-db")
			t.bound(deployment, "main", "orders-db")
		},
	},
	{
		Name: "draft-root-of-the-application", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      "a container that sets SERVICE_BINDING_ROOT has the Secret mounted below that",
		Manifests: draftRooted,
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/custom/root/db", entries)
		},
	},
	{
		Name: "draft-root-is-set", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      "a container that does not set SERVICE_BINDING_ROOT gets it, and the Secret mounted below that",
		Manifests: draftRooted,
		Test: func(t *T) {
			t.ready("db")
			t.sees(deployment, "sidecar", "has one root", oneRoot)
			t.sees(deployment, "sidecar", "has the mount below the root", func(c container) error {
				return mountedAt(c, path.Join(c.root, "db"))
			})
		},
	},
	{
		Name: "draft-root-default", SpecRef: "Reconciler Implementation", Level: Recommended,
		Text:      "the value is /bindings",
		Manifests: draftUsual,
		Test: func(t *T) {
			t.ready("db")
			t.sees(deployment, "main", "has the root /bindings", rootIs("/bindings"))
		},
	},
	{
		Name: "draft-root-is-not-reset", SpecRef: "Reconciler Implementation", Level: MustNot,
		Text:      "a root that the application sets keeps its value, with several bindings, and after they are gone",
		Manifests: draftRooted + swap(draftBinding, "{name: db}", "{name: db2}"),
		Test: func(t *T) {
			t.ready("db", "db2")
			t.holds(deployment, "main", "/custom/root/db", entries)
			t.sees(deployment, "main", "has its own root", rootIs("/custom/root"))
			t.unbind("db")
			t.unbind("db2")
			t.unbound(deployment, "main", "db")
			t.sees(deployment, "main", "has its own root", rootIs("/custom/root"))
		},
	},
	{
		Name: "draft-type-overrides", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      ".spec.type replaces the entry type, and leaves the others; it can be changed and taken back",
		Manifests: draftParts + with(draftBinding, "type: mysql"),
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"type": "mysql", "host": entries["host"]})
			t.merge(t.bindings(), "db", `{"spec":{"type":"mariadb"}}`)
			t.holds(deployment, "main", "/bindings/db", map[string]string{"type": "mariadb"})
			t.merge(t.bindings(), "db", `{"spec":{"type":null}}`)
			t.holds(deployment, "main", "/bindings/db", entries)
		},
	},
	{
		Name: "draft-provider-overrides", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      ".spec.provider replaces the entry provider, or adds it where the Secret has none",
		Manifests: swap(draftParts, "  provider: example\n", "") + with(draftBinding, "provider: acme"),
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"provider": "acme", "type": entries["type"]})
			t.merge(secrets, "db-secret", `{"stringData":{"provider":"example"}}`)
			t.holds(deployment, "main", "/bindings/db", map[string]string{"provider": "acme"})
		},
	},
	{
		Name: "draft-ready-true", SpecRef: "Reconciler Implementation", Level: Must,
		Text:      "Ready is True once the application is changed, and not before",
		Manifests: draftService + draftBinding,
		Test: func(t *T) {
			t.unready("db")
			t.Apply(deploymentManifest)
			t.ready("db")
			if c, err := t.view(deployment); err != nil || mountedAt(c["main"], "/bindings/db") != nil {
				t.Fatalf("Ready is True, but the Deployment is not bound: %v", err)
			}
		},
	},
	{
		Name: "draft-ready-not-true", SpecRef: "Reconciler Implementation", Level: MustNot,
		Text:      "Ready is not True while the service, its Secret or the application is missing",
		Manifests: deploymentManifest + draftBinding,
		Test: func(t *T) {
			t.unready("db")
			t.Apply(databaseManifest)
			t.unready("db")
			t.Apply(secretManifest)
			t.ready("db")
			t.remove(databases, "main")
			t.unready("db")
		},
	},
}

var draftContainerClauses = []Clause{
	{
		Name: "draft-containers-by-name", SpecRef: "Service Binding: schema", Level: Stated,
		Text:      "containers lists containers by their names; others are left alone",
		Manifests: draftParts + swap(draftBinding, "name: orders}", "name: orders, containers: [sidecar]}"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "sidecar", "db")
			t.unbound(deployment, "main", "db")
		},
	},
	{
		Name: "draft-containers-by-position", SpecRef: "Service Binding: schema", Level: Stated,
		Text:      "containers lists containers by their positions, too, counted from 0 among the containers",
		Manifests: draftParts + swap(draftBinding, "name: orders}", "name: orders, containers: [1]}"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "sidecar", "db")
			t.unbound(deployment, "main", "db")
			t.unbound(deployment, "migrate", "db")
			t.merge(t.bindings(), "db", `{"spec":{"application":{"containers":[0,"migrate"]}}}`)
			t.bound(deployment, "main", "db")
			t.bound(deployment, "migrate", "db")
			t.unbound(deployment, "sidecar", "db")
		},
	},
}

var draftLifeClauses = []Clause{
	{
		Name: "draft-unbind-restores", SpecRef: "Reconciler Implementation", Level: Stated,
		Text:      "bound and unbound, an application keeps what is its own, and nothing else",
		Manifests: draftService + ownedManifest,
		Test: func(t *T) {
			before := t.template(deployment)
			t.Apply(with(draftBinding, "type: mysql"))
			t.ready("db")
			t.holds(deployment, "main", "/own/db", map[string]string{"type": "mysql"})
			t.unbind("db")
			t.restored(deployment, before)
		},
	},
	{
		Name: "draft-unbind-without-service", SpecRef: "Reconciler Implementation", Level: Stated,
		Text:      "a projection is removed when the service and the Secret went away before the binding did",
		Manifests: draftUsual,
		Test: func(t *T) {
			t.ready("db")
			t.sees(deployment, "main", "is bound", func(c container) error {
				if len(c.dirs) == 0 {
					return errors.New("it is not")
				}
				return nil
			})
			t.remove(databases, "main")
			t.remove(secrets, "db-secret")
			t.unbind("db")
			t.unbound(deployment, "main", "db")
		},
	},
}
