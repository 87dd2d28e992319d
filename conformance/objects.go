package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// The resources that the suite looks at.
var (
	nodes        = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	secrets      = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	definitions  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
)

// clusterScoped lists the kinds used here that have no namespace.
var clusterScoped = []string{"ClusterWorkloadResourceMapping", "ClusterRole", "CustomResourceDefinition", "Namespace"}

// resourceOf gives the resource of an object; the plural is a guess that is right for all kinds used here.
func resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	return resource
}

// parse reads the objects of a YAML text.
func parse(text string) ([]*unstructured.Unstructured, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), len(text)+1)
	var objects []*unstructured.Unstructured
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("parsing: %w", err)
		}
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", raw, err)
		}
		objects = append(objects, object)
	}
}

// isNamespaced says whether a kind used here lives in a namespace.
func isNamespaced(object *unstructured.Unstructured) bool {
	return !slices.Contains(clusterScoped, object.GetKind())
}

// decode turns what was read from JSON into a typed value.
func decode(from, into any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	return nil
}
