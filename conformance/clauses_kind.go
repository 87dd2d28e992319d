package conformance

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds of workloads, and the clauses that need a node.

const podTemplate = `
  template:
    metadata: {labels: {app: w}}
    spec: {nodeSelector: {conformance.test/nowhere: "true"}, containers: [{name: main, image: none}]}
`

// kindManifest is a workload of a built-in kind that makes no pod.
func kindManifest(apiVersion, kind, spec string) string {
	return fmt.Sprintf("\n---\napiVersion: %s\nkind: %s\nmetadata: {name: w, labels: {app: w}}\nspec:\n  %s%s",
		apiVersion, kind, spec, podTemplate)
}

func kindBinding(apiVersion, kind string) string {
	return swap(bindingManifest, "apps/v1, kind: Deployment, name: orders", apiVersion+", kind: "+kind+", name: w")
}

// kindClause says that a built-in kind with a pod template can be bound and unbound.
func kindClause(name, apiVersion, kind, spec string) Clause {
	return Clause{
		Name: "kind-" + name, SpecRef: "Terminology definition", Level: Stated,
		Text:      "a " + kind + " is PodSpec-able: it is bound, and unbound",
		Manifests: secretManifest + kindManifest(apiVersion, kind, spec) + kindBinding(apiVersion, kind),
		Test: func(t *T) {
			group := ""
			if apiVersion != "v1" {
				group = apiVersion[:len(apiVersion)-len("/v1")]
			}
			w := workloadOf(group, name+"s", "w")
			t.ready("db")
			t.bound(w, "main", "db")
			t.unbind("db")
			t.unbound(w, "main", "db")
		},
	}
}

const always = "selector: {matchLabels: {app: w}}"

var (
	cronJob = target{workloadOf("batch", "cronjobs", "w").resource, "w", shapeAt("spec/jobTemplate/spec/template")}
	job     = workloadOf("batch", "jobs", "w")
)

var kindClauses = []Clause{
	kindClause("deployment", "apps/v1", "Deployment", "replicas: 0\n  "+always),
	kindClause("statefulset", "apps/v1", "StatefulSet", "replicas: 0\n  serviceName: w\n  "+always),
	kindClause("daemonset", "apps/v1", "DaemonSet", always),
	kindClause("replicaset", "apps/v1", "ReplicaSet", "replicas: 0\n  "+always),
	kindClause("replicationcontroller", "v1", "ReplicationController", "replicas: 0\n  selector: {app: w}"),
	{
		Name: "kind-cronjob", SpecRef: "Workload Resource Mapping", Level: Must,
		Text:      "a CronJob is bound with the mapping that the specification shows; the cluster's own is used where there is one",
		Manifests: secretManifest + cronJobManifest,
		Test: func(t *T) {
			t.ensure(cronJobMapping)
			before := t.template(cronJob)
			t.Apply(kindBinding("batch/v1", "CronJob"))
			t.ready("db")
			t.bound(cronJob, "main", "db")
			t.bound(cronJob, "prepare", "db")
			t.unbind("db")
			t.restored(cronJob, before)
		},
	},
	{
		Name: "kind-job-tells-the-truth", SpecRef: "Ready Condition Status", Level: Must,
		Text:      "the pods of an existing Job cannot be changed: Ready is False, with a message, unless the Job is bound all the same",
		Manifests: secretManifest + jobManifest + kindBinding("batch/v1", "Job"),
		Test:      testJob,
	},
	{
		Name: "kind-job-at-creation", SpecRef: "Service Binding", Level: May,
		Text:      "a Job that is created after its binding is bound while it is created",
		Manifests: secretManifest + kindBinding("batch/v1", "Job"),
		Test: func(t *T) {
			t.unready("db")
			t.Apply(jobManifest)
			t.bound(job, "main", "db")
			t.ready("db")
		},
	},
}

const cronJobManifest = `
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: w}
spec:
  schedule: "0 0 1 1 *"
  suspend: true
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          initContainers: [{name: prepare, image: none}]
          containers: [{name: main, image: none}]
`

const cronJobMapping = `
apiVersion: servicebinding.io/v1
kind: ClusterWorkloadResourceMapping
metadata: {name: cronjobs.batch}
spec:
  versions:
  - version: "*"
    annotations: .spec.jobTemplate.spec.template.metadata.annotations
    volumes: .spec.jobTemplate.spec.template.spec.volumes
    containers:
    - {path: ".spec.jobTemplate.spec.template.spec.containers[*]", name: .name}
    - {path: ".spec.jobTemplate.spec.template.spec.initContainers[*]", name: .name}
`

const jobManifest = `
---
apiVersion: batch/v1
kind: Job
metadata: {name: w}
spec:
  suspend: true
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: none}]}
`

func testJob(t *T) {
	t.Eventually("Ready says what is so", func() error {
		c := t.current("db")
		if c == nil {
			return errors.New("there is no such condition")
		}
		containers, err := t.view(job)
		if err != nil {
			return err
		}
		projected := mountedAt(containers["main"], "/bindings/db") == nil
		switch {
		case c.Status == metav1.ConditionTrue && projected:
			return nil
		case c.Status == metav1.ConditionFalse && !projected && c.Message != "":
			return nil
		}
		return fmt.Errorf("it is %s (%s), and the Job is bound: %t", c.Status, c.Message, projected)
	})
}

// probing is a Deployment whose pod becomes ready only when it finds what a check asks for.
func probing(check string) string {
	return `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders}
spec:
  replicas: 1
  selector: {matchLabels: {app: orders}}
  template:
    metadata: {labels: {app: orders}}
    spec:
      terminationGracePeriodSeconds: 0
      automountServiceAccountToken: false
      containers:
      - name: main
        image: IMAGE
        imagePullPolicy: IfNotPresent
        command: [sh, -c, "trap 'exit 0' TERM; while true; do sleep 1; done"]
        readinessProbe:
          periodSeconds: 1
          exec: {command: [sh, -c, '` + check + `']}
`
}

// runs applies a workload that runs the suite's image, and waits until its pod finds what it asks for.
func (t *T) runs(manifest string) {
	t.Apply(swap(manifest, "IMAGE", t.suite.options.Image))
	t.Eventually("the pod finds what it asks for", func() error {
		object, err := t.get(deployment.resource, deployment.name)
		if err != nil {
			return err
		}
		var d struct {
			Status struct {
				ObservedGeneration, UpdatedReplicas, AvailableReplicas, Replicas int64
			}
		}
		if err := decode(object.Object, &d); err != nil {
			return err
		}
		s := d.Status
		if s.ObservedGeneration != object.GetGeneration() || s.UpdatedReplicas != 1 || s.AvailableReplicas != 1 || s.Replicas != 1 {
			return errors.New("no pod of the newest template is ready")
		}
		return nil
	})
}

var nodeClauses = []Clause{
	{
		Name: "node-files", SpecRef: "Workload Projection", Level: Must, NeedsNode: true,
		Text:      "a process in a container finds each entry as a file in $SERVICE_BINDING_ROOT/<binding name>",
		Manifests: secretManifest + bindingManifest,
		Test: func(t *T) {
			t.runs(probing(`cd "$SERVICE_BINDING_ROOT/db" && test "$(cat type)" = postgresql && ` +
				`test "$(cat host)" = db.example.com && test "$(cat port)" = 5432 && test "$(cat provider)" = example`))
			t.ready("db")
		},
	},
	{
		Name: "node-overrides", SpecRef: "Reconciler Implementation", Level: Must, NeedsNode: true,
		Text:      "a process finds the binding's type and provider in place of the Secret's, below its own root",
		Manifests: secretManifest + with(bindingManifest, "type: mysql", "provider: acme"),
		Test: func(t *T) {
			t.runs(swap(probing(`cd /own/db && test "$(cat type)" = mysql && test "$(cat provider)" = acme && test -s password`),
				"        imagePullPolicy", "        env: [{name: SERVICE_BINDING_ROOT, value: /own}]\n        imagePullPolicy"))
			t.ready("db")
		},
	},
	{
		Name: "node-env", SpecRef: "Service Binding", Level: Must, NeedsNode: true,
		Text:      "a process finds the entries of .spec.env in its environment",
		Manifests: secretManifest + with(bindingManifest, "env: [{name: DB_HOST, key: host}]"),
		Test: func(t *T) {
			t.runs(probing(`test "$DB_HOST" = db.example.com`))
			t.ready("db")
		},
	},
	{
		Name: "node-several", SpecRef: "Service Binding", Level: Stated, NeedsNode: true,
		Text: "a process finds a directory for each of several bindings",
		Manifests: secretManifest + otherSecretManifest + bindingManifest +
			swap(bindingManifest, "{name: db}", "{name: cache}", "db-secret", "other-secret"),
		Test: func(t *T) {
			t.runs(probing(`cd "$SERVICE_BINDING_ROOT" && test "$(cat db/type)" = postgresql && test "$(cat cache/type)" = redis`))
			t.ready("db", "cache")
		},
	},
	{
		Name: "node-unbind", SpecRef: "Runtime Behavior", Level: Must, NeedsNode: true,
		Text:      "once unbound, a process of the workload finds nothing of the binding",
		Manifests: secretManifest + bindingManifest,
		Test: func(t *T) {
			t.runs(probing(`test -f "$SERVICE_BINDING_ROOT/db/type"`))
			t.unbind("db")
			t.patchJSON(deployment, `[{"op":"replace","path":"/spec/template/spec/containers/0/readinessProbe/exec/command/2",`+
				`"value":"test ! -e \"${SERVICE_BINDING_ROOT:-/bindings}/db\""}]`)
			t.runs("")
		},
	},
}
