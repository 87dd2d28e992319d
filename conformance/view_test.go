package conformance

import (
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errAbsent = errors.New("absent")

func knownSecret(name string) (map[string]string, error) {
	if name != "s" {
		return nil, errAbsent
	}
	return map[string]string{"type": "t", "host": "h"}, nil
}

// What a container sees does not depend on how an implementation brings it there.
func TestViewSeesWhatAContainerWould(t *testing.T) {
	t.Parallel()
	root := `env: [{name: SERVICE_BINDING_ROOT, value: /b}]`
	plainFiles := map[string]string{"/b/db/type": "t", "/b/db/host": "h"}
	for name, test := range map[string]struct {
		template string
		files    map[string]string
		env      map[string]string
	}{
		"a volume of a Secret": {
			`{spec: {containers: [{name: c, ` + root + `, volumeMounts: [{name: v, mountPath: /b/db}]}],
			volumes: [{name: v, secret: {secretName: s}}]}}`, plainFiles, nil,
		},
		"a projected volume": {
			`{spec: {containers: [{name: c, ` + root + `, volumeMounts: [{name: v, mountPath: /b/db/}]}],
			volumes: [{name: v, projected: {sources: [{secret: {name: s}}]}}]}}`, plainFiles, nil,
		},
		"an entry that an annotation replaces": {
			`{metadata: {annotations: {a: x}}, spec: {containers: [{name: c, ` + root + `, volumeMounts: [{name: v, mountPath: /b/db}]}],
			volumes: [{name: v, projected: {sources: [{secret: {name: s}},
			{downwardAPI: {items: [{path: type, fieldRef: {fieldPath: "metadata.annotations['a']"}}]}}]}}]}}`,
			map[string]string{"/b/db/type": "x", "/b/db/host": "h"}, nil,
		},
		"one volume with a directory for each binding": {
			`{spec: {containers: [{name: c, ` + root + `, volumeMounts: [{name: v, mountPath: /b}]}],
			volumes: [{name: v, secret: {secretName: s, items: [{key: host, path: db/host}, {key: type, path: db/type}]}}]}}`,
			plainFiles, nil,
		},
		"a part of a volume": {
			`{spec: {containers: [{name: c, ` + root + `, volumeMounts: [{name: v, mountPath: /b/db/host, subPath: host}]}],
			volumes: [{name: v, secret: {secretName: s}}]}}`, map[string]string{"/b/db/host": "h"}, nil,
		},
		"variables": {
			`{metadata: {annotations: {a: x}}, spec: {containers: [{name: c, env: [{name: SERVICE_BINDING_ROOT, value: /b}, {name: A, value: a},
			{name: B, valueFrom: {secretKeyRef: {name: s, key: host}}},
			{name: C, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['a']"}}},
			{name: D, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}}`,
			map[string]string{}, map[string]string{"A": "a", "B": "h", "C": "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := viewOf(t, test.template)
			if err != nil {
				t.Fatal(err)
			}
			if c["c"].root != "/b" || c["c"].roots != 1 {
				t.Errorf("the root is %q, %d times", c["c"].root, c["c"].roots)
			}
			if diff := cmp.Diff(test.files, c["c"].files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			want := map[string]string{"SERVICE_BINDING_ROOT": "/b"}
			maps.Copy(want, test.env)
			if diff := cmp.Diff(want, c["c"].env); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

// What would keep a pod from starting is an error.
func TestViewRefusesWhatCannotStart(t *testing.T) {
	t.Parallel()
	for name, template := range map[string]string{
		"no such volume": `{spec: {containers: [{name: c, volumeMounts: [{name: v, mountPath: /b}]}]}}`,
		"no such Secret": `{spec: {containers: [{name: c, volumeMounts: [{name: v, mountPath: /b}]}],
			volumes: [{name: v, secret: {secretName: gone}}]}}`,
		"no such entry": `{spec: {containers: [{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: gone}}}]}]}}`,
		"no volumes":    `{spec: {volumes: text, containers: []}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c, err := viewOf(t, template); err == nil {
				t.Errorf("it is accepted: %v", c)
			}
		})
	}
}

func viewOf(t *testing.T, template string) (map[string]container, error) {
	t.Helper()
	objects, err := parse("{apiVersion: v1, kind: Thing, template: " + template + "}")
	if err != nil {
		t.Fatal(err)
	}
	return view(objects[0].Object, shapeAt("template"), knownSecret)
}

func TestFind(t *testing.T) {
	t.Parallel()
	tree := map[string]any{
		"lists": []any{map[string]any{"x": 1}, map[string]any{"x": 2}, map[string]any{"y": 3}},
		"map":   map[string]any{"b": 2, "a": 1},
		"a.b/c": "key",
	}
	for at, want := range map[string][]any{
		"lists/*/x": {1, 2},
		"map/*":     {1, 2},
		"a.b~c":     {"key"},
		"map/none":  nil,
		"map/a/x":   nil,
		"lists/x":   nil,
	} {
		if diff := cmp.Diff(want, find(tree, at)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", at, diff)
		}
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	got := prune(map[string]any{
		"empty": []any{}, "null": nil, "deep": map[string]any{"list": []any{map[string]any{}}},
		"env":  []any{map[string]any{"name": rootVariable, "value": "/b"}, map[string]any{"name": "OWN"}},
		"zero": int64(0), "no": false,
	})
	want := map[string]any{"env": []any{map[string]any{"name": "OWN"}}, "zero": int64(0), "no": false}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A test that panics breaks its clause and not the run.
func TestFailuresEndTheTestOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		run  func(*T)
		want string
	}{
		"Fatalf": {func(t *T) { t.Fatalf("no %d", 1) }, "no 1"},
		"panic":  {func(*T) { panic("oh") }, "the test itself is at fault: oh"},
		"none":   {func(*T) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (&T{}).guard(test.run); got != test.want {
				t.Errorf("the message is %q, want %q", got, test.want)
			}
		})
	}
}
