package servicebinding_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/config"
)

// TestCRDsEqualTheExemplars holds the installed definitions to those of the specification, field by field; only
// descriptions and metadata are ours.
func TestCRDsEqualTheExemplars(t *testing.T) {
	t.Parallel()
	// of names the exemplar that a version follows. The specification has none for v1alpha3, which has the fields of v1.
	of := map[string]string{"v1": "v1", "v1beta1": "v1beta1", "v1alpha3": "v1"}
	for _, plural := range []string{"servicebindings", "clusterworkloadresourcemappings"} {
		crd := installed(t, plural)
		if got, want := slices.Collect(maps.Keys(crd.versions)), slices.Collect(maps.Keys(of)); !sameSet(got, want) {
			t.Errorf("%s: versions %v, want %v", plural, got, want)
		}
		for version, exemplar := range of {
			t.Run(plural+"/"+version, func(t *testing.T) {
				t.Parallel()
				want := parse(t, exemplarText(t, plural, exemplar))
				if diff := cmp.Diff(want.rest, crd.rest); diff != "" {
					t.Errorf("group, names or scope differ from the exemplar (-want +got):\n%s", diff)
				}
				expected := want.versions[exemplar]
				expected["name"] = version
				// An exemplar holds one version and stores it; together only one can be stored.
				expected["storage"] = version == "v1"
				if diff := cmp.Diff(expected, crd.versions[version]); diff != "" {
					t.Errorf("version differs from the exemplar (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// definition is a CustomResourceDefinition, taken apart and without descriptions.
type definition struct {
	versions map[string]map[string]any
	rest     map[string]any
}

func installed(t *testing.T, plural string) definition {
	t.Helper()
	text, err := fs.ReadFile(config.Files(), "crd/servicebinding.io_"+plural+".yaml")
	if err != nil {
		t.Fatalf("reading the installed definition of %s: %v", plural, err)
	}
	crd := parse(t, text)
	if diff := cmp.Diff(map[string]any{"strategy": "None"}, crd.rest["conversion"]); diff != "" {
		t.Errorf("%s: conversion (-want +got):\n%s", plural, diff)
	}
	delete(crd.rest, "conversion")
	return crd
}

func exemplarText(t *testing.T, plural, version string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "exemplar", plural+"."+version+".yaml"))
	if err != nil {
		t.Fatalf("reading the exemplar: %v", err)
	}
	return text
}

func parse(t *testing.T, text []byte) definition {
	t.Helper()
	var crd struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatalf("decoding a CustomResourceDefinition: %v", err)
	}
	versions, _ := crd.Spec["versions"].([]any)
	parsed := definition{versions: map[string]map[string]any{}, rest: crd.Spec}
	delete(parsed.rest, "versions")
	parsed.rest["metadata.name"] = crd.Metadata.Name
	for _, version := range versions {
		fields, _ := dropDescriptions(version).(map[string]any)
		name, _ := fields["name"].(string)
		parsed.versions[name] = fields
	}
	return parsed
}

// dropDescriptions removes each description that is text; a property that is called description would be a map.
func dropDescriptions(node any) any {
	switch node := node.(type) {
	case map[string]any:
		if _, isText := node["description"].(string); isText {
			delete(node, "description")
		}
		for _, child := range node {
			dropDescriptions(child)
		}
	case []any:
		for _, child := range node {
			dropDescriptions(child)
		}
	}
	return node
}

func sameSet(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
