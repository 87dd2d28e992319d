package generate_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/generate"
)

// database is the resource of the draft's examples.
const database = `
apiVersion: apps.kube.io/v1beta1
kind: Database
metadata:
  name: my-cluster
  namespace: shop
spec:
  data:
    plan: small
status:
  bootstrap:
  - type: plain
    url: myhost2.example.com
    name: hostGroup1
  - type: tls
    url: myhost1.example.com:9092,myhost2.example.com:9092
    name: hostGroup2
  data:
    dbConfiguration: database-config
    dbCredentials: database-cred-secret
    url: db.stage.ibm.com
    uri: postgresql://db.stage.ibm.com
    connectionURL: postgresql://db.stage.ibm.com/orders
`

var databaseKind = schema.GroupVersionKind{Group: "apps.kube.io", Version: "v1beta1", Kind: "Database"}

const databaseDefinition = "databases.apps.kube.io"

// objects are those that the examples point to.
func objects() map[generate.Reference]map[string]string {
	return map[generate.Reference]map[string]string{
		{Kind: "Secret", Name: "database-cred-secret"}: {"username": "hannah", "password": "s3cr3t"},
		{Kind: "ConfigMap", Name: "database-config"}:   {"certificate": "-----BEGIN-----", "db_timeout": "10s"},
	}
}

func reader(held map[generate.Reference]map[string]string) generate.Read {
	return func(ref generate.Reference) (map[string][]byte, bool) {
		entries, ok := held[ref]
		if !ok {
			return nil, false
		}
		data := map[string][]byte{}
		for key, value := range entries {
			data[key] = []byte(value)
		}
		return data, true
	}
}

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	var root map[string]any
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

func strs(data map[string][]byte) map[string]string {
	texts := map[string]string{}
	for key, value := range data {
		texts[key] = string(value)
	}
	return texts
}

// described puts the annotations of a resource into a recipe.
func described(annotations map[string]string) (*generate.Recipe, error) {
	return generate.Describe(generate.Sources{Kind: databaseKind, Name: "my-cluster", Definition: databaseDefinition, Resource: annotations})
}

// made makes the entries of the database that has these annotations.
func made(t *testing.T, service string, annotations map[string]string) (map[string]string, error) {
	t.Helper()
	recipe, err := described(annotations)
	if err != nil {
		return nil, err
	}
	result, err := recipe.Make(tree(t, service), reader(objects()))
	if err != nil {
		return nil, err
	}
	return strs(result.Data), nil
}

// clusterServiceVersion describes the database by descriptors, given as YAML lists.
func clusterServiceVersion(t *testing.T, name, spec, status string) map[string]any {
	t.Helper()
	csv := tree(t, `
metadata: {name: `+name+`}
spec:
  customresourcedefinitions:
    owned:
    - {name: others.apps.kube.io, version: v1beta1, statusDescriptors: [{path: x, x-descriptors: ["service.binding:other"]}]}
    - {name: databases.apps.kube.io, version: v1alpha1, statusDescriptors: [{path: old, x-descriptors: ["service.binding:old"]}]}
    - {name: databases.apps.kube.io, version: v1beta1, kind: Database}
`)
	owned := csv["spec"].(map[string]any)["customresourcedefinitions"].(map[string]any)["owned"].([]any)[2].(map[string]any)
	for list, text := range map[string]string{"specDescriptors": spec, "statusDescriptors": status} {
		var entries []any
		if err := yaml.Unmarshal([]byte(text), &entries); err != nil {
			t.Fatal(err)
		}
		owned[list] = entries
	}
	return csv
}
