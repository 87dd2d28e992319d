package check_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/check"
)

const (
	composedParts = `
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {type: postgresql, provider: p, host: db.example.com, password: hunter2}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {port: "5432"}
---
`
	draftBinding = `
apiVersion: service.binding/v1alpha1
kind: ServiceBinding
metadata: {name: orders}
spec:
  application: {apiVersion: apps/v1, kind: Deployment, name: orders}
  service: {apiVersion: v1, kind: Secret, name: db}
  mappings: [{name: port, value: "((host))"}, {name: uri, value: "pg://((host))"}]
  env: [{name: PW, value: ((password))}]
`
	synthetic = `
apiVersion: service.binding/v1alpha1
kind: SyntheticProvisionedService
metadata: {name: composite}
spec:
  type: postgresql
  services: [{apiVersion: v1, kind: Secret, name: db}, {apiVersion: v1, kind: ConfigMap, name: settings}]
  mappings: [{name: host, value: ((db.host))}, {name: port, value: ((settings.port))}]
`
)

// TestComposed: what is checked is what a container gets, whoever made it.
func TestComposed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason, text string
		entries      string
		want         []string // parts of findings
	}{
		{
			reason: "what mappings make is checked", text: composedParts + draftBinding, entries: "host password port provider type uri",
			want: []string{"error well-known port"},
		},
		{
			reason: "a template that needs what is not there", entries: "host password provider type",
			text: composedParts + strings.Replace(draftBinding, "((password))", "((none))", 1), want: []string{"error binding", "none"},
		},
		{
			reason: "a template without an end, of a service elsewhere", text: strings.Replace(draftBinding, "((password))", "((password", 1),
			want: []string{"error binding", "info service", "spec.env[0].value"},
		},
		{
			reason: "a field that breaks a rule", text: composedParts + strings.Replace(draftBinding, "name: orders}\n  service", "}\n  service", 1),
			entries: "host password port provider type uri", want: []string{"spec.application.name"},
		},
		{
			reason: "an option that is none", entries: "host password port provider type uri", want: []string{"bowline.dev/env"},
			text: composedParts + strings.Replace(draftBinding, "{name: orders}", "{name: orders, annotations: {bowline.dev/env: x}}", 1),
		},
		{reason: "a synthetic service", text: composedParts + synthetic, entries: "host port type"},
		{
			reason: "one of which a source is elsewhere", text: synthetic, want: []string{"info service", "are not all among the manifests"},
		},
		{
			reason: "one that is wrong", text: composedParts + strings.Replace(synthetic, "((db.host))", "((other.host))", 1),
			want: []string{"error service", "spec.mappings[0].value"},
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			found := subjects(t, test.text, check.Manifests)
			if len(found) != 1 {
				t.Fatalf("there are %d subjects: %+v", len(found), found)
			}
			if diff := cmp.Diff(test.entries, keysOf(&found[0])); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			report := check.Check(&found[0], now)
			lines := findings(report)
			for _, f := range report.Findings {
				lines = append(lines, f.Message)
			}
			said := strings.Join(lines, "\n")
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not said: %s", want, said)
				}
			}
			if strings.Contains(said, "hunter2") {
				t.Errorf("a value is said: %s", said)
			}
		})
	}
}

func keysOf(s *check.Subject) string {
	return strings.Join(slices.Sorted(maps.Keys(s.Entries)), " ")
}
