package projection_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/jsonpath"
	"github.com/bowline-dev/bowline/projection"
)

type (
	template  = bindingv1.ClusterWorkloadResourceMappingTemplate
	container = bindingv1.ClusterWorkloadResourceMappingContainer
)

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		template template
		want     string
		position int
	}{
		"annotations": {template{Annotations: ".a[0]"}, "field annotations", 2},
		"volumes":     {template{Volumes: "a"}, "field volumes", 0},
		"path":        {template{Containers: []container{{Path: ".a"}, {Path: ".b[*"}}}, "field containers[1].path", 4},
		"name":        {template{Containers: []container{{Path: ".a", Name: "..b"}}}, "field containers[0].name", 0},
		"env":         {template{Containers: []container{{Path: ".a", Env: ".b.*"}}}, "field containers[0].env", 2},
		"mounts":      {template{Containers: []container{{Path: ".a", VolumeMounts: "."}}}, "field containers[0].volumeMounts", 0},
		"no path":     {template{Containers: []container{{}}}, "field containers[0].path", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := projection.Compile(test.template)
			var syntax *jsonpath.SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), test.want) || syntax.Position != test.position {
				t.Errorf("got %v, want %s at position %d", err, test.want, test.position)
			}
		})
	}
}

func TestForVersion(t *testing.T) {
	t.Parallel()
	versions := []template{{Version: "*", Volumes: ".any"}, {Version: "v1", Volumes: ".one"}, {Version: "v2", Volumes: "bad"}}
	tests := map[string]struct {
		versions []template
		version  string
		want     string
		fails    bool
	}{
		"exact":   {versions, "v1", `"volumes":".one"`, false},
		"any":     {versions, "v3", `"volumes":".any"`, false},
		"default": {nil, "v1", `"volumes":".spec.template.spec.volumes"`, false},
		"invalid": {versions, "v2", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := projection.ForVersion(test.versions, test.version)
			if (err != nil) != test.fails {
				t.Fatal(err)
			}
			if err == nil && !strings.Contains(m.String(), test.want) {
				t.Errorf("got %s, want %s", m, test.want)
			}
		})
	}
}

func TestDefaultMapping(t *testing.T) {
	t.Parallel()
	want := `{"version":"*","annotations":".spec.template.metadata.annotations","containers":[` +
		`{"path":".spec.template.spec.initContainers[*]","name":".name","env":".env","volumeMounts":".volumeMounts"},` +
		`{"path":".spec.template.spec.containers[*]","name":".name","env":".env","volumeMounts":".volumeMounts"}],` +
		`"volumes":".spec.template.spec.volumes"}`
	if diff := cmp.Diff(want, projection.Default().String()); diff != "" {
		t.Errorf("default mapping (-want +got):\n%s", diff)
	}
}

func TestMismatches(t *testing.T) {
	t.Parallel()
	deployment := `spec: {template: {spec: {containers: [{name: app}]}}}`
	tests := map[string]struct {
		template template
		workload string
		want     string
	}{
		"volumes are a text":     {template{}, "spec: {template: {spec: {volumes: text}}}", "/spec/template/spec/volumes is a string"},
		"path through a text":    {template{}, "spec: {template: text}", "/spec/template is a string"},
		"path through a list":    {template{}, "spec: []", "/spec is a list"},
		"container is a text":    {template{}, "spec: {template: {spec: {containers: [text]}}}", "/spec/template/spec/containers/0 is a string"},
		"env is an object":       {template{}, "spec: {template: {spec: {containers: [{env: {}}]}}}", "/spec/template/spec/containers/0/env is an object"},
		"annotations are a list": {template{}, "metadata: {annotations: []}", "/metadata/annotations is a list"},
		"two fields, one place":  {template{Volumes: ".metadata.annotations"}, deployment, "/metadata/annotations"},
		"one place in another":   {template{Volumes: ".spec.template.spec.containers"}, deployment, "/spec/template/spec/containers"},
		"volumes among containers": {
			template{Volumes: ".spec.v", Containers: []container{{Path: ".spec.*"}}}, "spec: {a: {}}", "/spec",
		},
		"containers that breed": {template{Containers: []container{{Path: "..[?(@.name)]"}}}, deployment, ""},
		"path that shifts": {
			template{Containers: []container{{Path: ".c[?(@.env[-1].name=='A')]"}}}, "c: [{env: [{name: A}]}]", "other containers",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := projection.Compile(test.template)
			if err != nil {
				t.Fatal(err)
			}
			w := fromYAML(t, test.workload)
			before := copied(w)
			_, err = projection.Project(w, m, []projection.Binding{{UID: "u", Name: "n", Secret: "s"}})
			var refusal *projection.Refusal
			if !errors.As(err, &refusal) || refusal.Reason != projection.MappingMismatch || refusal.UID != "u" {
				t.Fatalf("got %v, want a mismatch", err)
			}
			if !strings.Contains(refusal.Message, test.want) {
				t.Errorf("got %q, want it to name %q", refusal.Message, test.want)
			}
			if diff := cmp.Diff(before, w); diff != "" {
				t.Errorf("workload (-before +after):\n%s", diff)
			}
		})
	}
}
