package convert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/compose"
	"github.com/bowline-dev/bowline/internal/convert"
	"github.com/bowline-dev/bowline/projection"
)

const canary = "canary-swordfish"

// world is what a binding refers to.
const world = `
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: shop}
data: {host: aG9zdA==, bin: /wD+}
stringData: {username: u, password: ` + canary + `, tls.crt: pem}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders, namespace: shop}
spec: {template: {spec: {initContainers: [{name: prepare}], containers: [{name: app}, {name: proxy}, {name: logs}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders}
spec: {template: {spec: {containers: [{name: elsewhere}]}}}
`

// objects reads YAML.
func objects(t interface{ Fatal(args ...any) }, text string) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	return all
}

// into decodes an object into its type.
func into[T any](t interface{ Fatal(args ...any) }, object *unstructured.Unstructured) *T {
	data, err := json.Marshal(object.Object)
	typed := new(T)
	if err == nil {
		err = json.Unmarshal(data, typed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return typed
}

// drawValue draws a template of entries and of mappings that were made before.
func drawValue(t *rapid.T, keys []string) string {
	var value strings.Builder
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		switch rapid.IntRange(0, 3).Draw(t, "part") {
		case 0:
			value.WriteString(template(rapid.StringMatching(`[a-z(\\:/]{0,5}`).Draw(t, "text")))
		default:
			value.WriteString("((" + rapid.SampledFrom(keys).Draw(t, "key") + "))")
		}
	}
	return value.String()
}

// template keeps a text from running into a token.
func template(text string) string { return strings.ReplaceAll(text, "((", `\((`) + "|" }

func drawDraft(t *rapid.T) *draftv1alpha1.ServiceBinding {
	b := &draftv1alpha1.ServiceBinding{}
	b.APIVersion, b.Kind = "service.binding/v1alpha1", "ServiceBinding"
	b.Name, b.Namespace, b.UID = "old", "shop", "u-1"
	b.Spec.Name = rapid.SampledFrom([]string{"", "dir"}).Draw(t, "name")
	b.Spec.Type = rapid.SampledFrom([]string{"", "postgresql", "a ((b"}).Draw(t, "type")
	b.Spec.Kind = rapid.SampledFrom([]string{"", "database"}).Draw(t, "kind")
	b.Spec.Provider = rapid.SampledFrom([]string{"", "acme"}).Draw(t, "provider")
	b.Spec.Application = draftv1alpha1.ApplicationReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "orders"}
	b.Spec.Service = draftv1alpha1.ObjectReference{APIVersion: "v1", Kind: "Secret", Name: "db"}
	for range rapid.IntRange(0, 3).Draw(t, "containers") {
		if rapid.Bool().Draw(t, "named") {
			b.Spec.Application.Containers = append(b.Spec.Application.Containers,
				intstr.FromString(rapid.SampledFrom([]string{"app", "prepare", "none"}).Draw(t, "container")))
		} else {
			b.Spec.Application.Containers = append(b.Spec.Application.Containers, intstr.FromInt32(rapid.Int32Range(0, 3).Draw(t, "position")))
		}
	}
	keys := []string{"host", "username", "password", "tls.crt", "bin", "type"}
	for i := range rapid.IntRange(0, 3).Draw(t, "mappings") {
		name := rapid.SampledFrom([]string{fmt.Sprint("made-", i), "host", "tls.crt"}).Draw(t, "entry")
		if slices.ContainsFunc(b.Spec.Mappings, func(m draftv1alpha1.Mapping) bool { return m.Name == name }) {
			continue
		}
		b.Spec.Mappings = append(b.Spec.Mappings, draftv1alpha1.Mapping{Name: name, Value: drawValue(t, keys)})
		keys = append(keys, name)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "env") {
		b.Spec.Env = append(b.Spec.Env, draftv1alpha1.EnvVar{Name: fmt.Sprint("V_", i), Value: drawValue(t, keys)})
	}
	return b
}

// lawConvert: whatever is rewritten projects the same variables into the same containers, from a Secret with the same entries. What
// is not stays as it is, and is told. It says whether it was rewritten.
func lawConvert(t *rapid.T) bool {
	draft := drawDraft(t)
	given := append(objects(t, world), asObject(t, draft))
	before := copies(given)
	result := convert.Convert(given)
	if diff := cmp.Diff(before, given); diff != "" {
		t.Fatalf("what was given is changed (-before +after):\n%s", diff)
	}
	if text := fmt.Sprint(result.Remarks); strings.Contains(text, canary) {
		t.Fatalf("a remark holds a value: %s", text)
	}
	last := result.Objects[len(result.Objects)-1]
	if last.GroupVersionKind().Group != "service.binding" {
		comesToTheSame(t, draft, result.Objects)
		return true
	}
	if len(result.Remarks) != 1 || !result.Remarks[0].Kept || len(result.Objects) != len(given) {
		t.Fatalf("a binding is kept, and told is %+v", result.Remarks)
	}
	return false
}

func TestConvertedProjectsTheSame(t *testing.T) {
	t.Parallel()
	converted := 0
	rapid.Check(t, func(t *rapid.T) {
		if lawConvert(t) {
			converted++
		}
	})
	if converted == 0 {
		t.Error("none was converted")
	}
}

func FuzzConvert(f *testing.F) { f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { lawConvert(t) })) }

// comesToTheSame compares what becomes of a draft's binding with what becomes of its conversion.
func comesToTheSame(t *rapid.T, draft *draftv1alpha1.ServiceBinding, made []*unstructured.Unstructured) {
	entries := map[string][]byte{
		"host": []byte("host"), "bin": {0xff, 0, 0xfe}, "username": []byte("u"), "password": []byte(canary), "tls.crt": []byte("pem"),
	}
	old, now := binding.FromDraft(draft), into[bindingv1.ServiceBinding](t, made[len(made)-1])
	now.UID = draft.UID
	model := binding.FromV1(now)
	if old.Fault != nil || model.Fault != nil {
		t.Fatalf("faults: %v, %v", old.Fault, model.Fault)
	}
	derived := deriveFor(t, draft, entries)
	if model.Service != old.Service {
		served := synthesized(t, into[draftv1alpha1.SyntheticProvisionedService](t, made[len(made)-2]), entries)
		if diff := cmp.Diff(derived.Data, served); diff != "" {
			t.Fatalf("entries (-draft +converted):\n%s", diff)
		}
	}
	old.Projection.Env, old.Projection.Secret, model.Projection.Secret = derived.Env, "s", "s"
	workload := made[1].Object
	if diff := cmp.Diff(projected(t, workload, old.Projection), projected(t, workload, model.Projection)); diff != "" {
		t.Fatalf("workload (-draft +converted):\n%s", diff)
	}
}

func deriveFor(t *rapid.T, draft *draftv1alpha1.ServiceBinding, entries map[string][]byte) *compose.Derived {
	model := binding.FromDraft(draft)
	templates := compose.Templates{Type: model.Projection.Type, Provider: model.Projection.Provider}
	if model.Composition != nil {
		for _, m := range model.Composition.Mappings {
			templates.Mappings = append(templates.Mappings, compose.Mapping(m))
		}
		for _, e := range model.Composition.Env {
			templates.Env = append(templates.Env, compose.Variable(e))
		}
	}
	derived, err := compose.Derive(entries, templates)
	if err != nil {
		// A variable that is one entry as it is needs no Secret to be known: the container tells of a missing entry.
		derived = &compose.Derived{}
		for _, e := range templates.Env {
			derived.Env = append(derived.Env, projection.Env{Name: e.Name, Key: strings.Trim(e.Value, "()")})
		}
	}
	return derived
}

func synthesized(t *rapid.T, s *draftv1alpha1.SyntheticProvisionedService, entries map[string][]byte) map[string][]byte {
	one := s.Spec.Services[0]
	encoded, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "data": entries})
	object := map[string]any{}
	if err == nil {
		err = json.Unmarshal(encoded, &object)
	}
	if err != nil {
		t.Fatal(err)
	}
	synthetic := compose.Synthetic{Type: s.Spec.Type, Provider: s.Spec.Provider, Sources: []compose.Source{{
		ID: one.ID, APIVersion: one.APIVersion, Kind: one.Kind, Name: one.Name, Object: object,
	}}}
	for _, m := range s.Spec.Mappings {
		synthetic.Mappings = append(synthetic.Mappings, compose.Mapping(m))
	}
	got, err := compose.Synthesize(synthetic)
	if err != nil {
		t.Fatal(err)
	}
	return got.Data
}

func projected(t *rapid.T, w projection.Workload, b projection.Binding) projection.Workload {
	after, err := projection.Project(w, projection.Default(), []projection.Binding{b})
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func asObject(t *rapid.T, draft *draftv1alpha1.ServiceBinding) *unstructured.Unstructured {
	data, err := json.Marshal(draft)
	object := &unstructured.Unstructured{}
	if err == nil {
		err = json.Unmarshal(data, &object.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func copies(given []*unstructured.Unstructured) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range given {
		all = append(all, object.DeepCopy())
	}
	return all
}

type keptCase struct{ reason, from, to, more, field, text string }

func keptCases() []keptCase {
	return []keptCase{
		{reason: "a position beyond the last", from: "name: orders}", to: "name: orders, containers: [7]}", field: "spec.application.containers[0]"},
		{
			reason: "a position in an unknown application", from: "name: orders}", to: "name: other, containers: [app, 0]}",
			field: "spec.application.containers[1]", text: "hand it in, too",
		},
		{
			reason: "a position in what is selected", from: "name: orders}", to: "selector: {matchLabels: {a: b}}, containers: [0]}",
			field: "spec.application.containers[0]", text: "name the container",
		},
		{
			reason: "a position in a kind with containers who knows where", from: "apps/v1, kind: Deployment, name: orders}",
			to: "example.com/v1, kind: Odd, name: odd, containers: [0]}", field: "spec.application.containers[0]",
			more: "\n---\n{apiVersion: example.com/v1, kind: Odd, metadata: {name: odd, namespace: shop}}",
		},
		{
			reason: "a mapping of a service", from: "v1, kind: Secret, name: db}",
			to:    "example.com/v1, kind: Postgres, name: db}\n  mappings: [{name: a, value: ((host))}]",
			field: "spec.mappings", text: "by hand",
		},
		{
			reason: "a variable of text in an unknown Secret", from: "name: db}", to: "name: other}\n  env: [{name: A, value: x}]",
			field: "spec.env", text: "hand the Secret in",
		},
		{reason: "an unknown entry", from: "type: postgresql", to: "mappings: [{name: a, value: x((none))}]", field: "spec.mappings[0].value"},
		{reason: "no type", from: "type: postgresql", to: "mappings: [{name: a, value: x}]", field: "spec.mappings", text: "type"},
		{reason: "a field that is none", from: "type:", to: "typ:", field: "spec", text: "typ"},
		{reason: "a broken rule", from: "name: orders}", to: "}", field: "spec.application.name"},
		{
			reason: "one of the same name", field: "metadata.name", text: "rename",
			more: "\n---\n{apiVersion: servicebinding.io/v1beta1, kind: ServiceBinding, metadata: {name: old, namespace: shop}}",
		},
		{
			reason: "templates that are too much", from: "type: postgresql", field: "spec.mappings", text: "too much",
			to: "type: postgresql\n  mappings: [" + bomb() + "]",
		},
	}
}

// TestKept: what cannot be said faithfully is kept, and the remark names the field.
func TestKept(t *testing.T) {
	t.Parallel()
	const good = `
apiVersion: service.binding/v1alpha1
kind: ServiceBinding
metadata: {name: old, namespace: shop}
spec:
  application: {apiVersion: apps/v1, kind: Deployment, name: orders}
  service: {apiVersion: v1, kind: Secret, name: db}
  type: postgresql
`
	for _, test := range keptCases() {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			given := objects(t, world+"---\n"+strings.Replace(good, test.from, test.to, 1)+test.more)
			result := convert.Convert(given)
			if diff := cmp.Diff(given, result.Objects); diff != "" {
				t.Errorf("objects (-given +got):\n%s", diff)
			}
			if len(result.Remarks) != 1 || !result.Remarks[0].Kept || result.Remarks[0].Field != test.field ||
				!strings.Contains(result.Remarks[0].Text, test.text) || result.Remarks[0].Object != 3 {
				t.Errorf("remarks are %+v, want one about %s that says %q", result.Remarks, test.field, test.text)
			}
		})
	}
}

// bomb is mappings that double each other, of nothing.
func bomb() string {
	var b bytes.Buffer
	b.WriteString(`{name: m0, value: ""}`)
	for i := range 40 {
		fmt.Fprintf(&b, `, {name: m%d, value: "((m%d))((m%d))"}`, i+1, i, i)
	}
	return b.String()
}

// TestWhatPersonsWroteStays: of the metadata all but what machines wrote.
func TestWhatPersonsWroteStays(t *testing.T) {
	t.Parallel()
	result := convert.Convert(objects(t, `
apiVersion: service.binding/v1alpha1
kind: ServiceBinding
metadata:
  name: old
  labels: {a: b}
  annotations: {bowline.dev/requester: x, bowline.dev/workload-kinds: x, bowline.dev/env: all, kubectl.kubernetes.io/last-applied-configuration: x}
  finalizers: [bowline.dev/unbind, example.com/x]
  uid: u
  resourceVersion: "1"
spec:
  application: {apiVersion: apps/v1, kind: Deployment, selector: {matchLabels: {a: b}}}
  service: {apiVersion: example.com/v1, kind: Postgres, name: db}
status: {conditions: []}`))
	want := objects(t, `
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: old, labels: {a: b}, annotations: {bowline.dev/env: all}, finalizers: [example.com/x]}
spec:
  workload: {apiVersion: apps/v1, kind: Deployment, selector: {matchLabels: {a: b}}}
  service: {apiVersion: example.com/v1, kind: Postgres, name: db}`)
	if diff := cmp.Diff(want, result.Objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(result.Remarks) > 0 {
		t.Errorf("remarks: %+v", result.Remarks)
	}
	if !maps.Equal(map[string]string{"a": "b"}, result.Objects[0].GetLabels()) {
		t.Error("labels are gone")
	}
}
