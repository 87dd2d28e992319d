package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The fields of the exemplars: path, type, and whether the field is required. "[]" stands for the items of a list, "{}"
// for the values of a map. In the exemplar of v1beta1 two fields of a mapping are required that the text calls optional;
// either will do.

const bindingSchema = `
spec object
spec.env array
spec.env[] object
spec.env[].key string required
spec.env[].name string required
spec.name string
spec.provider string
spec.service object required
spec.service.apiVersion string required
spec.service.kind string required
spec.service.name string required
spec.type string
spec.workload object required
spec.workload.apiVersion string required
spec.workload.containers array
spec.workload.containers[] string
spec.workload.kind string required
spec.workload.name string
spec.workload.selector object
spec.workload.selector.matchExpressions array
spec.workload.selector.matchExpressions[] object
spec.workload.selector.matchExpressions[].key string required
spec.workload.selector.matchExpressions[].operator string required
spec.workload.selector.matchExpressions[].values array
spec.workload.selector.matchExpressions[].values[] string
spec.workload.selector.matchLabels object
spec.workload.selector.matchLabels{} string
status object
status.binding object
status.binding.name string required
status.conditions array
status.conditions[] object
status.conditions[].lastTransitionTime string required
status.conditions[].message string required
status.conditions[].observedGeneration integer
status.conditions[].reason string required
status.conditions[].status string required
status.conditions[].type string required
status.observedGeneration integer
`

const mappingSchema = `
spec object
spec.versions array
spec.versions[] object
spec.versions[].annotations string
spec.versions[].containers array
spec.versions[].containers[] object
spec.versions[].containers[].env string
spec.versions[].containers[].name string
spec.versions[].containers[].path string required
spec.versions[].containers[].volumeMounts string
spec.versions[].version string required
spec.versions[].volumes string
`

// definition is what matters here of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Scope    string           `json:"scope"`
		Versions []definedVersion `json:"versions"`
	} `json:"spec"`
}

type definedVersion struct {
	Name   string `json:"name"`
	Served bool   `json:"served"`
	Schema struct {
		OpenAPIV3Schema node `json:"openAPIV3Schema"` //nolint:tagliatelle // it is called so
	} `json:"schema"`
}

// node is what matters here of a schema.
type node struct {
	Type       string          `json:"type"`
	Required   []string        `json:"required"`
	Properties map[string]node `json:"properties"`
	Items      *node           `json:"items"`
	// AdditionalProperties is a schema, or true or false.
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
}

// testSchema compares each version that is served with the exemplar.
func testSchema(t *T, plural, exemplar string) {
	object, err := t.Client().Resource(definitions).Get(t.ctx, plural+"."+group, getNow)
	var crd definition
	if err == nil {
		err = decode(object.Object, &crd)
	}
	if err != nil {
		t.Fatalf("reading the CustomResourceDefinition of %s: %v", plural, err)
	}
	wantScope := "Namespaced"
	if exemplar == mappingSchema {
		wantScope = "Cluster"
	}
	if crd.Spec.Scope != wantScope {
		t.Fatalf("the scope of %s is %s, not %s", plural, crd.Spec.Scope, wantScope)
	}
	versions := slices.DeleteFunc(crd.Spec.Versions, func(v definedVersion) bool {
		return !v.Served || v.Name != "v1" && v.Name != "v1beta1"
	})
	if len(versions) == 0 {
		t.Fatalf("%s is served in neither v1 nor v1beta1", plural)
	}
	for i := range versions {
		if diff := schemaDiff(exemplar, &versions[i]); diff != "" {
			t.Fatalf("version %s of %s differs from the exemplar: %s", versions[i].Name, plural, diff)
		}
	}
}

// schemaDiff tells what differs between the exemplar's fields and those of a version; "" for nothing.
func schemaDiff(exemplar string, version *definedVersion) string {
	want, got := map[string]string{}, map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(exemplar)) {
		path, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[path] = kind
	}
	for _, part := range []string{"spec", "status"} {
		if schema, ok := version.Schema.OpenAPIV3Schema.Properties[part]; ok {
			flatten(&schema, part, "", got)
		}
	}
	optional := []string{"spec.versions[].annotations", "spec.versions[].volumes"}
	var diffs []string
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if slices.Contains(optional, path) {
			got[path] = strings.TrimSuffix(got[path], " required")
		}
		if got[path] != want[path] {
			diffs = append(diffs, fmt.Sprintf("%s is %q, not %q", path, got[path], want[path]))
		}
		delete(got, path)
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		diffs = append(diffs, path+" is not in the exemplar")
	}
	return strings.Join(diffs, "; ")
}

// flatten lists the fields below a schema.
func flatten(s *node, at, required string, into map[string]string) {
	into[at] = s.Type + required
	if s.Items != nil {
		flatten(s.Items, at+"[]", "", into)
	}
	var values node
	if json.Unmarshal(s.AdditionalProperties, &values) == nil && values.Type != "" {
		flatten(&values, at+"{}", "", into)
	}
	for name, property := range s.Properties {
		needed := ""
		if slices.Contains(s.Required, name) {
			needed = " required"
		}
		flatten(&property, at+"."+name, needed, into)
	}
}
