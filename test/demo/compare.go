package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// revisionAnnotation is written by the Deployment controller, at its own time.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// contextLines is how much a diff shows around a change.
const contextLines = 3

// conditions lists the conditions of an object for a person, in their order.
func conditions(obj *unstructured.Unstructured) []string {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	lines := make([]string, 0, len(list))
	for _, c := range list {
		c, ok := c.(map[string]any)
		if !ok {
			continue
		}
		line := fmt.Sprintf("%v=%v (%v)", c["type"], c["status"], c["reason"])
		if message, _ := c["message"].(string); message != "" {
			line += ": " + message
		}
		lines = append(lines, line)
	}
	return lines
}

// ready tells whether Ready is True and was computed from the object's newest generation.
func ready(obj *unstructured.Unstructured) (bool, error) {
	observed, _, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	if err != nil {
		return false, fmt.Errorf("reading .status.observedGeneration: %w", err)
	}
	list, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return false, fmt.Errorf("reading .status.conditions: %w", err)
	}
	isTrue := slices.ContainsFunc(list, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == "Ready" && condition["status"] == "True"
	})
	return isTrue && observed == obj.GetGeneration(), nil
}

// essence is what a person wrote into a workload: labels, annotations and spec, without what the server and the
// Deployment controller keep for themselves.
func essence(obj *unstructured.Unstructured) map[string]any {
	annotations := maps.Clone(obj.GetAnnotations())
	delete(annotations, revisionAnnotation)
	kept := map[string]any{"spec": obj.Object["spec"], "labels": obj.GetLabels()}
	if len(annotations) > 0 {
		kept["annotations"] = annotations
	}
	return kept
}

// same returns an error with the differences unless both workloads are the same in essence.
func same(before, after *unstructured.Unstructured) error {
	if reflect.DeepEqual(essence(before), essence(after)) {
		return nil
	}
	text, err := diff(essence(before), essence(after))
	if err != nil {
		return err
	}
	return fmt.Errorf("%s %s is not what it was before the binding:\n%s", after.GetKind(), after.GetName(), text)
}

// diff shows two values as YAML, in the unified form.
func diff(before, after any) (string, error) {
	a, err := yaml.Marshal(before)
	if err != nil {
		return "", fmt.Errorf("writing YAML: %w", err)
	}
	b, err := yaml.Marshal(after)
	if err != nil {
		return "", fmt.Errorf("writing YAML: %w", err)
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(string(a)), B: difflib.SplitLines(string(b)),
		FromFile: "before", ToFile: "after", Context: contextLines,
	})
	if err != nil {
		return "", fmt.Errorf("comparing: %w", err)
	}
	return text, nil
}

// added lists the annotations that only the second object has.
func added(before, after *unstructured.Unstructured) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(after.GetAnnotations())) {
		if _, ok := before.GetAnnotations()[name]; !ok && name != revisionAnnotation {
			names = append(names, name)
		}
	}
	return names
}

// sortedKeys lists keys, never what stands under them.
func sortedKeys(entries map[string]string) []string { return slices.Sorted(maps.Keys(entries)) }
