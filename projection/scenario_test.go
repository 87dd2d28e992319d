package projection_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/projection"
)

var update = flag.Bool("update", false, "rewrite want.yaml of the scenarios in testdata") //nolint:gochecknoglobals // flag

// scenario is a txtar file for people to read: what a workload looks like before and after.
type scenario struct {
	archive  *txtar.Archive
	workload projection.Workload
	bindings []projection.Binding
	mapping  *projection.Mapping
	want     outcome
}

type outcome struct {
	Workload projection.Workload   `json:"workload"`
	Refusals []*projection.Refusal `json:"refusals,omitempty"`
}

func readScenario(t *testing.T, file string) scenario {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var template bindingv1.ClusterWorkloadResourceMappingTemplate
	s := scenario{archive: archive}
	into := map[string]any{
		"workload.yaml": &s.workload, "bindings.yaml": &s.bindings, "mapping.yaml": &template, "want.yaml": &s.want,
	}
	for _, member := range archive.Files {
		if into[member.Name] == nil {
			t.Fatalf("%s: nobody reads %s", file, member.Name)
		}
		if err := yaml.Unmarshal(member.Data, into[member.Name]); err != nil {
			t.Fatalf("%s: %s: %v", file, member.Name, err)
		}
	}
	if template.Version == "" {
		template.Version = "*"
	}
	if s.mapping, err = projection.Compile(template); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s scenario) rewrite(t *testing.T, file string, got outcome) {
	t.Helper()
	kept := s.archive.Files[:0]
	for _, member := range s.archive.Files {
		if member.Name != "want.yaml" {
			kept = append(kept, member)
		}
	}
	kept = append(kept, txtar.File{Name: "want.yaml", Data: []byte(asYAML(t, got))})
	s.archive.Files = kept
	if err := writeFile(file, txtar.Format(s.archive)); err != nil {
		t.Fatal(err)
	}
}

func asYAML(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("found scenarios %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			s := readScenario(t, file)
			after, refusals, err := projection.Settle(s.workload, s.mapping, s.bindings, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := outcome{Workload: after, Refusals: refusals}
			if *update {
				s.rewrite(t, file, got)
				return
			}
			if diff := cmp.Diff(asYAML(t, s.want), asYAML(t, got)); diff != "" {
				t.Errorf("projection (-want +got):\n%s", diff)
			}
			again, _, err := projection.Settle(after, s.mapping, s.bindings, nil)
			if diff := projection.Diff(after, again); len(diff) > 0 || err != nil {
				t.Errorf("settling again changes %v, %v", diff, err)
			}
		})
	}
}
