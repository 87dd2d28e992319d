package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// namespace is where the story plays.
const namespace = "greeter"

// manifests are the objects of the example.
type manifests struct {
	secret, deployment, binding *unstructured.Unstructured
}

// loadManifests reads the example's files from dir.
func loadManifests(dir string) (manifests, error) {
	var m manifests
	for name, into := range map[string]**unstructured.Unstructured{
		"secret.yaml": &m.secret, "deployment.yaml": &m.deployment, "binding.yaml": &m.binding,
	} {
		obj, err := loadManifest(filepath.Join(dir, name))
		if err != nil {
			return manifests{}, err
		}
		*into = obj
	}
	return m, nil
}

// loadManifest reads one object and puts it into the story's namespace.
func loadManifest(path string) (*unstructured.Unstructured, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(text, &obj.Object); err != nil {
		return nil, fmt.Errorf("reading manifest %s: %w", path, err)
	}
	obj.SetNamespace(namespace)
	return obj, nil
}

// fill replaces entries of the Secret's defaults. It writes data and no stringData, which server-side apply does not
// take well: a field manager would own a field that the server never stores.
func fill(secret *unstructured.Unstructured, entries map[string]string) (*unstructured.Unstructured, error) {
	secret = secret.DeepCopy()
	values, _, err := unstructured.NestedStringMap(secret.Object, "stringData")
	if err != nil {
		return nil, fmt.Errorf("reading the Secret's defaults: %w", err)
	}
	data := make(map[string]any, len(values))
	for key, value := range values {
		if own, ok := entries[key]; ok {
			value = own
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	for key := range entries {
		if _, ok := data[key]; !ok {
			return nil, fmt.Errorf("filling in the Secret: the manifest has no entry %q", key)
		}
	}
	unstructured.RemoveNestedField(secret.Object, "stringData")
	secret.Object["data"] = data
	return secret, nil
}
