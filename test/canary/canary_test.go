package canary_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// values are what is looked for.
type values struct {
	// first and second are values of Secrets: one that is there from the start, and one that takes its place.
	first, second string
	// private is the value of a variable that a person wrote into a workload.
	private string
}

// TestNoValueShows sends values through all that Bowline does, and finds them nowhere but where a person put them.
func TestNoValueShows(t *testing.T) {
	v := values{canary(), canary(), canary()}
	b, k := start(t), as(t, "")
	k.create(world)
	bind(k, v)
	compose(k, v)
	locally(k, v)
	change(k, v)
	recompose(k, v)
	misuse(k, v)
	spoil(k, v)
	metrics, err := read(b.metrics)
	if err != nil {
		t.Fatalf("reading the metrics: %v", err)
	}
	v.sought(t, "the metrics", metrics)
	objects(k, v)
	uncompose(k)
	unbind(k)
	objects(k, v)
	log := b.stop()
	v.sought(t, "the controller's log", log)
	if !strings.Contains(string(log), "started watching a kind") {
		t.Error("the controller's log is not the one of level 1")
	}
	logs(t, v)
}

// bind goes through what succeeds.
func bind(k *cluster, v values) {
	k.create(secretText("db", v.first) + "\n---\n" + secretText("other", v.first))
	k.create(deploymentText("orders", v.private) + "\n---\n" + deploymentText("shipping", v.private))
	k.create("apiVersion: services.example.com/v1\nkind: Database\nmetadata: {name: pg, namespace: shop}\n")
	k.merge(databases, "pg", `{"status":{"binding":{"name":"db"}}}`, "status")
	k.create("apiVersion: fn.example.com/v1\nkind: Function\nmetadata: {name: f, namespace: shop}\nspec: {steps: [{id: one}]}\n")

	k.create(bindingText("direct", secret("db"), deployment("orders"), variables))
	k.create(bindingText("typed", secret("other"), deployment("orders"), "  type: postgresql", "  provider: bitnami",
		"  env: [{name: KIND, key: type}]"))
	k.create(bindingText("provisioned", database("pg"), deployment("orders"), "  env: [{name: PG_PASSWORD, key: password}]"))
	k.create(bindingText("selected", secret("db"), "apiVersion: apps/v1, kind: Deployment, selector: {matchLabels: {team: a}}"))
	k.create(bindingText("mapped", secret("db"), "apiVersion: fn.example.com/v1, kind: Function, name: f", variables))
	for _, name := range []string{"direct", "typed", "provisioned", "selected", "mapped"} {
		k.reason(name, "Projected")
	}
	k.create(bindingText("early", secret("db"), "apiVersion: batch/v1, kind: Job, name: later", variables))
	k.reason("early", "WorkloadNotFound")
	k.create(deploymentText("late", v.private)) // admission sees it whole
	k.reason("selected", "Projected")
	k.create(`
apiVersion: batch/v1
kind: Job
metadata: {name: later, namespace: shop}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/main:1}]}}}
`)
	k.reason("early", "Projected")
}

// change goes through what changes while bound.
func change(k *cluster, v values) {
	k.merge(secrets, "db", fmt.Sprintf(`{"stringData":{"password":%q,"added":%q}}`, v.second, v.second))
	k.merge(databases, "pg", `{"status":{"binding":{"name":"other"}}}`, "status")
	k.merge(bindings, "direct", `{"spec":{"workload":{"name":"shipping"}}}`)
	k.merge(bindings, "typed", `{"spec":{"type":null,"env":[{"name":"SHOWN","key":"password"}]}}`)
	for _, name := range []string{"direct", "typed", "provisioned"} {
		k.reason(name, "Projected")
	}
}

// misuse goes through what fails.
func misuse(k *cluster, v values) {
	k.create(bindingText("missing", secret("nothing"), deployment("orders")))
	k.reason("missing", "SecretNotFound")
	k.create(bindingText("unknown", "apiVersion: late.example.com/v1, kind: Late, name: x", deployment("orders")))
	k.reason("unknown", "ServiceKindUnknown")
	k.create(bindingText("collision", secret("other"), deployment("shipping"), "  name: direct"))
	k.reason("collision", "NameCollision")
	k.create(bindingText("refused", secret("other"), deployment("shipping"), "  env: [{name: REFUSED, key: password}]"))
	k.reason("refused", "WorkloadRejected")
	k.create(strings.Replace(secretText("token", v.first), "stringData: {", "type: helm.sh/release.v1\nstringData: {release: x, ", 1))
	k.create(bindingText("platform", secret("token"), deployment("orders")))
	k.reason("platform", "SecretNotFound")
	invalid := bindingText("invalid", secret("db"), deployment("orders"), "  name: ../x", "  env: [{name: A=, key: password}]")
	if err := k.try(invalid); !apierrors.IsInvalid(err) {
		k.t.Errorf("an invalid binding is answered with %v", err)
	} else {
		v.sought(k.t, "what is said of an invalid binding", []byte(err.Error()))
	}
	err := as(k.t, "binder").try(bindingText("stolen", secret("db"), deployment("orders"), variables))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "may not do what this binding") {
		k.t.Errorf("a binding of who may not read the Secret is answered with %v", err)
	} else {
		v.sought(k.t, "what is said of a binding whose author may not", []byte(err.Error()))
	}
}

func unbind(k *cluster) {
	k.remove("missing", "unknown", "collision", "refused", "platform", "selected", "typed", "provisioned", "mapped", "direct", "early")
}

// sought looks for all values in a text.
func (v values) sought(t *testing.T, where string, text []byte) {
	t.Helper()
	if len(text) == 0 {
		t.Errorf("%s is empty: nothing was looked at", where)
	}
	for what, value := range map[string]string{
		"a Secret's value": v.first, "a Secret's new value": v.second, "the value of a person's variable": v.private,
	} {
		if form := search(text, value); form != "" {
			t.Errorf("%s holds %s (%s)", where, what, form)
		}
	}
}

// objects looks for the values in every object there is. Those of Secrets stand in Secrets, and a person's own stands in
// their workloads; that it is found there shows that looking finds.
func objects(k *cluster, v values) {
	k.t.Helper()
	mayHold := map[string][]string{
		v.first: {"secrets"}, v.second: {"secrets"}, v.private: {"deployments", "replicasets", "pods"},
	}
	found := map[string]bool{}
	for resource, text := range k.everything() {
		for value, homes := range mayHold {
			form := search(text, value)
			if form == "" {
				continue
			}
			home := false
			for _, h := range homes {
				home = home || resource.Resource == h
			}
			if !home {
				k.t.Errorf("a value stands in one of the %s (%s)", resource.GroupResource(), form)
			}
			found[value] = true
		}
	}
	if len(found) != len(mayHold) {
		k.t.Errorf("%d of %d values were found where they belong: not all was looked at", len(found), len(mayHold))
	}
}

// logs looks for the Secrets' values in what the control plane wrote down: every request and every answer, but for those
// about the Secrets themselves. A person's own variable is part of their requests.
func logs(t *testing.T, v values) {
	t.Helper()
	v.private = canary()
	for _, path := range []string{plane.AuditLog(), plane.Log("kube-apiserver"), plane.Log("kube-controller-manager")} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v.sought(t, path, text)
		if path != plane.AuditLog() {
			continue
		}
		for _, said := range []string{`"requestObject":{`, `bowline-controller`, `subjectaccessreviews`, `secretKeyRef`} {
			if !strings.Contains(string(text), said) {
				t.Errorf("the audit log does not hold %q: it is not whole", said)
			}
		}
	}
}
