package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/admission"
)

// TestDraftMutators: a draft's binding is completed like any other, a synthetic service needs nothing.
func TestDraftMutators(t *testing.T) {
	t.Parallel()
	job := strings.NewReplacer("apps/v1", "batch/v1", "Deployment", "Job").Replace
	tests := []struct {
		reason      string
		kind        admission.Kind
		object, old string
		want        []string
	}{
		{
			reason: "a new binding", kind: admission.DraftBindings(), object: `{"metadata":{"name":"b"},"spec":` + draftSpec + `}`,
			want: []string{
				`add /metadata/finalizers ["bowline.dev/unbind"]`,
				`add /metadata/annotations {"bowline.dev/workload-kinds":"Deployment.v1.apps"}`,
			},
		},
		{
			reason: "another kind of application", kind: admission.DraftBindings(),
			object: `{"metadata":{"finalizers":["bowline.dev/unbind"],"annotations":{"a":"b"}},"spec":` + job(draftSpec) + `}`,
			old:    `{"metadata":{},"spec":` + draftSpec + `}`,
			want:   []string{`add /metadata/annotations/bowline.dev~1workload-kinds "Deployment.v1.apps,Job.v1.batch"`},
		},
		{
			reason: "a synthetic service", kind: admission.SyntheticServices(), object: `{"metadata":{"name":"s"},"spec":` + syntheticSpec + `}`,
		},
		{reason: "the schema will refuse it", kind: admission.DraftBindings(), object: `{"spec":[]}`},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := patchOf(t, admission.Mutator{Kind: test.kind}.Handle(t.Context(), request("ServiceBinding", test.object, test.old)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

type draftCase struct {
	reason   string
	kind     admission.Kind
	good     string // a spec
	from, to string // what is replaced in it
	want     []string
}

func draftCases() []draftCase {
	binding, synthetic := admission.DraftBindings(), admission.SyntheticServices()
	const source = `{"apiVersion":"v1","kind":"Secret","name":"db"}`
	return []draftCase{
		{reason: "a good binding", kind: binding, good: draftSpec},
		{reason: "a good service", kind: synthetic, good: syntheticSpec},
		{reason: "a bad directory", kind: binding, good: draftSpec, from: `"service":`, to: `"name":"../x","service":`, want: []string{"spec.name"}},
		{
			reason: "a container before the first", kind: binding, good: draftSpec, from: `"name":"orders"`, to: `"name":"orders","containers":[-1]`,
			want: []string{"spec.application.containers[0]"},
		},
		{
			reason: "a template without an end", kind: binding, good: draftSpec, from: `"service":`,
			to: `"mappings":[{"name":"uri","value":"a ((host"}],"service":`, want: []string{"spec.mappings[0].value"},
		},
		{
			reason: "an entry without a name is told of once", kind: binding, good: draftSpec, from: `"service":`,
			to: `"mappings":[{"name":"","value":"a"}],"service":`, want: []string{"spec.mappings[0].name"},
		},
		{
			reason: "a variable with a template without an end", kind: binding, good: draftSpec, from: `"service":`,
			to: `"env":[{"name":"A","value":"(("}],"service":`, want: []string{"spec.env[0].value"},
		},
		{
			reason: "an option that is none", kind: binding, good: draftSpec, from: `"name":"x"`,
			to: `"name":"x","annotations":{"bowline.dev/env":"some"}`, want: []string{"metadata.annotations[bowline.dev/env]"},
		},
		{
			reason: "an option of the specification's bindings", kind: admission.Bindings(), good: strings.TrimPrefix(workloadSpec, `"spec":`),
			from: `"name":"x"`, to: `"name":"x","annotations":{"bowline.dev/env":"all","bowline.dev/env-case":"odd"}`,
			want: []string{"metadata.annotations[bowline.dev/env-case]"},
		},
		{
			reason: "a token of no source", kind: synthetic, good: syntheticSpec, from: `"type":"kafka"`,
			to: `"type":"kafka","mappings":[{"name":"a","value":"((other.x))"}]`, want: []string{"spec.mappings[0].value"},
		},
		{reason: "no sources", kind: synthetic, good: syntheticSpec, from: source, to: ``, want: []string{"spec.services"}},
		{
			reason: "a source that governs the cluster", kind: synthetic, good: syntheticSpec, from: `"apiVersion":"v1"`,
			to: `"apiVersion":"rbac.authorization.k8s.io/v1"`, want: []string{"spec.services[0].apiVersion"},
		},
		{
			reason: "a source that leaves the collection", kind: synthetic, good: syntheticSpec, from: `"name":"db"`, to: `"name":"../db"`,
			want: []string{"spec.services[0].name"},
		},
		{reason: "a source without a name", kind: synthetic, good: syntheticSpec, from: `,"name":"db"`, to: ``, want: []string{"spec.services[0].name"}},
		{
			reason: "a name that no Secret can bear", kind: synthetic, good: syntheticSpec, from: `"type":"kafka"`, to: `"type":"kafka","name":"A_b"`,
			want: []string{"spec.name"},
		},
	}
}

func TestDraftValidators(t *testing.T) {
	t.Parallel()
	for _, test := range draftCases() {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			good := `{"metadata":{"name":"x"},"spec":` + test.good + `}`
			bad := good
			if test.from != "" {
				bad = strings.Replace(good, test.from, test.to, 1)
			}
			validator := admission.Validator{Kind: test.kind, Authority: allowing{}}
			for _, old := range []string{"", good} {
				response := validator.Handle(t.Context(), request("X", bad, old))
				if diff := cmp.Diff(test.want, causes(response.Result)); diff != "" {
					t.Errorf("fields (-want +got):\n%s", diff)
				}
			}
			if response := validator.Handle(t.Context(), request("X", bad, bad)); !response.Allowed {
				t.Errorf("an object that was bad before cannot be edited: %+v", response.Result)
			}
		})
	}
}
