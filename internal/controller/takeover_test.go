package controller_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// referenceFinalizer is what the specification's reference runtime puts on the bindings it has in hand.
const referenceFinalizer = "servicebinding.io/finalizer"

// referenceDeployment is a Deployment as the reference runtime leaves it: bound to Secret db with an overridden type and
// one variable.
func referenceDeployment(uid string) string {
	text := `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: orders
  annotations:
    projector.servicebinding.io/mapping-UID: '{"version":"*","annotations":".spec.template.metadata.annotations","containers":[{"path":".spec.template.spec.initContainers[*]","name":".name","env":".env","volumeMounts":".volumeMounts"},{"path":".spec.template.spec.containers[*]","name":".name","env":".env","volumeMounts":".volumeMounts"}],"volumes":".spec.template.spec.volumes"}'
spec:
  replicas: 1
  selector: {matchLabels: {app: orders}}
  template:
    metadata:
      labels: {app: orders}
      annotations:
        projector.servicebinding.io/secret-UID: db
        projector.servicebinding.io/type-UID: mysql
    spec:
      containers:
      - name: main
        image: example.com/main:1
        env:
        - {name: LOG, value: debug}
        - {name: OWN_PASSWORD, valueFrom: {secretKeyRef: {name: other, key: password}}}
        - {name: SERVICE_BINDING_ROOT, value: /bindings}
        - {name: DB_HOST, valueFrom: {secretKeyRef: {name: db, key: host}}}
        - {name: DB_TYPE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['projector.servicebinding.io/type-UID']"}}}
        volumeMounts:
        - {name: servicebinding-UID, mountPath: /bindings/orders-db, readOnly: true}
      volumes:
      - name: servicebinding-UID
        projected:
          sources:
          - secret: {name: db}
          - downwardAPI:
              items:
              - {path: type, fieldRef: {fieldPath: "metadata.annotations['projector.servicebinding.io/type-UID']"}}
`
	return strings.ReplaceAll(text, "UID", uid)
}

// testTakeover sees that what the reference runtime projected is adopted without a write, and unbound whole.
func testTakeover(t *testing.T, config *rest.Config) {
	k := clusterOf(t, config)
	k.create(secretText("db"))
	k.create(bindingText("orders-db", "db", "orders", "type: mysql", "env: [{name: DB_HOST, key: host}, {name: DB_TYPE, key: type}]"))
	k.merge(bindings, "orders-db", fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, referenceFinalizer))
	k.create(referenceDeployment(string(k.binding("orders-db").UID)))
	before := k.template(t, "orders")

	watched := &counting{}
	start(t, config, func(next http.RoundTripper) http.RoundTripper {
		watched.next = next
		return watched
	})
	k.ready("orders-db")
	if diff := cmp.Diff(before, k.template(t, "orders")); diff != "" {
		t.Errorf("taking over changed the pod template (-before +after):\n%s", diff)
	}
	watched.mu.Lock()
	for _, path := range watched.written {
		if strings.Contains(path, "/"+k.ns+"/deployments/") {
			t.Errorf("taking over wrote %s", path)
		}
	}
	watched.mu.Unlock()

	k.remove(bindings, "orders-db")
	k.gone(bindings, "orders-db")
	after := fmt.Sprint(k.get(deployments, "orders").Object["spec"], k.get(deployments, "orders").GetAnnotations())
	for _, trace := range []string{"servicebinding", "DB_HOST", "DB_TYPE", "mysql"} {
		if strings.Contains(after, trace) {
			t.Errorf("unbinding left %q behind: %s", trace, after)
		}
	}
	for _, own := range []string{"LOG", "OWN_PASSWORD", "SERVICE_BINDING_ROOT"} {
		if !strings.Contains(after, own) {
			t.Errorf("unbinding took %s, which counts as a person's: %s", own, after)
		}
	}
}
