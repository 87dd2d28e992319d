package extensions_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestWithin: a scenario that does not hold must fail.
func TestWithin(t *testing.T) {
	t.Parallel()
	for reason, test := range map[string]struct {
		want, got string
		holds     bool
	}{
		"what is not wanted does not count":       {"a: {b: 1}", "{a: {b: 1, c: 2}, d: 3}", true},
		"another value":                           {"a: {b: 1}", "a: {b: 2}", false},
		"a field that is not there":               {"a: {b: 1}", "a: {}", false},
		"a list of another length":                {"a: [1]", "a: [1, 2]", false},
		"a list in another order":                 {"a: [1, 2]", "a: [2, 1]", false},
		"items in part":                           {"a: [{b: 1}]", "a: [{b: 1, c: 2}]", true},
		"conditions go by their type":             {"conditions: [{type: B, reason: x}]", "conditions: [{type: A}, {type: B, reason: x}]", true},
		"a condition that is not there":           {"conditions: [{type: C}]", "conditions: [{type: A}]", false},
		"a condition with another reason":         {"conditions: [{type: A, reason: x}]", "conditions: [{type: A, reason: y}]", false},
		"an entry that a Secret must not have":    {"{entries: {a: x}}", "{entries: {a: x, b: y}}", false},
		"an entry that a Secret must have":        {"{entries: {a: x, b: y}}", "{entries: {a: x}}", false},
		"entries that are the same":               {"{entries: {a: x}}", "{kind: Secret, entries: {a: x}}", true},
		"something else than an object":           {"a: {b: 1}", "a: 1", false},
		"something that must be empty and is not": {"a: []", "a: [1]", false},
	} {
		var want, got any
		if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(test.got), &got); err != nil {
			t.Fatal(err)
		}
		if err := within("", want, got); (err == nil) != test.holds {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestKubelet: what containers see is told as the kubelet would have it.
func TestKubelet(t *testing.T) {
	t.Parallel()
	var template corev1.PodTemplateSpec
	err := yaml.Unmarshal([]byte(`
metadata: {annotations: {example.com/type: postgresql}}
spec:
  volumes:
  - name: binding
    projected:
      sources:
      - secret: {name: db}
      - downwardAPI: {items: [{path: type, fieldRef: {fieldPath: "metadata.annotations['example.com/type']"}}]}
  - {name: other, emptyDir: {}}
  containers:
  - name: app
    volumeMounts: [{name: binding, mountPath: /bindings/db}, {name: other, mountPath: /tmp}]
    env:
    - {name: ROOT, value: /bindings}
    - {name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}
`), &template)
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelet{template: &template, secrets: map[string]map[string]string{"db": {"type": "mysql", "password": "x\ny", "empty": ""}}}
	got, err := k.look(&template.Spec.Containers[0])
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`/bindings/db/empty = ""`, `/bindings/db/password = "x\ny"`, "/bindings/db/type = postgresql",
		`$PASSWORD = "x\ny"`, "$ROOT = /bindings",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	delete(k.secrets["db"], "password")
	if _, err := k.look(&template.Spec.Containers[0]); err == nil || !strings.Contains(err.Error(), "$PASSWORD") {
		t.Errorf("a container that cannot start: %v", err)
	}
}

// TestBetrayed: a value that stands where it must not is found.
func TestBetrayed(t *testing.T) {
	t.Parallel()
	places := map[string]string{"Deployment app": "args: [correct-horse]"}
	for reason, test := range map[string]struct {
		key, value string
		found      bool
	}{
		"it stands there":                   {"password", "correct-horse", true},
		"it stands nowhere":                 {"password", "battery-staple", false},
		"too short to be sure":              {"password", "horse", false},
		"what a binding may have as a type": {"type", "correct-horse", false},
	} {
		if place := betrayed(places, test.key, test.value); (place != "") != test.found {
			t.Errorf("%s: %q", reason, place)
		}
	}
	const secret = "said-in-the-log-of-a-test"
	if _, err := logged.Write([]byte(metav1.NamespaceDefault + " " + secret + "\n")); err != nil {
		t.Fatal(err)
	}
	if betrayed(nil, "password", secret) != "the log" {
		t.Error("a password in the log is not found")
	}
}
