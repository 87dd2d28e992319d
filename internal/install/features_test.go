package install_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/generate"
	"github.com/bowline-dev/bowline/internal/install"
)

func clusterRole(t *testing.T, object *unstructured.Unstructured) *rbacv1.ClusterRole {
	t.Helper()
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
		t.Fatal(err)
	}
	return &role
}

// writes lists the roles that let Bowline write Secrets anywhere.
func writes(t *testing.T, all []*unstructured.Unstructured) []string {
	t.Helper()
	var names []string
	for _, object := range all {
		if object.GetKind() != "ClusterRole" {
			continue
		}
		for _, rule := range clusterRole(t, object).Rules {
			if slices.Contains(rule.Resources, "secrets") && slices.Contains(rule.Verbs, "create") {
				names = append(names, object.GetName())
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestFeaturesAreOffUnlessChosen: the core brings nothing of any feature, and cannot write a Secret but its own.
func TestFeaturesAreOffUnlessChosen(t *testing.T) {
	t.Parallel()
	core := objects(t, install.Options{Policy: true})
	for _, object := range core {
		if object.GetLabels()["bowline.dev/feature"] != "" {
			t.Errorf("%s %s is part of the core", object.GetKind(), object.GetName())
		}
	}
	if names := writes(t, core); len(names) > 0 {
		t.Errorf("in the core %v can write Secrets", names)
	}
	full := objects(t, install.Options{Features: feature.Of(feature.All()...), Policy: true})
	want := []string{"bowline-secret-generation", "bowline-synthetic-services", "bowline-templates"}
	if diff := cmp.Diff(want, writes(t, full)); diff != "" {
		t.Errorf("roles that can write Secrets (-want +got):\n%s", diff)
	}
}

// TestEachFeatureBringsARole of its own name, bound to the controller, and nothing of another one.
func TestEachFeatureBringsARole(t *testing.T) {
	t.Parallel()
	for _, f := range feature.All() {
		all := objects(t, install.Options{Features: feature.Of(f)})
		for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
			if find(t, all, kind, "bowline-"+string(f)) == nil {
				t.Errorf("feature %s has no %s", f, kind)
			}
		}
		for _, object := range all {
			if of := object.GetLabels()["bowline.dev/feature"]; of != "" && of != string(f) {
				t.Errorf("feature %s brings %s %s of feature %s", f, object.GetKind(), object.GetName(), of)
			}
		}
	}
}

// TestArgumentsReachTheController: the Deployment has the flags of what was chosen.
func TestArgumentsReachTheController(t *testing.T) {
	t.Parallel()
	deployment := find(t, objects(t, install.Options{Arguments: []string{"--templates"}}), "Deployment", "bowline-controller")
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	container, _ := containers[0].(map[string]any)
	if diff := cmp.Diff([]any{"controller", "--templates"}, container["args"]); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// TestKnownOperatorsMayBeWatched: each kind that Bowline describes by itself is one that it may watch, and there are no
// others in that role.
func TestKnownOperatorsMayBeWatched(t *testing.T) {
	t.Parallel()
	all := objects(t, install.Options{Features: feature.Of(feature.SecretGeneration)})
	granted := map[string]bool{}
	for _, rule := range clusterRole(t, find(t, all, "ClusterRole", "bowline-known-operators")).Rules {
		for _, resource := range rule.Resources {
			granted[resource+"."+rule.APIGroups[0]] = true
		}
	}
	known, err := generate.Known(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range known.Kinds() {
		// The plural is the kind in lower case with an s, as each of them has it; Redis is its own.
		resource := strings.ToLower(kind.Kind)
		if !strings.HasSuffix(resource, "s") {
			resource += "s"
		}
		if name := resource + "." + kind.Group; granted[name] {
			delete(granted, name)
		} else {
			t.Errorf("%s may not be watched", name)
		}
	}
	for name := range granted {
		t.Errorf("%s may be watched, and is not described", name)
	}
}
