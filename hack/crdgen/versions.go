package main

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	group       = "servicebinding.io"
	draftGroup  = "service.binding"
	mappingKind = "ClusterWorkloadResourceMapping"
	storage     = "v1"
)

var errNoStorageVersion = errors.New("no version " + storage + " with a schema")

// finish completes a generated CustomResourceDefinition in place.
func finish(crd map[string]any) error {
	name, _, _ := unstructured.NestedString(crd, "metadata", "name")
	labels := map[string]any{
		"app.kubernetes.io/name":    "bowline",
		"app.kubernetes.io/part-of": "bowline",
	}
	crd["metadata"] = map[string]any{"name": name, "labels": labels}
	delete(crd, "status")
	g, _, _ := unstructured.NestedString(crd, "spec", "group")
	if g == draftGroup {
		labels["bowline.dev/feature"] = featureOf(crd)
	}
	if g != group {
		return nil
	}
	return serveAllVersions(crd)
}

// featureOf is the feature of Bowline that a kind of the early draft's API belongs to.
func featureOf(crd map[string]any) string {
	kind, _, _ := unstructured.NestedString(crd, "spec", "names", "kind")
	if kind == "SyntheticProvisionedService" {
		return "synthetic-services"
	}
	return "draft-api"
}

// serveAllVersions derives each served version of servicebinding.io from the schema of v1.
func serveAllVersions(crd map[string]any) error {
	v1, err := storageVersion(crd)
	if err != nil {
		return err
	}
	dropListTypes(v1)
	versions := make([]any, 0, 3)
	for _, name := range []string{storage, "v1beta1", "v1alpha3"} {
		version := runtime.DeepCopyJSON(v1)
		version["name"], version["served"], version["storage"] = name, true, name == storage
		versions = append(versions, version)
	}
	kind, _, _ := unstructured.NestedString(crd, "spec", "names", "kind")
	if err := asOfV1beta1(kind, versions[1].(map[string]any)); err != nil { //nolint:forcetypeassert // made above
		return fmt.Errorf("deriving v1beta1: %w", err)
	}
	spec := crd["spec"].(map[string]any) //nolint:forcetypeassert // storageVersion found it
	spec["versions"] = versions
	spec["conversion"] = map[string]any{"strategy": "None"}
	return nil
}

func storageVersion(crd map[string]any) (map[string]any, error) {
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil {
		return nil, fmt.Errorf("reading spec.versions: %w", err)
	}
	at := slices.IndexFunc(versions, func(v any) bool {
		version, ok := v.(map[string]any)
		return ok && version["name"] == storage && version["schema"] != nil
	})
	if at < 0 {
		return nil, errNoStorageVersion
	}
	return versions[at].(map[string]any), nil //nolint:forcetypeassert // IndexFunc saw that it is one
}

// dropListTypes takes out the list types that generators newer than the exemplars write for label selectors.
func dropListTypes(node any) {
	switch node := node.(type) {
	case map[string]any:
		delete(node, "x-kubernetes-list-type")
		for _, child := range node {
			dropListTypes(child)
		}
	case []any:
		for _, child := range node {
			dropListTypes(child)
		}
	}
}

// asOfV1beta1 applies the two places where the exemplars of v1beta1 differ from those of v1: a selector is no atomic
// map, and a mapping's template requires its paths.
func asOfV1beta1(kind string, version map[string]any) error {
	if kind != mappingKind {
		unstructured.RemoveNestedField(version, "schema", "openAPIV3Schema", "properties", "spec", "properties",
			"workload", "properties", "selector", "x-kubernetes-map-type")
		return nil
	}
	required := []string{"annotations", "version", "volumes"}
	err := unstructured.SetNestedStringSlice(version, required, "schema", "openAPIV3Schema", "properties", "spec",
		"properties", "versions", "items", "required")
	if err != nil {
		return fmt.Errorf("requiring %v of a mapping template: %w", required, err)
	}
	return nil
}
