package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func definition(group string, versions ...any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": "things." + group, "annotations": map[string]any{"generator": "v0"}},
		"spec":     map[string]any{"group": group, "versions": versions},
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	schema := func(extra map[string]any) map[string]any {
		extra["type"] = "array"
		return map[string]any{"openAPIV3Schema": extra}
	}
	tests := map[string]struct {
		reason string
		given  map[string]any
		want   []any
		err    error
	}{
		"another group": {
			reason: "only the versions of servicebinding.io are derived",
			given:  definition("bowline.dev", map[string]any{"name": "v1alpha1"}),
			want:   []any{map[string]any{"name": "v1alpha1"}},
		},
		"the specification's group": {
			reason: "v1 is stored, the others have its schema; list types are not in the exemplars",
			given: definition(group,
				map[string]any{"name": "v1beta1"},
				map[string]any{"name": "v1", "schema": schema(map[string]any{"x-kubernetes-list-type": "atomic"})},
			),
			want: []any{
				map[string]any{"name": "v1", "served": true, "storage": true, "schema": schema(map[string]any{})},
				map[string]any{"name": "v1beta1", "served": true, "storage": false, "schema": schema(map[string]any{})},
				map[string]any{"name": "v1alpha3", "served": true, "storage": false, "schema": schema(map[string]any{})},
			},
		},
		"no v1": {
			reason: "without the stored version there is nothing to derive from",
			given:  definition(group, map[string]any{"name": "v1beta1"}),
			want:   []any{map[string]any{"name": "v1beta1"}},
			err:    errNoStorageVersion,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := finish(test.given); !errors.Is(err, test.err) {
				t.Fatalf("%s: error %v, want %v", test.reason, err, test.err)
			}
			spec, _ := test.given["spec"].(map[string]any)
			if diff := cmp.Diff(test.want, spec["versions"]); diff != "" {
				t.Errorf("%s: versions (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestRunWritesWhatItRead(t *testing.T) {
	t.Parallel()
	in, out := t.TempDir(), t.TempDir()
	text, err := yaml.Marshal(definition("bowline.dev", map[string]any{"name": "v1alpha1"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "things.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(in, out); err != nil {
		t.Fatalf("run: %v", err)
	}
	written, err := os.ReadFile(filepath.Join(out, "things.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.Unmarshal(written, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"name": "things.bowline.dev",
		"labels": map[string]any{
			"app.kubernetes.io/name": "bowline", "app.kubernetes.io/part-of": "bowline",
		},
	}
	if diff := cmp.Diff(want, got["metadata"]); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestRunNeedsFolders(t *testing.T) {
	t.Parallel()
	for _, folders := range [][2]string{{"", "out"}, {"in", ""}, {t.TempDir(), t.TempDir()}} {
		if err := run(folders[0], folders[1]); !errors.Is(err, errUsage) {
			t.Errorf("run(%q): %v, want the usage", folders, err)
		}
	}
}
