package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Section Service Binding: conditions, selectors; section Ready Condition Status.

var conditionClauses = []Clause{
	{
		Name: "status-conditions", SpecRef: "Service Binding", Level: Must,
		Text:      "every condition has the form of meta/v1: type, status, reason, time of transition",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			s, _, err := readStatus(t.must(t.bindings(), "db"))
			if err != nil {
				t.Fatalf("%v", err)
			}
			for _, c := range s.Conditions {
				if c.Type == "" || c.Status == "" || c.Reason == "" || c.LastTransitionTime.IsZero() {
					t.Fatalf("condition %q lacks a field", c.Type)
				}
			}
		},
	},
	{
		Name: "status-ready-exists", SpecRef: "Service Binding", Level: Must,
		Text:      "there is a condition Ready, for a binding that can be completed and for one that cannot, and only one",
		Manifests: usual + swap(bindingManifest, "{name: db}", "{name: broken}", "name: orders", "name: nobody"),
		Test: func(t *T) {
			t.ready("db")
			t.unready("broken")
			for _, name := range []string{"db", "broken"} {
				s, _, err := readStatus(t.must(t.bindings(), name))
				if err != nil {
					t.Fatalf("%v", err)
				}
				n := len(slices.DeleteFunc(s.Conditions, func(c metav1.Condition) bool { return c.Type != readyCondition }))
				if n != 1 {
					t.Fatalf("binding %s has %d conditions Ready", name, n)
				}
			}
		},
	},
	{
		Name: "status-ready-is-telling", SpecRef: "Service Binding", Level: Should,
		Text:      "a Ready that is False has a message that names what is missing",
		Manifests: secretManifest + bindingManifest,
		Test:      func(t *T) { t.mustSay(t.unready("db"), "orders") },
	},
	{
		Name: "status-names-secret", SpecRef: "Service Binding", Level: Should,
		Text:      ".status.binding.name names the Secret whose entries are projected",
		Manifests: secretManifest + databaseManifest + deploymentManifest + databaseBindingManifest,
		Test: func(t *T) {
			t.ready("db")
			t.Eventually("the Secret that the status names has the entries", func() error {
				s, _, err := readStatus(t.must(t.bindings(), "db"))
				if err != nil {
					return err
				}
				if s.Binding == nil || s.Binding.Name == "" {
					return errors.New("it names none")
				}
				have, err := t.secret(s.Binding.Name)
				if err == nil && have["host"] != entries["host"] {
					err = fmt.Errorf("secret %s has others", s.Binding.Name)
				}
				return err
			})
		},
	},
	{
		Name: "status-observed-generation", SpecRef: "Service Binding", Level: Must,
		Text:      ".status.observedGeneration follows .metadata.generation, when all is well and when not",
		Manifests: usual,
		Test: func(t *T) {
			t.ready("db")
			t.merge(t.bindings(), "db", `{"spec":{"workload":{"name":"nobody"}}}`)
			t.unready("db")
			t.merge(t.bindings(), "db", `{"spec":{"workload":{"name":"orders"}}}`)
			t.ready("db")
			if got := t.must(t.bindings(), "db").GetGeneration(); got < 3 {
				t.Fatalf("the generation is %d: the API server does not count changes of the spec", got)
			}
		},
	},
	{
		Name: "service-available-true", SpecRef: "1.1: ServiceAvailable condition", Level: Must,
		Text:      "ServiceAvailable is True when the service exists and names a Secret, whether there is a workload or not",
		Manifests: secretManifest + databaseManifest + databaseBindingManifest,
		Test: func(t *T) {
			t.unready("db")
			t.condition("db", serviceCondition, metav1.ConditionTrue)
		},
	},
	{
		Name: "service-available-false", SpecRef: "1.1: ServiceAvailable condition", Level: Must,
		Text:      "ServiceAvailable is False, with a telling message, when the service does not exist or names no Secret",
		Manifests: deploymentManifest + databaseBindingManifest,
		Test: func(t *T) {
			t.mustSay(t.condition("db", serviceCondition, metav1.ConditionFalse), "main")
			t.Apply(swap(databaseManifest, "status: {binding: {name: db-secret}}", ""))
			t.condition("db", serviceCondition, metav1.ConditionFalse)
			t.Apply(secretManifest)
			t.merge(databases, "main", `{"status":{"binding":{"name":"db-secret"}}}`, "status")
			t.condition("db", serviceCondition, metav1.ConditionTrue)
			t.remove(databases, "main")
			t.condition("db", serviceCondition, metav1.ConditionFalse)
		},
	},
	{
		Name: "service-available-unknowable", SpecRef: "1.1: ServiceAvailable condition", Level: Must,
		Text:      "ServiceAvailable is False, with a telling message, when there is no such kind and nothing can be known",
		Manifests: deploymentManifest,
		Test: func(t *T) {
			t.Apply(swap(databaseBindingManifest, "services.conformance.test/v1, kind: Database", "nowhere.conformance.test/v1, kind: Ghost"))
			t.mustSay(t.condition("db", serviceCondition, metav1.ConditionFalse), "Ghost")
		},
	},
}

const secondDeployment = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: payments, labels: {app: payments, part-of: shop, tier: back}}
spec:
  replicas: 0
  selector: {matchLabels: {app: payments}}
  template:
    metadata: {labels: {app: payments}}
    spec: {containers: [{name: main, image: none}]}
`

// shopBinding binds every Deployment that is part of the shop.
var shopBinding = swap(bindingManifest, "name: orders}", "selector: {matchLabels: {part-of: shop}}}")

// narrow is a workload that can take one mount; its kind's schema allows no more.
const narrowManifest = `
---
apiVersion: workloads.conformance.test/v1
kind: Narrow
metadata: {name: full, labels: {part-of: shop}}
spec: {template: {spec: {containers: [{name: main, volumeMounts: [{name: own, mountPath: /own}]}], volumes: [{name: own, emptyDir: {}}]}}}
---
apiVersion: workloads.conformance.test/v1
kind: Narrow
metadata: {name: roomy, labels: {part-of: shop}}
spec: {template: {spec: {containers: [{name: main}]}}}
`

var selectorClauses = []Clause{
	{
		Name: "selector-binds-each", SpecRef: "Service Binding", Level: Must,
		Text:      "each workload that a selector matches is bound as if it were named",
		Manifests: secretManifest + deploymentManifest + secondDeployment + shopBinding,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.bound(deployment, "sidecar", "db")
			t.bound(deployment.called("payments"), "main", "db")
		},
	},
	{
		Name: "selector-expressions", SpecRef: "Service Binding", Level: Must,
		Text: "a selector is one of meta/v1, with expressions",
		Manifests: secretManifest + deploymentManifest + secondDeployment + swap(bindingManifest, "name: orders}",
			"selector: {matchLabels: {part-of: shop}, matchExpressions: [{key: tier, operator: DoesNotExist}]}}"),
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment, "main", "db")
			t.unprojected(deployment.called("payments"))
		},
	},
	{
		Name: "selector-late-workload", SpecRef: "Service Binding", Level: Must,
		Text:      "a workload that comes later, or gets the labels later, is bound",
		Manifests: secretManifest + deploymentManifest + shopBinding,
		Test: func(t *T) {
			t.ready("db")
			t.Apply(secondDeployment)
			t.bound(deployment.called("payments"), "main", "db")
			t.Apply(swap(secondDeployment, "payments", "returns", "part-of: shop", "part-of: none"))
			t.merge(deployment.resource, "returns", `{"metadata":{"labels":{"part-of":"shop"}}}`)
			t.bound(deployment.called("returns"), "main", "db")
		},
	},
	{
		Name: "selector-lost-workload", SpecRef: "Service Binding", Level: Stated,
		Text:      "a workload that loses the labels is unbound, the others stay bound",
		Manifests: secretManifest + deploymentManifest + secondDeployment + shopBinding,
		Test: func(t *T) {
			t.ready("db")
			t.bound(deployment.called("payments"), "main", "db")
			t.merge(deployment.resource, "payments", `{"metadata":{"labels":{"part-of":null}}}`)
			t.unbound(deployment.called("payments"), "main", "db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "selector-partial-failure", SpecRef: "Service Binding", Level: Must,
		Text: "when one of the selected workloads cannot be bound, Ready is False and says so; the others are bound",
		Manifests: secretManifest + narrowManifest +
			swap(shopBinding, "apps/v1, kind: Deployment", "workloads.conformance.test/v1, kind: Narrow"),
		Test: func(t *T) {
			t.mustSay(t.unready("db"), "")
			t.bound(invented("narrows", "roomy", shapeAt("spec/template")), "main", "db")
			t.unprojected(invented("narrows", "full", shapeAt("spec/template")))
			t.unready("db")
		},
	},
}

var readyClauses = []Clause{
	{
		Name: "ready-true", SpecRef: "Ready Condition Status", Level: Must,
		Text:      "Ready is True once the binding is completed, and not before",
		Manifests: secretManifest + bindingManifest,
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
		Name: "ready-false-no-service", SpecRef: "Ready Condition Status", Level: Must,
		Text:      "Ready is False when there is no service of the name",
		Manifests: secretManifest + deploymentManifest + databaseBindingManifest,
		Test: func(t *T) {
			t.unready("db")
			t.unprojected(deployment)
			t.Apply(databaseManifest)
			t.ready("db")
		},
	},
	{
		Name: "ready-false-no-secret", SpecRef: "Ready Condition Status", Level: Must,
		Text:      "Ready is False when there is no Secret of the name",
		Manifests: deploymentManifest + bindingManifest,
		Test: func(t *T) {
			t.unready("db")
			t.Apply(secretManifest)
			t.ready("db")
		},
	},
	{
		Name: "ready-false-no-workload", SpecRef: "Ready Condition Status", Level: Must,
		Text:      "Ready is False when there is no workload of the name, and again when it is deleted",
		Manifests: secretManifest + bindingManifest,
		Test: func(t *T) {
			t.unready("db")
			t.Apply(deploymentManifest)
			t.ready("db")
			t.remove(deployment.resource, "orders")
			t.unready("db")
		},
	},
	{
		Name: "ready-false-no-kind", SpecRef: "Ready Condition Status", Level: Must,
		Text:      "Ready is False when the cluster does not have the kind of the service, or of the workload",
		Manifests: secretManifest + deploymentManifest,
		Test: func(t *T) {
			t.refused(swap(bindingManifest, "v1, kind: Secret", "nowhere.conformance.test/v1, kind: Ghost"), deployment)
			t.refused(swap(bindingManifest, "{name: db}", "{name: db2}", "apps/v1, kind: Deployment",
				"nowhere.conformance.test/v1, kind: Ghost"), deployment)
		},
	},
	{
		Name: "ready-false-service-lost", SpecRef: "Ready Condition Status", Level: Must,
		Text:      "Ready becomes False when the service goes away, and True when it is back",
		Manifests: secretManifest + databaseManifest + deploymentManifest + databaseBindingManifest,
		Test: func(t *T) {
			t.ready("db")
			t.remove(databases, "main")
			t.unready("db")
			t.Apply(databaseManifest)
			t.ready("db")
		},
	},
	{
		Name: "ready-unknown-meanwhile", SpecRef: "Ready Condition Status", Level: Should,
		Text:      "while a binding that can be completed is not yet, Ready is Unknown or not there, never False",
		Manifests: secretManifest + deploymentManifest,
		Test: func(t *T) {
			seen := t.history("db")
			t.Apply(bindingManifest)
			t.ready("db")
			for _, c := range seen() {
				if c.Type == readyCondition && c.Status == metav1.ConditionFalse {
					t.Fatalf("it was False for a while (%s): %s", c.Reason, c.Message)
				}
			}
		},
	},
}

// seesConflict says whether a condition tells of a conflict of writes.
func seesConflict(c metav1.Condition) bool {
	text := strings.ToLower(c.Reason + " " + c.Message)
	return strings.Contains(text, "conflict") || strings.Contains(text, "object has been modified")
}

// current gives the condition Ready as it is now.
func (t *T) current(name string) *metav1.Condition {
	s, _, err := readStatus(t.must(t.bindings(), name))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return meta.FindStatusCondition(s.Conditions, readyCondition)
}
