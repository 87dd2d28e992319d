package conformance

import (
	"strings"
)

// The objects that most clauses use. No pod of them ever runs: nothing is scheduled, and the image is none.

// entries are those of the usual Secret. They stand for credentials and are none.
var entries = map[string]string{
	"type": "postgresql", "provider": "example",
	"host": "db.example.com", "port": "5432", "username": "orders", "password": "not-a-password-1",
}

const secretManifest = `
---
apiVersion: v1
kind: Secret
metadata: {name: db-secret}
type: servicebinding.io/postgresql
stringData:
  type: postgresql
  provider: example
  host: db.example.com
  port: "5432"
  username: orders
  password: not-a-password-1
`

const otherSecretManifest = `
---
apiVersion: v1
kind: Secret
metadata: {name: other-secret}
type: servicebinding.io/redis
stringData: {type: redis, provider: other, host: cache.example.com, password: not-a-password-2}
`

const deploymentManifest = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders, labels: {app: orders, part-of: shop}}
spec:
  replicas: 0
  selector: {matchLabels: {app: orders}}
  template:
    metadata: {labels: {app: orders}}
    spec:
      initContainers:
      - {name: migrate, image: none}
      containers:
      - {name: main, image: none, env: [{name: LOG, value: debug}]}
      - {name: sidecar, image: none}
`

const bindingManifest = `
---
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: db}
spec:
  service: {apiVersion: v1, kind: Secret, name: db-secret}
  workload: {apiVersion: apps/v1, kind: Deployment, name: orders}
`

const databaseManifest = `
---
apiVersion: services.conformance.test/v1
kind: Database
metadata: {name: main}
status: {binding: {name: db-secret}}
`

const databaseBindingManifest = `
---
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: db}
spec:
  service: {apiVersion: services.conformance.test/v1, kind: Database, name: main}
  workload: {apiVersion: apps/v1, kind: Deployment, name: orders}
`

// usual is a Secret, a Deployment and the binding of the two.
const usual = secretManifest + deploymentManifest + bindingManifest

// with puts further lines into the spec of a binding, or of whatever ends with its spec.
func with(manifest string, lines ...string) string {
	return manifest + "  " + strings.Join(lines, "\n  ") + "\n"
}

// swap replaces text in a manifest, in pairs of old and new.
func swap(manifest string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(manifest)
}
