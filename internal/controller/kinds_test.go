package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// databases is a kind of service that tests may bind: it is defined and granted from the start.
var databases = schema.GroupVersionResource{Group: "services.example.com", Version: "v1", Resource: "databases"}

// definitionText defines a namespaced kind that keeps any field.
func definitionText(kind, group string) string {
	singular := strings.ToLower(kind)
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[1]ss, singular: %[1]s, listKind: %[3]sList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, singular, group, kind)
}

// grantText lets the controller read and write a resource, as the specification has it.
func grantText(resource, group string) string {
	return fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: test-%[1]s.%[2]s
  labels: {servicebinding.io/controller: "true"}
rules:
- {apiGroups: [%[2]s], resources: [%[1]s], verbs: [get, list, watch, update, patch]}
`, resource, group)
}

// defineKinds makes the kinds that many tests share.
func defineKinds() error {
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	for _, text := range []string{definitionText("Database", databases.Group), grantText("databases", databases.Group)} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			return fmt.Errorf("parsing: %w", err)
		}
		_, err := client.Resource(resourceOf(object.GroupVersionKind())).Create(context.Background(), object, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// serve makes a Database whose status names a Secret; "" for none.
func (k *cluster) serve(name, secret string) {
	k.t.Helper()
	document := fmt.Sprintf("apiVersion: services.example.com/v1\nkind: Database\nmetadata: {name: %s}\n", name)
	k.eventually("kind Database is served", func() error { return k.tryCreate(document) })
	k.expose(name, secret)
}

// expose changes the Secret that a Database names.
func (k *cluster) expose(name, secret string) {
	k.t.Helper()
	if secret != "" {
		k.merge(databases, name, fmt.Sprintf(`{"status":{"binding":{"name":%q}}}`, secret), "status")
	}
}

func databaseBinding(name, database, deployment string) string {
	return strings.Replace(bindingText(name, database, deployment),
		"{apiVersion: v1, kind: Secret,", "{apiVersion: services.example.com/v1, kind: Database,", 1)
}

// template returns the pod template of a Deployment.
func (k *cluster) template(t *testing.T, deployment string) map[string]any {
	t.Helper()
	template, _, err := unstructured.NestedMap(k.get(deployments, deployment).Object, "spec", "template")
	if err != nil {
		t.Fatal(err)
	}
	return template
}
