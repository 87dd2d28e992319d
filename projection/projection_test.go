package projection_test

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/projection"
)

func fromYAML(t testing.TB, text string) projection.Workload {
	t.Helper()
	var w projection.Workload
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func project(t testing.TB, w projection.Workload, bs ...projection.Binding) projection.Workload {
	t.Helper()
	after, err := projection.Project(w, projection.Default(), bs)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func container0(w projection.Workload) map[string]any {
	containers, _ := get(w, []string{"spec", "template", "spec", "containers"}).([]any)
	first, _ := containers[0].(map[string]any)
	return first
}

const oneContainer = `
metadata: {name: w}
spec: {template: {spec: {containers: [{name: app, env: [{name: OWN, value: secret-value}]}]}}}`

func database() projection.Binding {
	return projection.Binding{UID: "1-a", Name: "db", Secret: "s", Env: []projection.Env{{Name: "HOST", Key: "host"}}}
}

func TestWhatTheServerMakesOfItIsLeftAlone(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w projection.Workload){
		"field reference without a version": func(w projection.Workload) {
			volumes, _ := get(w, []string{"spec", "template", "spec", "volumes"}).([]any)
			volume, _ := volumes[0].(map[string]any)
			volume["projected"] = map[string]any{"sources": []any{
				map[string]any{"secret": map[string]any{"name": "s", "optional": false}},
				map[string]any{"downwardAPI": map[string]any{"items": []any{
					map[string]any{"path": "provider", "fieldRef": map[string]any{
						"fieldPath": "metadata.annotations['projector.servicebinding.io/provider-1-a']",
					}},
					map[string]any{"path": "type", "fieldRef": map[string]any{
						"fieldPath": "metadata.annotations['projector.servicebinding.io/type-1-a']",
					}},
				}}},
			}}
		},
		"other order": func(w projection.Workload) {
			env, _ := container0(w)["env"].([]any)
			env[0], env[2] = env[2], env[0]
		},
		"mapping written otherwise": func(w projection.Workload) {
			put(w, []string{"metadata", "annotations", "projector.servicebinding.io/mapping-1-a"},
				`{"version": "v1", "volumes": "['spec'].template.spec['volumes']"}`)
		},
	}
	b := database()
	b.Type, b.Provider = "postgresql", "acme"
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := project(t, fromYAML(t, oneContainer), b)
			change(w)
			if patch := projection.Diff(w, project(t, w, b)); len(patch) > 0 {
				t.Errorf("got a patch: %s", asJSON(patch))
			}
		})
	}
}

func TestReferenceRuntimeIsUnderstoodOnRemoval(t *testing.T) {
	t.Parallel()
	s := readScenario(t, "testdata/reference-runtime.txtar")
	after, err := projection.Unproject(s.workload, "11111111-aaaa")
	if err != nil {
		t.Fatal(err)
	}
	want := fromYAML(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, annotations: {}}
spec:
  template:
    metadata: {annotations: {}}
    spec:
      containers:
      - {name: app, env: [{name: SERVICE_BINDING_ROOT, value: /bindings}], volumeMounts: []}
      volumes: []`)
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("without the projection (-want +got):\n%s", diff)
	}
}

func TestPlacesAreKeptByWhoHasThem(t *testing.T) {
	t.Parallel()
	first, second := database(), projection.Binding{UID: "2-b", Name: "db", Secret: "other"}
	w := project(t, fromYAML(t, oneContainer), second)
	after, refusals, err := projection.Settle(w, projection.Default(), []projection.Binding{first, second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(refusals) != 1 || refusals[0].UID != first.UID || refusals[0].Reason != projection.NameCollision {
		t.Errorf("got refusals %v, want one of %s", refusals, first.UID)
	}
	if patch := projection.Diff(w, after); len(patch) > 0 {
		t.Errorf("got a patch: %s", asJSON(patch))
	}
}

func TestBindingsCanSwapNames(t *testing.T) {
	t.Parallel()
	a := projection.Binding{UID: "1-a", Name: "one", Secret: "s"}
	b := projection.Binding{UID: "2-b", Name: "two", Secret: "s"}
	w := project(t, fromYAML(t, oneContainer), a, b)
	a.Name, b.Name = b.Name, a.Name
	if diff := cmp.Diff(project(t, fromYAML(t, oneContainer), a, b), project(t, w, a, b)); diff != "" {
		t.Errorf("swapped (-afresh +from before):\n%s", diff)
	}
}

func TestMappingChange(t *testing.T) {
	t.Parallel()
	m, err := projection.Compile(template{Volumes: ".spec.elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	w := fromYAML(t, oneContainer)
	want, err := projection.Project(w, m, []projection.Binding{database()})
	if err != nil {
		t.Fatal(err)
	}
	got, err := projection.Project(project(t, w, database()), m, []projection.Binding{database()})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("projected by another mapping, %v (-want +got):\n%s", err, diff)
	}
}

func TestProjectedWithoutItsAnnotation(t *testing.T) {
	t.Parallel()
	w := fromYAML(t, oneContainer)
	bound := project(t, w, database())
	put(bound, []string{"metadata", "annotations"}, map[string]any{})
	if diff := cmp.Diff([]string{"1-a"}, projection.Projected(bound)); diff != "" {
		t.Errorf("projected (-want +got):\n%s", diff)
	}
	volumes := fromYAML(t, "spec: {template: {spec: {volumes: [{name: servicebinding-mine, emptyDir: {}}]}}}")
	if found := projection.Projected(volumes); len(found) > 0 {
		t.Errorf("a person's volume counts as the projection of %v", found)
	}
}

func TestInvalidBindings(t *testing.T) {
	t.Parallel()
	for _, b := range []projection.Binding{
		{UID: "u", Name: "n"},
		{UID: "u", Name: "..", Secret: "s"},
		{UID: "u", Name: "a/b", Secret: "s"},
		{UID: "u", Name: "n", Secret: "s", Env: []projection.Env{{Name: projection.RootVariable, Key: "x"}}},
	} {
		_, err := projection.Project(fromYAML(t, oneContainer), nil, []projection.Binding{b})
		var refusal *projection.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != projection.InvalidBinding {
			t.Errorf("projecting %+v gave %v", b, err)
		}
	}
}

func TestRoots(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`""`, "relative", "$(HOME)/bindings", "null"} {
		w := fromYAML(t, fmt.Sprintf(
			"spec: {template: {spec: {containers: [{name: app, env: [{name: SERVICE_BINDING_ROOT, value: %s}]}]}}}", value))
		_, err := projection.Project(w, nil, []projection.Binding{database()})
		var refusal *projection.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != projection.BindingRootNotLiteral {
			t.Errorf("root %s gave %v", value, err)
		}
	}
}

func TestTrimForgetsValues(t *testing.T) {
	t.Parallel()
	w := project(t, fromYAML(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: w
  annotations: {a.example.com/note: secret-a, kubectl.kubernetes.io/last-applied-configuration: secret-applied}
spec:
  example: secret-field
  template:
    metadata: {annotations: {a.example.com/note: secret-b, note: secret-c}}
    spec:
      containers:
      - name: main
        args: [secret-argument]
        env: [{name: PASSWORD, value: secret-variable}, {name: OTHER, valueFrom: {configMapKeyRef: {name: secret-map, key: k}}}]
        volumeMounts: [{name: own, mountPath: /own, subPath: secret-path}]
      volumes: [{name: own, csi: {driver: d, volumeAttributes: {token: secret-attribute}}}]
status: {message: secret-status}`), database())
	trimmed := asJSON(projection.Trim(w, projection.Default()))
	for _, value := range regexp.MustCompile(`secret-[a-z]+`).FindAllString(trimmed, -1) {
		t.Errorf("%s survived: %s", value, trimmed)
	}
}

func TestOperationJSON(t *testing.T) {
	t.Parallel()
	got := asJSON(projection.Diff(map[string]any{"a": "b", "c": nil}, map[string]any{"a": nil, "d": nil}))
	want := `[{"op":"replace","path":"/a","value":null},{"op":"remove","path":"/c"},{"op":"add","path":"/d","value":null}]`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := strings.Fields(string(out))
	if len(found) > 85 {
		t.Errorf("%d packages outside the standard library, at most 85 are wanted", len(found))
	}
	for _, name := range found {
		if strings.HasPrefix(name, "k8s.io/client-go") || strings.HasPrefix(name, "sigs.k8s.io/controller-runtime") {
			t.Errorf("projection depends on %s", name)
		}
	}
}

func BenchmarkSettle(b *testing.B) {
	w := fromYAML(b, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spec: {template: {spec: {containers: [{name: a}, {name: b}, {name: c}]}}}`)
	containers, _ := get(w, []string{"spec", "template", "spec", "containers"}).([]any)
	for _, c := range containers {
		for i := range 20 {
			add(c.(map[string]any), []string{"env"},
				map[string]any{"name": fmt.Sprintf("V%d", i), "value": "v"})
		}
	}
	var bs []projection.Binding
	for i := range 10 {
		bs = append(bs, projection.Binding{
			UID: fmt.Sprintf("%d-u", i), Name: fmt.Sprintf("b%d", i), Secret: "s",
			Env: []projection.Env{{Name: fmt.Sprintf("E%d", i), Key: "k"}},
		})
	}
	m := projection.Default()
	settled := project(b, w, bs...)
	for name, from := range map[string]projection.Workload{"first": w, "unchanged": settled} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				after, _, err := projection.Settle(from, m, bs, nil)
				if err != nil {
					b.Fatal(err)
				}
				projection.Diff(from, after)
			}
		})
	}
}
