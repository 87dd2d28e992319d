package conformance

import (
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The early draft's sections Provisioned Service, Application Projection and Service Binding.

var draftServiceClauses = []Clause{
	{
		Name: "draft-service-duck-type", SpecRef: "Provisioned Service", Level: Must,
		Text:      "any resource with .status.binding.name is a service, and the Secret of that name is projected",
		Manifests: draftUsual,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "draft-service-secret-in-same-namespace", SpecRef: "Provisioned Service", Level: Must,
		Text:      "the Secret has to be in the namespace of the service: one of that name elsewhere is not taken",
		Manifests: databaseManifest + deploymentManifest,
		Test: func(t *T) {
			elsewhere := t.namespace()
			t.Apply(swap(secretManifest, "{name: db-secret}", "{name: db-secret, namespace: "+elsewhere+"}"))
			t.Apply(draftBinding)
			t.unready("db")
			t.Apply(secretManifest)
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "draft-service-without-type-entry", SpecRef: "Provisioned Service", Level: Should,
		Text:      "a Secret without the entry type can be bound when the binding gives the type",
		Manifests: swap(draftUsual, "  type: postgresql\n  provider", "  provider") + "  type: mysql\n",
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"type": "mysql", "host": entries["host"]})
		},
	},
}

var draftProjectionClauses = []Clause{
	{
		Name: "draft-projection-directory", SpecRef: "Application Projection", Level: Must,
		Text:      "a volume is mounted at $SERVICE_BINDING_ROOT/<binding name>",
		Manifests: draftUsual,
		Test: func(t *T) {
			t.ready("db")
			t.sees(deployment, "main", "has a mount of the binding", func(c container) error { return mountedAt(c, c.root+"/db") })
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "draft-projection-name-allowed", SpecRef: "Application Projection", Level: Must,
		Text:      "the characters a-z, 0-9, - and . may be used in the name of a binding",
		Manifests: draftParts + with(draftBinding, "name: 0-my.db-1"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "0-my.db-1")
		},
	},
	{
		Name: "draft-projection-name-refused", SpecRef: "Application Projection", Level: Must,
		Text:      "a binding name outside of [a-z0-9\\-\\.]{1,253} is not projected: it is refused, or Ready is False",
		Manifests: draftParts,
		Test: func(t *T) {
			for as, name := range map[string]string{"upper": "Database", "slash": "a/b", "parent": "../etc", "long": longName(254)} {
				t.refused(with(swap(draftBinding, "{name: db}", "{name: "+as+"}"), "name: \""+name+"\""), deployment)
			}
		},
	},
	{
		Name: "draft-projection-root-declared", SpecRef: "Application Projection", Level: Must,
		Text:      "SERVICE_BINDING_ROOT is set in every container with a projection, once, to an absolute path",
		Manifests: draftUsual,
		Test: func(t *T) {
			t.ready("db")
			for _, name := range []string{"migrate", "main", "sidecar"} {
				t.sees(deployment, name, "has one root", oneRoot)
			}
		},
	},
	{
		Name: "draft-projection-has-type", SpecRef: "Application Projection", Level: Must,
		Text:      "the projection has the entry type",
		Manifests: draftUsual,
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"type": entries["type"]})
		},
	},
	{
		Name: "draft-projection-has-provider", SpecRef: "Application Projection", Level: Recommended,
		Text:      "the projection has the entry provider where the Secret has it",
		Manifests: draftUsual,
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"provider": entries["provider"]})
		},
	},
	{
		Name: "draft-projection-has-every-entry", SpecRef: "Application Projection", Level: May,
		Text: "entries that the draft does not know are projected too, bytes included",
		Manifests: swap(draftUsual, "type: servicebinding.io/postgresql\nstringData:",
			"type: servicebinding.io/postgresql\ndata: {keystore.p12: AAH/gA==, empty: \"\"}\nstringData:"),
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"keystore.p12": "\x00\x01\xff\x80", "empty": ""})
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "draft-projection-entry-names", SpecRef: "Application Projection", Level: Should,
		Text:      "an entry keeps its name as that of its file",
		Manifests: swap(draftUsual, "  host: db", "  a.b-c.0: x\n  private-key: key\n  host: db"),
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"a.b-c.0": "x", "private-key": "key"})
		},
	},
	{
		Name: "draft-projection-follows-secret", SpecRef: "Application Projection", Level: May,
		Text:      "files may change between launches: what is added to the Secret is projected",
		Manifests: draftUsual,
		Test: func(t *T) {
			t.ready("db")
			t.merge(secrets, "db-secret", `{"stringData":{"added":"later"}}`)
			t.holds(deployment, "main", "/bindings/db", map[string]string{"added": "later"})
		},
	},
}

var draftBindingClauses = []Clause{
	{
		Name: "draft-same-namespace", SpecRef: "Service Binding", Level: Recommended,
		Text:      "service and application are those of the binding's namespace, not those of the same name elsewhere",
		Manifests: draftUsual,
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
		Name: "draft-binding-needs-application", SpecRef: "Service Binding", Level: Must,
		Text: "a binding without an application is refused",
		Test: func(t *T) {
			t.rejected("a binding without an application", swap(draftBinding,
				"  application: {apiVersion: apps/v1, kind: Deployment, name: orders}\n", ""))
		},
	},
	{
		Name: "draft-binding-needs-service", SpecRef: "Service Binding", Level: Must,
		Text: "a binding without a service is refused",
		Test: func(t *T) {
			t.rejected("a binding without a service", swap(draftBinding,
				"  service: {apiVersion: services.conformance.test/v1, kind: Database, name: main}\n", ""))
		},
	},
	{
		Name: "draft-binding-has-a-name", SpecRef: "Service Binding", Level: May,
		Text:      ".spec.name names the service in the application",
		Manifests: draftParts + with(draftBinding, "name: database"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "database")
		},
	},
	{
		Name: "draft-several-bindings", SpecRef: "Service Binding", Level: Stated,
		Text:      "several bindings refer to one service and one application",
		Manifests: draftUsual + swap(draftBinding, "{name: db}", "{name: again}"),
		Test: func(t *T) {
			t.ready("db", "again")
			t.bound(deployment, "main", "db")
			t.bound(deployment, "main", "again")
		},
	},
}

var draftStatusClauses = []Clause{
	{
		Name: "draft-status-conditions", SpecRef: "Service Binding", Level: Must,
		Text:      "every condition has a type, a status of the three, and a time of transition; one of them is Ready",
		Manifests: draftUsual + swap(draftBinding, "{name: db}", "{name: broken}", "name: orders", "name: nobody"),
		Test: func(t *T) {
			t.ready("db")
			t.unready("broken")
			for _, name := range []string{"db", "broken"} {
				if err := t.wellFormed(name); err != nil {
					t.Fatalf("the status of binding %s: %v", name, err)
				}
			}
		},
	},
	{
		Name: "draft-status-transition-time", SpecRef: "Service Binding", Level: Must,
		Text:      "the time of transition is that of the last change of the status, and of nothing else",
		Manifests: draftUsual,
		Test: func(t *T) {
			t.ready("db")
			first := t.current("db").LastTransitionTime
			t.merge(t.bindings(), "db", `{"spec":{"application":{"name":"nobody"}}}`)
			changed := t.unready("db").LastTransitionTime
			if changed.Before(&first) || time.Since(changed.Time) > time.Hour {
				t.Fatalf("Ready became False at %s, having become True at %s", changed, first)
			}
			t.merge(t.bindings(), "db", `{"spec":{"application":{"name":"nobody-else"}}}`)
			t.Eventually("the status is about the other application", func() error {
				return says(t.current("db"), "nobody-else")
			})
			if again := t.current("db").LastTransitionTime; !again.Equal(&changed) {
				t.Fatalf("Ready is False as it was, but the time went from %s to %s", changed, again)
			}
		},
	},
	{
		Name: "draft-status-is-telling", SpecRef: "Service Binding", Level: May,
		Text:      "a Ready that is False has a reason, and a message that names what is missing",
		Manifests: draftService + draftBinding,
		Test:      func(t *T) { t.mustSay(t.unready("db"), "orders") },
	},
}

// wellFormed looks at the conditions of a binding.
func (t *T) wellFormed(name string) error {
	s, _, err := readStatus(t.must(t.bindings(), name))
	if err != nil {
		return err
	}
	ready := 0
	statuses := []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}
	for _, c := range s.Conditions {
		if c.Type == "" || !slices.Contains(statuses, c.Status) || c.LastTransitionTime.IsZero() {
			return fmt.Errorf("condition %q is %q since %s", c.Type, c.Status, c.LastTransitionTime)
		}
		if c.Type == readyCondition {
			ready++
		}
	}
	if ready != 1 {
		return fmt.Errorf("there are %d conditions Ready", ready)
	}
	return nil
}

// says sees that a condition names something.
func says(c *metav1.Condition, word string) error {
	if c == nil {
		return errors.New("there is no such condition")
	}
	if !containsWord(c.Message, word) {
		return fmt.Errorf("its message does not name %q: %s", word, c.Message)
	}
	return nil
}
