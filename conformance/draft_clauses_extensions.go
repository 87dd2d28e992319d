package conformance

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The early draft's extensions: mappings, environment variables, synthetic services, selectors, roles.

var draftMappingClauses = []Clause{
	{
		Name: "draft-mapping-is-an-array", SpecRef: "Mapping Existing Values to New Values", Level: May, Extension: Mappings,
		Text: "a binding may have mappings, and may have none",
		Manifests: draftUsual + with(swap(draftBinding, "{name: db}", "{name: mapped}"),
			"mappings:", "- {name: a, value: ((host))}", "- {name: b, value: ((port))}"),
		Test: func(t *T) {
			t.ready("db", "mapped")
			t.bound(deployment, "main", "db")
			t.holds(deployment, "main", "/bindings/mapped", map[string]string{"a": entries["host"], "b": entries["port"]})
		},
	},
	{
		Name: "draft-mapping-needs-name-and-value", SpecRef: "Mapping Existing Values to New Values", Level: Must, Extension: Mappings,
		Text: "a mapping without a name or without a value is refused",
		Test: func(t *T) {
			t.rejected("a mapping without a name", with(draftBinding, "mappings: [{value: a}]"))
			t.rejected("a mapping without a value", with(draftBinding, "mappings: [{name: a}]"))
		},
	},
	{
		Name: "draft-mapping-substitutes", SpecRef: "Mapping Existing Values to New Values", Level: Must, Extension: Mappings,
		Text:      "each token of a value is replaced by the entry that it names, and the result is an entry beside the others",
		Manifests: draftParts + with(draftBinding, "mappings:", "- {name: uri, value: \"pg://((username)):((password))@((host)):((port))/x\"}"),
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{
				"uri": "pg://" + entries["username"] + ":" + entries["password"] + "@" + entries["host"] + ":" + entries["port"] + "/x",
			})
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "draft-mapping-tokens", SpecRef: "Mapping Existing Values to New Values", Level: May, Extension: Mappings,
		Text: "a value may have no token, one, or the same twice",
		Manifests: draftParts + with(draftBinding, "mappings:", "- {name: none, value: plain (text)}",
			"- {name: one, value: ((host))}", "- {name: twice, value: ((host))((host))}"),
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{
				"none": "plain (text)", "one": entries["host"], "twice": entries["host"] + entries["host"],
			})
		},
	},
	{
		Name: "draft-mapping-follows-secret", SpecRef: "Mapping Existing Values to New Values", Level: Stated, Extension: Mappings,
		Text:      "when an entry changes, what is made of it does",
		Manifests: draftParts + with(draftBinding, "mappings:", "- {name: at, value: \"at ((host))\"}"),
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"at": "at " + entries["host"]})
			t.merge(secrets, "db-secret", `{"stringData":{"host":"moved.example.com"}}`)
			t.holds(deployment, "main", "/bindings/db", map[string]string{"at": "at moved.example.com", "host": "moved.example.com"})
		},
	},
}

var draftEnvClauses = []Clause{
	{
		Name: "draft-env-is-an-array", SpecRef: "Binding Values as Environment Variables", Level: May, Extension: EnvironmentVariables,
		Text:      "a binding may have variables, and may have none",
		Manifests: draftUsual + with(swap(draftBinding, "{name: db}", "{name: env}"), "env:", "- {name: DB_HOST, value: ((host))}"),
		Test: func(t *T) {
			t.ready("db", "env")
			t.variable(deployment, "main", "DB_HOST", entries["host"])
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "draft-env-substitutes", SpecRef: "Binding Values as Environment Variables", Level: Must, Extension: EnvironmentVariables,
		Text:      "each token of a variable's value is replaced by the entry that it names, in every container",
		Manifests: draftParts + with(draftBinding, "env:", "- {name: DB_URL, value: \"pg://((username)):((password))@((host))\"}"),
		Test: func(t *T) {
			t.ready("db")
			want := "pg://" + entries["username"] + ":" + entries["password"] + "@" + entries["host"]
			t.variable(deployment, "main", "DB_URL", want)
			t.variable(deployment, "sidecar", "DB_URL", want)
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "draft-env-tokens", SpecRef: "Binding Values as Environment Variables", Level: May, Extension: EnvironmentVariables,
		Text:      "a value may have no token, or one and nothing else",
		Manifests: draftParts + with(draftBinding, "env:", "- {name: NONE, value: plain}", "- {name: ONE, value: ((username))}"),
		Test: func(t *T) {
			t.ready("db")
			t.variable(deployment, "main", "NONE", "plain")
			t.variable(deployment, "main", "ONE", entries["username"])
		},
	},
	{
		Name: "draft-env-sees-mappings", SpecRef: "Binding Values as Environment Variables", Level: Stated, Extension: EnvironmentVariables,
		Text: "a variable may name an entry that a mapping makes, as the draft's example does",
		Manifests: draftParts + with(draftBinding, "mappings:", "- {name: uri, value: \"pg://((host))\"}",
			"env:", "- {name: DB_URI, value: ((uri))}"),
		Test: func(t *T) {
			t.ready("db")
			t.variable(deployment, "main", "DB_URI", "pg://"+entries["host"])
		},
	},
	{
		Name: "draft-env-removed", SpecRef: "Binding Values as Environment Variables", Level: Stated, Extension: EnvironmentVariables,
		Text:      "the variables are gone with the binding",
		Manifests: draftParts + with(draftBinding, "env:", "- {name: DB_AT, value: \"at ((host))\"}"),
		Test: func(t *T) {
			t.ready("db")
			t.variable(deployment, "main", "DB_AT", "at "+entries["host"])
			t.unbind("db")
			t.noVariable(deployment, "main", "DB_AT")
		},
	},
}

// kafkaParts are what the synthetic service is made of: two resources, as in the draft's example.
const kafkaParts = `
---
apiVersion: services.conformance.test/v1
kind: Cluster
metadata: {name: prod-cluster}
spec: {url: kafka.example.com, ports: [{port: 9092}, {port: 9093}]}
---
apiVersion: services.conformance.test/v1
kind: User
metadata: {name: prod-user}
spec: {username: orders}
`

const syntheticManifest = `
---
apiVersion: service.binding/v1alpha1
kind: SyntheticProvisionedService
metadata: {name: kafka}
spec:
  type: kafka
  services:
  - {apiVersion: services.conformance.test/v1, kind: Cluster, name: prod-cluster}
  - {apiVersion: services.conformance.test/v1, kind: User, name: prod-user}
  mappings:
  - {name: url, value: "((prod-cluster.spec.url)):((prod-cluster.spec.ports[0].port))/?user=((prod-user.spec.username))"}
  - {name: fixed, value: plain}
`

var syntheticBinding = swap(draftBinding, "services.conformance.test/v1, kind: Database, name: main",
	"service.binding/v1alpha1, kind: SyntheticProvisionedService, name: kafka")

var draftSyntheticClauses = []Clause{
	{
		Name: "draft-synthetic-needs-services", SpecRef: "Synthetic Provisioned Service", Level: Must, Extension: SyntheticServices,
		Text: "a synthetic service without services is refused",
		Test: func(t *T) {
			t.rejected("a synthetic service without services", `
apiVersion: service.binding/v1alpha1
kind: SyntheticProvisionedService
metadata: {name: none}
spec: {type: kafka, mappings: [{name: a, value: b}]}`)
		},
	},
	{
		Name: "draft-synthetic-mapping-needs-name-and-value", SpecRef: "Synthetic Provisioned Service", Level: Must,
		Extension: SyntheticServices,
		Text:      "a mapping of a synthetic service without a name or without a value is refused",
		Test: func(t *T) {
			t.rejected("a mapping without a name", swap(syntheticManifest, "name: fixed, ", ""))
			t.rejected("a mapping without a value", swap(syntheticManifest, ", value: plain", ""))
		},
	},
	{
		Name: "draft-synthetic-substitutes", SpecRef: "Synthetic Provisioned Service", Level: Must, Extension: SyntheticServices,
		Text:      "each token is replaced by what its JSONPath finds in the resource that it names; the results are entries of the Secret",
		Manifests: kafkaParts + syntheticManifest + deploymentManifest + syntheticBinding,
		Test: func(t *T) {
			t.ready("db")
			t.holds(deployment, "main", "/bindings/db", map[string]string{"url": "kafka.example.com:9092/?user=orders", "fixed": "plain"})
		},
	},
	{
		Name: "draft-synthetic-tokens", SpecRef: "Synthetic Provisioned Service", Level: May, Extension: SyntheticServices,
		Text:      "a value may have no token, or several",
		Manifests: kafkaParts + syntheticManifest,
		Test: func(t *T) {
			t.synthesizes(map[string]string{"url": "kafka.example.com:9092/?user=orders", "fixed": "plain"})
		},
	},
	{
		Name: "draft-synthetic-type-and-provider", SpecRef: "Synthetic Provisioned Service", Level: Must, Extension: SyntheticServices,
		Text:      ".spec.type and .spec.provider are the entries of those names",
		Manifests: kafkaParts + swap(syntheticManifest, "  type: kafka\n", "  type: kafka\n  provider: acme\n"),
		Test:      func(t *T) { t.synthesizes(map[string]string{"type": "kafka", "provider": "acme"}) },
	},
	{
		Name: "draft-synthetic-names-secret", SpecRef: "Synthetic Provisioned Service", Level: Must, Extension: SyntheticServices,
		Text:      ".status.binding.name names a Secret of the service's namespace, which has the entry type",
		Manifests: kafkaParts + syntheticManifest,
		Test:      func(t *T) { t.synthesizes(map[string]string{"type": "kafka"}) },
	},
	{
		Name: "draft-synthetic-follows", SpecRef: "Synthetic Provisioned Service", Level: Stated, Extension: SyntheticServices,
		Text:      "when a resource changes, what is made of it does; one that comes later is waited for",
		Manifests: syntheticManifest,
		Test: func(t *T) {
			t.Apply(kafkaParts)
			t.synthesizes(map[string]string{"url": "kafka.example.com:9092/?user=orders"})
			t.merge(services("users"), "prod-user", `{"spec":{"username":"payments"}}`)
			t.synthesizes(map[string]string{"url": "kafka.example.com:9092/?user=payments"})
		},
	},
}

// synthesizes waits until the Secret that the synthetic service names has entries.
func (t *T) synthesizes(want map[string]string) {
	t.Eventually("the Secret of the synthetic service has its entries", func() error {
		object, err := t.get(t.resource("syntheticprovisionedservices"), "kafka")
		if err != nil {
			return err
		}
		name, _, _ := unstructured.NestedString(object.Object, "status", "binding", "name")
		if name == "" {
			return errors.New("its status names none")
		}
		have, err := t.secret(name)
		if err != nil {
			return err
		}
		for key, value := range want {
			if got, ok := have[key]; !ok || got != value {
				return fmt.Errorf("the entry %s is missing or another one", key)
			}
		}
		return nil
	})
}
