package projection_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/projection"
)

// TestChangedMappingRestores sees that what was projected with one mapping, then with another that names the same
// containers otherwise, leaves nothing behind.
func TestChangedMappingRestores(t *testing.T) {
	t.Parallel()
	w := projection.Workload{"spec": map[string]any{"steps": []any{
		map[string]any{"id": "one"}, map[string]any{"id": "two"},
	}}}
	first := compile(t, bindingv1.ClusterWorkloadResourceMappingTemplate{
		Version: "*", Annotations: ".spec.meta", Volumes: ".spec.storage",
		Containers: []bindingv1.ClusterWorkloadResourceMappingContainer{{Path: ".spec.steps[*]", Name: ".id", Env: ".variables"}},
	})
	second := compile(t, bindingv1.ClusterWorkloadResourceMappingTemplate{
		Version: "v1", Annotations: ".spec.meta", Volumes: ".spec.disks",
		Containers: []bindingv1.ClusterWorkloadResourceMappingContainer{{Path: ".spec.steps[*]"}},
	})
	bs := []projection.Binding{{UID: "u", Name: "b", Secret: "s"}}
	bound, err := projection.Project(w, first, bs)
	if err != nil {
		t.Fatal(err)
	}
	rebound, err := projection.Project(bound, second, bs)
	if err != nil {
		t.Fatal(err)
	}
	after, err := projection.Unproject(rebound, "u")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, after); diff != "" {
		t.Errorf("it is not what it was (-before +after):\n%s", diff)
	}
	// What is trimmed for the new mapping must lead to the same patch.
	trimmed := projection.Trim(bound, second)
	again, err := projection.Project(trimmed, second, bs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(projection.Diff(bound, rebound), projection.Diff(trimmed, again)); diff != "" {
		t.Errorf("the trimmed workload gets another patch (-whole +trimmed):\n%s", diff)
	}
}

// TestCostlyMappingKeepsNothing sees that a mapping in an annotation that costs more than an evaluation may does not keep the
// projection from being removed: that of the kind stands in.
func TestCostlyMappingKeepsNothing(t *testing.T) {
	t.Parallel()
	w := projection.Workload{
		"metadata": map[string]any{},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "one"}, map[string]any{"name": "two"},
		}}}},
		"status": deep(12),
	}
	bound, err := projection.Project(w, projection.Default(), []projection.Binding{{UID: "u", Name: "b", Secret: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	annotations, ok := bound["metadata"].(map[string]any)["annotations"].(map[string]any)
	if !ok {
		t.Fatal("no annotations")
	}
	annotations["projector.servicebinding.io/mapping-u"] = `{"containers":[{"path":"..*..*..*..*..*..*..*..*..*..*"}]}`
	after, refusals, err := projection.Settle(bound, projection.Default(), nil, []string{"u"})
	if err != nil || len(refusals) > 0 {
		t.Fatal(err, refusals)
	}
	if diff := cmp.Diff(w, after); diff != "" {
		t.Errorf("it is not what it was (-before +after):\n%s", diff)
	}
}

// deep is a tree of that many levels, which paths can follow in many ways.
func deep(levels int) map[string]any {
	if levels == 0 {
		return map[string]any{}
	}
	return map[string]any{"left": deep(levels - 1), "right": map[string]any{}}
}

// TestMappingsShareAContainer sees that bindings projected with mappings that name the lists of one container otherwise
// can be removed one by one, in any order, each without sight of the other's mapping.
func TestMappingsShareAContainer(t *testing.T) {
	t.Parallel()
	mapping := func(env, mounts, name string) *projection.Mapping {
		return compile(t, bindingv1.ClusterWorkloadResourceMappingTemplate{
			Version: "*", Containers: []bindingv1.ClusterWorkloadResourceMappingContainer{
				{Path: ".spec.steps[*]", Name: name, Env: env, VolumeMounts: mounts},
			},
		})
	}
	tests := map[string]struct{ first, second *projection.Mapping }{
		"other mounts":        {mapping("", "", ".name"), mapping("", ".m.others", ".name")},
		"other variables":     {mapping("", "", ".name"), mapping(".m.others", "", ".name")},
		"other name":          {mapping("", "", ".name"), mapping("", ".m.others", ".title")},
		"no name":             {mapping("", "", ".name"), mapping("", ".m.others", "")},
		"bars in their paths": {mapping("", "['a|b'].c", ".name"), mapping("['a|b'].d", ".m", ".title")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := projection.Workload{"spec": map[string]any{"steps": []any{
				map[string]any{"name": "a|/env|b", "title": "x"}, map[string]any{"name": "a", "m": nil}, map[string]any{},
			}}}
			env := []projection.Env{{Name: "KEY", Key: "key"}}
			bound, err := projection.Project(w, test.first, []projection.Binding{{UID: "1", Name: "one", Secret: "s", Env: env}})
			if err != nil {
				t.Fatal(err)
			}
			bound, err = projection.Project(bound, test.second, []projection.Binding{{UID: "2", Name: "two", Secret: "s", Env: env}})
			if err != nil {
				t.Fatal(err)
			}
			for _, order := range [][]string{{"1", "2"}, {"2", "1"}} {
				after := bound
				for _, uid := range order {
					if after, err = projection.Unproject(after, uid); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(w, after); diff != "" {
					t.Errorf("removing %v (-before +after):\n%s", order, diff)
				}
			}
		})
	}
}

func compile(t *testing.T, template bindingv1.ClusterWorkloadResourceMappingTemplate) *projection.Mapping {
	t.Helper()
	m, err := projection.Compile(template)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
