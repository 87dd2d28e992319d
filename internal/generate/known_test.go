package generate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/bindings/catalogue"
	"github.com/bowline-dev/bowline/internal/generate"
)

// scene is a service as its operator leaves it, and what it should give.
type scene struct {
	kind    schema.GroupVersionKind
	object  map[string]any
	objects map[generate.Reference]map[string]string
	want    map[string]string
}

func readScene(t *testing.T, file string) scene {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := scene{objects: map[generate.Reference]map[string]string{}}
	for _, f := range txtar.Parse(text).Files {
		switch f.Name {
		case "object.yaml":
			s.object = tree(t, string(f.Data))
			s.kind = schema.FromAPIVersionAndKind(s.object["apiVersion"].(string), s.object["kind"].(string))
		case "objects.yaml":
			for document := range strings.SplitSeq(string(f.Data), "---\n") {
				var object struct {
					Kind       string
					Metadata   struct{ Name string }
					StringData map[string]string
				}
				if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
					t.Fatal(err)
				}
				s.objects[generate.Reference{Kind: object.Kind, Name: object.Metadata.Name}] = object.StringData
			}
		case "want.yaml":
			if err := yaml.UnmarshalStrict(f.Data, &s.want); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

func (s scene) sources(t *testing.T, known *generate.Operators) generate.Sources {
	t.Helper()
	metadata := s.object["metadata"].(map[string]any)
	sources := generate.Sources{
		Kind: s.kind, Name: metadata["name"].(string), Known: known.Describe(s.kind, s.object), Resource: map[string]string{},
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	for key, value := range annotations {
		sources.Resource[key] = value.(string)
	}
	return sources
}

func operators(t *testing.T, enabled func(string) bool) *generate.Operators {
	t.Helper()
	known, err := generate.Known(enabled)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

func scenes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/known/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scenes: %v", err)
	}
	return files
}

func TestKnownOperators(t *testing.T) {
	t.Parallel()
	known := operators(t, nil)
	for _, file := range scenes(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			s := readScene(t, file)
			recipe, err := generate.Describe(s.sources(t, known))
			if err != nil {
				t.Fatal(err)
			}
			got, err := recipe.Make(s.object, reader(s.objects))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.want, strs(got.Data)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkSpelling(t, got.Data)
		})
	}
}

// checkSpelling holds that the catalogue knows each entry, and by this name rather than by another.
func checkSpelling(t *testing.T, data map[string][]byte) {
	t.Helper()
	all := catalogue.Default()
	kind := all.Type(string(data["type"]))
	if kind == nil {
		t.Fatalf("the catalogue has no type %s", data["type"])
	}
	for key := range data {
		if key == catalogue.TypeEntry || key == catalogue.ProviderEntry {
			continue
		}
		if entry := all.Entry(kind, key); entry == nil || entry.Name != key {
			t.Errorf("the catalogue does not know %q by this name: %v", key, entry)
		}
	}
}

func TestEveryKnownOperatorHasAScene(t *testing.T) {
	t.Parallel()
	known := operators(t, nil)
	want := []string{
		"cloudnative-pg", "crunchy-postgres", "percona-mongodb", "percona-mysql", "rabbitmq", "redis-opstree", "redis-spotahome", "strimzi",
	}
	if diff := cmp.Diff(want, known.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	var kinds []string
	for _, file := range scenes(t) {
		s := readScene(t, file)
		kinds = append(kinds, s.kind.GroupKind().String())
		if d := known.Describe(s.kind, s.object); d == nil || !strings.HasPrefix(filepath.Base(file), d.Operator) {
			t.Errorf("%s is described by %v", file, d)
		}
	}
	for _, kind := range known.Kinds() {
		if !slices.Contains(kinds, kind.String()) {
			t.Errorf("%s has no scene", kind)
		}
	}
}

func TestKnownOperatorsAreSwitchedByName(t *testing.T) {
	t.Parallel()
	only := operators(t, func(name string) bool { return name == "strimzi" })
	if diff := cmp.Diff([]string{"strimzi"}, only.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cluster := schema.GroupVersionKind{Group: "postgresql.cnpg.io", Version: "v1", Kind: "Cluster"}
	if d := only.Describe(cluster, nil); d != nil {
		t.Errorf("what is switched off is described by %s", d.Operator)
	}
	if d := operators(t, nil).Describe(cluster, nil); d == nil {
		t.Error("what is switched on is not described")
	}
	other := schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1", Kind: "Cluster"}
	if d := operators(t, nil).Describe(other, nil); d != nil {
		t.Errorf("a kind of another group is described by %s", d.Operator)
	}
	var none *generate.Operators
	if none.Describe(cluster, nil) != nil {
		t.Error("no operators describe something")
	}
}
