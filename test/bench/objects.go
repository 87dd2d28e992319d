package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/projection"
)

// namespace holds everything that is bound.
const namespace = "bench"

// volumePrefix begins the name of every volume that a projection adds.
const volumePrefix = "servicebinding-"

// The kinds that take part, as the API server's paths name them.

func namespaces() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
}

func secrets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
}

func deployments() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

func servicebindings() schema.GroupVersionResource {
	return bindingv1.GroupVersion.WithResource("servicebindings")
}

// nameOf names the Secret, the Deployment and the ServiceBinding that belong together.
func nameOf(i int) string { return fmt.Sprintf("orders-%05d", i) }

const serviceManifest = `
apiVersion: v1
kind: Secret
metadata: {name: NAME, namespace: bench}
type: servicebinding.io/postgresql
stringData: {type: postgresql, provider: bench, host: NAME.example, port: "5432", database: orders, username: app, password: "0000"}
`

const bindingManifest = `
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: NAME, namespace: bench}
spec:
  workload: {apiVersion: apps/v1, kind: Deployment, name: NAME}
  service: {apiVersion: v1, kind: Secret, name: NAME}
  env:
  - {name: DATABASE_HOST, key: host}
`

// deploymentManifest is about what a program of some years has: three containers and one that prepares their volumes.
const deploymentManifest = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  namespace: bench
  labels: {app.kubernetes.io/name: NAME, app.kubernetes.io/part-of: shop}
  annotations: {example.com/owner: team-orders}
spec:
  replicas: 3
  selector: {matchLabels: {app.kubernetes.io/name: NAME}}
  template:
    metadata:
      labels: {app.kubernetes.io/name: NAME, app.kubernetes.io/part-of: shop}
      annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9090"}
    spec:
      initContainers:
      - name: migrate
        image: registry.example/orders-migrate:1.4.2
        args: [--wait, --target=latest]
        env:
        - {name: LOG_LEVEL, value: info}
        - {name: SCHEMA, value: orders}
        volumeMounts:
        - {name: work, mountPath: /work}
      containers:
      - name: orders
        image: registry.example/orders:1.4.2
        ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090}]
        env:
        - {name: LOG_LEVEL, value: info}
        - {name: HTTP_ADDRESS, value: ":8080"}
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: FEATURES, valueFrom: {configMapKeyRef: {name: NAME, key: features, optional: true}}}
        - {name: MEMORY_LIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
        readinessProbe: {httpGet: {path: /readyz, port: http}, periodSeconds: 5}
        livenessProbe: {httpGet: {path: /healthz, port: http}}
        volumeMounts:
        - {name: work, mountPath: /work}
        - {name: settings, mountPath: /etc/orders, readOnly: true}
        - {name: cache, mountPath: /var/cache/orders}
      - name: proxy
        image: registry.example/proxy:2.9.0
        args: [--config=/etc/proxy/proxy.yaml]
        ports: [{name: https, containerPort: 8443}]
        env:
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: UPSTREAM, value: "http://127.0.0.1:8080"}
        resources: {requests: {cpu: 50m, memory: 64Mi}}
        volumeMounts:
        - {name: settings, mountPath: /etc/proxy, readOnly: true}
      - name: logs
        image: registry.example/logs:3.1.7
        env:
        - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        volumeMounts:
        - {name: work, mountPath: /work, readOnly: true}
        - {name: cache, mountPath: /cache, readOnly: true}
      volumes:
      - {name: work, emptyDir: {}}
      - {name: cache, emptyDir: {sizeLimit: 64Mi}}
      - {name: settings, configMap: {name: NAME, optional: true}}
`

// object returns the object of a manifest for one name.
func object(manifest, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(manifest, "NAME", name)))
	if err == nil {
		err = o.UnmarshalJSON(data)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of %q: %w", name, err)
	}
	return o, nil
}

// volumes returns the volumes of a workload that a projection added.
func volumes(workload *unstructured.Unstructured) []string {
	var names []string
	list, _, _ := unstructured.NestedSlice(workload.Object, "spec", "template", "spec", "volumes")
	for _, entry := range list {
		fields, _ := entry.(map[string]any)
		if name, _ := fields["name"].(string); strings.HasPrefix(name, volumePrefix) {
			names = append(names, name)
		}
	}
	return names
}

// isReady says whether the condition Ready is True and of the newest spec.
func isReady(binding *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(binding.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(binding.Object, "status", "conditions")
	return observed == binding.GetGeneration() && slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == "Ready" && fields["status"] == "True"
	})
}

// project returns what a binding still changes about a workload.
func project(binding, workload *unstructured.Unstructured) ([]projection.Operation, error) {
	name := binding.GetName()
	want := projection.Binding{
		UID: string(binding.GetUID()), Name: name, Secret: name,
		Env: []projection.Env{{Name: "DATABASE_HOST", Key: "host"}},
	}
	after, refusals, err := projection.Settle(workload.Object, projection.Default(), []projection.Binding{want}, nil)
	if err != nil {
		return nil, fmt.Errorf("projecting binding %q: %w", name, err)
	}
	if len(refusals) > 0 {
		return nil, fmt.Errorf("projecting binding %q: %w", name, refusals[0])
	}
	return projection.Diff(workload.Object, after), nil
}
