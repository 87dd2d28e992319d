package canary_test

import (
	"fmt"
	"strings"
)

// secretText is a Secret whose every value is the canary, or begins or ends with it.
func secretText(name, value string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %s, namespace: shop}
stringData: {type: %[2]s, provider: "x%[2]s", host: "%[2]s.example.com", username: "u-%[2]s", password: %[2]s}
`, name, value)
}

// deploymentText is a Deployment with a person's own variable.
func deploymentText(name, private string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: shop, labels: {part: %[1]s, team: a}}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - {name: main, image: example.com/main:1, env: [{name: OWN, value: %[2]s}]}
      - {name: side, image: example.com/side:1}
`, name, private)
}

// bindingText is a binding of a service and a workload, given as YAML, with further lines of its spec.
func bindingText(name, service, workload string, more ...string) string {
	return fmt.Sprintf(`
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: %s, namespace: shop}
spec:
  service: {%s}
  workload: {%s}
%s`, name, service, workload, strings.Join(more, "\n"))
}

func secret(name string) string { return "apiVersion: v1, kind: Secret, name: " + name }

func database(name string) string {
	return "apiVersion: services.example.com/v1, kind: Database, name: " + name
}

func deployment(name string) string { return "apiVersion: apps/v1, kind: Deployment, name: " + name }

const variables = `  env: [{name: DB_PASSWORD, key: password}, {name: DB_TYPE, key: type}]`

// world is what the story needs before it begins: a namespace, a kind of service, a kind of workload with a mapping, a
// policy that refuses, and a person who may only write bindings.
const world = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.services.example.com}
spec:
  group: services.example.com
  scope: Namespaced
  names: {kind: Database, plural: databases, singular: database, listKind: DatabaseList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: functions.fn.example.com}
spec:
  group: fn.example.com
  scope: Namespaced
  names: {kind: Function, plural: functions, singular: function, listKind: FunctionList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: canary-kinds, labels: {servicebinding.io/controller: "true"}}
rules:
- {apiGroups: [services.example.com, fn.example.com], resources: [databases, functions], verbs: [get, list, watch, update, patch]}
---
apiVersion: servicebinding.io/v1
kind: ClusterWorkloadResourceMapping
metadata: {name: functions.fn.example.com}
spec:
  versions:
  - {version: "*", annotations: .spec.meta, volumes: .spec.storage, containers: [{path: ".spec.steps[*]", name: .id, env: .variables}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuse-variable}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}]}
  validations:
  - expression: object.spec.template.spec.containers.all(c, !has(c.env) || c.env.all(e, e.name != 'REFUSED'))
    message: the variable REFUSED is refused
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuse-variable}
spec: {policyName: refuse-variable, validationActions: [Deny]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: binder, namespace: shop}
rules: [{apiGroups: [servicebinding.io], resources: [servicebindings], verbs: [get, create, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: binder, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: binder}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: binder}]
`
