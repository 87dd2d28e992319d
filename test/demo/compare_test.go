package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var manifestDir = filepath.Join("..", "..", "examples", "greeter", "manifests")

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestFillReplacesTheDefaults(t *testing.T) {
	t.Parallel()
	m, err := loadManifests(manifestDir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := fill(m.secret, map[string]string{"password": "other", "port": "1"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"provider": "bmF0cy1zZXJ2ZXI=", "host": "MTI3LjAuMC4x", "port": "MQ==", "username": "Z3JlZXRlcg==",
		"password": "b3RoZXI=", "subject": "Z3JlZXRpbmdz",
	}
	if diff := cmp.Diff(want, got.Object["data"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, there := got.Object["stringData"]; there || got.GetNamespace() != namespace {
		t.Error("the Secret still has stringData, or another namespace")
	}
	if _, err := fill(m.secret, map[string]string{"absent": "x"}); err == nil {
		t.Error("an entry the manifest does not have was accepted")
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, status string
		want         bool
	}{
		{"nothing yet", `{}`, false},
		{"ready", `{observedGeneration: 2, conditions: [{type: Other, status: "False"}, {type: Ready, status: "True"}]}`, true},
		{"ready for an older generation", `{observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}`, false},
		{"not ready", `{observedGeneration: 2, conditions: [{type: Ready, status: "False"}]}`, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			obj := object(t, "{metadata: {generation: 2}, status: "+tc.status+"}")
			// YAML gives floats where the API server gives integers.
			obj.SetGeneration(2)
			if n, ok := obj.Object["status"].(map[string]any)["observedGeneration"].(float64); ok {
				if err := unstructured.SetNestedField(obj.Object, int64(n), "status", "observedGeneration"); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := ready(obj); err != nil || got != tc.want {
				t.Errorf("ready = %t, %v, want %t", got, err, tc.want)
			}
		})
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	const before = `{kind: Deployment, metadata: {name: a, resourceVersion: "1", generation: 1, labels: {l: v}}, spec: {x: 1}}`
	tests := []struct {
		reason, after string
		want          bool
	}{
		{"what the server and the Deployment controller keep does not count",
			`{kind: Deployment, metadata: {name: a, resourceVersion: "9", generation: 3, labels: {l: v}, annotations:
			 {deployment.kubernetes.io/revision: "2"}, managedFields: []}, spec: {x: 1}, status: {y: 1}}`, true},
		{"an annotation left behind counts",
			`{kind: Deployment, metadata: {name: a, labels: {l: v}, annotations: {left: behind}}, spec: {x: 1}}`, false},
		{"the spec counts", `{kind: Deployment, metadata: {name: a, labels: {l: v}}, spec: {x: 2}}`, false},
		{"labels count", `{kind: Deployment, metadata: {name: a}, spec: {x: 1}}`, false},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			if err := same(object(t, before), object(t, tc.after)); (err == nil) != tc.want {
				t.Errorf("error = %v, want none: %t", err, tc.want)
			}
		})
	}
}

func TestAdded(t *testing.T) {
	t.Parallel()
	before := object(t, `{metadata: {annotations: {mine: a}}}`)
	after := object(t, `{metadata: {annotations: {mine: b, z: "1", c: "1", deployment.kubernetes.io/revision: "1"}}}`)
	if diff := cmp.Diff([]string{"c", "z"}, added(before, after)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMustFail(t *testing.T) {
	t.Parallel()
	failure := exec.CommandContext(t.Context(), "false").Run()
	if _, ok := errors.AsType[*exec.ExitError](failure); !ok {
		t.Fatalf("running false: %v", failure)
	}
	tests := []struct {
		reason string
		output string
		err    error
		ok     bool
	}{
		{"it failed and said why", "no binding here", failure, true},
		{"it failed for another reason", "out of memory", failure, false},
		{"it succeeded", "no binding here", nil, false},
		{"it did not even run", "no binding here", exec.ErrNotFound, false},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			if err := mustFail(tc.output, tc.err, "no binding"); (err == nil) != tc.ok {
				t.Errorf("error = %v, want none: %t", err, tc.ok)
			}
		})
	}
}

func TestConditionsRead(t *testing.T) {
	t.Parallel()
	obj := object(t, `{status: {conditions: [{type: Ready, status: "False", reason: R, message: do this}, 5]}}`)
	if got := strings.Join(conditions(obj), ";"); got != "Ready=False (R): do this" {
		t.Errorf("got %q", got)
	}
}
