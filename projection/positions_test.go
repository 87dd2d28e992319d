package projection_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/projection"
)

type paths = []bindingv1.ClusterWorkloadResourceMappingContainer

type positionCase struct {
	reason    string
	paths     paths
	names     []string
	positions []int
	want      []string
}

func positionCases() []positionCase {
	const below = ".spec.template.spec."
	return []positionCase{
		{reason: "nothing limits", want: []string{"app", "prepare", "proxy"}},
		{reason: "init containers are not counted", positions: []int{0}, want: []string{"app"}},
		{reason: "the second", positions: []int{1}, want: []string{"proxy"}},
		{reason: "several, in any order", positions: []int{1, 0, 1}, want: []string{"app", "proxy"}},
		{reason: "a position where nothing is", positions: []int{7}},
		{reason: "names and positions add up", names: []string{"prepare"}, positions: []int{1}, want: []string{"prepare", "proxy"}},
		{
			reason: "a kind's own mapping counts in its order", positions: []int{0, 2}, want: []string{"extra", "proxy"},
			paths: paths{{Path: below + "others[*]", Name: ".name"}, {Path: below + "containers[*]", Name: ".name"}},
		},
		{
			reason: "init containers stay out, wherever the mapping lists them", positions: []int{0}, want: []string{"app"},
			paths: paths{{Path: below + "initContainers[*]"}, {Path: below + "containers[*]"}},
		},
		{
			reason: "positions count where names are not known", positions: []int{1}, want: []string{"proxy"},
			paths: paths{{Path: below + "containers[*]"}},
		},
		{
			reason: "a container found twice counts once", positions: []int{1}, want: []string{"proxy"},
			paths: paths{{Path: below + "containers[*]"}, {Path: below + "containers[*]", Env: ".vars", VolumeMounts: ".mounts"}},
		},
	}
}

// TestPositions: which containers a binding reaches that counts them.
func TestPositions(t *testing.T) {
	t.Parallel()
	const pod = `
metadata: {name: w}
spec: {template: {spec: {
  initContainers: [{name: prepare}],
  containers: [{name: app}, {name: proxy}],
  others: [{name: extra}]}}}`
	for _, test := range positionCases() {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			m, err := projection.Compile(bindingv1.ClusterWorkloadResourceMappingTemplate{Version: "v1", Containers: test.paths})
			if err != nil {
				t.Fatal(err)
			}
			b := database()
			b.Containers, b.ContainerIndexes = test.names, test.positions
			before := fromYAML(t, pod)
			after, err := projection.Project(before, m, []projection.Binding{b})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, mounting(after)); diff != "" {
				t.Errorf("bound containers (-want +got):\n%s", diff)
			}
			restored, err := projection.Unproject(after, b.UID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, restored); diff != "" {
				t.Errorf("unbound (-want +got):\n%s", diff)
			}
		})
	}
}

// mounting names the containers that mount anything, sorted.
func mounting(w projection.Workload) []string {
	var names []string
	spec, _ := get(w, []string{"spec", "template", "spec"}).(map[string]any)
	for _, list := range []string{"initContainers", "containers", "others"} {
		items, _ := spec[list].([]any)
		for _, item := range items {
			c, _ := item.(map[string]any)
			if c["volumeMounts"] != nil {
				name, _ := c["name"].(string)
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestPositionsFollowTheContainers: a binding goes where the position is now.
func TestPositionsFollowTheContainers(t *testing.T) {
	t.Parallel()
	b := database()
	b.ContainerIndexes = []int{0}
	w := project(t, fromYAML(t, `
metadata: {name: w}
spec: {template: {spec: {containers: [{name: app}, {name: proxy}]}}}`), b)
	containers, _ := get(w, []string{"spec", "template", "spec", "containers"}).([]any)
	put(w, []string{"spec", "template", "spec", "containers"}, append([]any{map[string]any{"name": "first"}}, containers...))
	if diff := cmp.Diff([]string{"first"}, mounting(project(t, w, b))); diff != "" {
		t.Errorf("bound containers (-want +got):\n%s", diff)
	}
}
