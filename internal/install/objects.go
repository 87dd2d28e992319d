package install

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/config"
	"github.com/bowline-dev/bowline/internal/feature"
)

// The parts of an installation, named after the files and folders of package config.
const (
	partCRD        = "crd"
	partNamespace  = "namespace.yaml"
	partRBAC       = "rbac"
	partController = "controller"
	partMapping    = "mapping"
	partWebhook    = "webhook"
	partPolicy     = "policy"

	secretsRole = "bowline-services-secrets"

	// featureLabel names the feature that an object belongs to. What has no such label belongs to the core.
	featureLabel = "bowline.dev/feature"
)

// Objects returns what the options ask for, in the order in which it is applied. The webhook configurations and the
// policy come last, so that a cluster that is half installed refuses nothing.
func Objects(opts Options) ([]*unstructured.Unstructured, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	all := make([]*unstructured.Unstructured, 0, 24)
	for _, part := range []string{partCRD, partNamespace, partRBAC, partController, partMapping, partWebhook, partPolicy} {
		objects, err := objectsOf(part, opts)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// Render writes what Apply would apply as one stream of YAML documents. A client that must know a kind before it sends
// an object of it, such as kubectl, takes two runs; between them the controller has to start, since its webhook admits
// the mapping.
func Render(w io.Writer, opts Options) error {
	objects, err := Objects(opts)
	if err != nil {
		return err
	}
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", describe(object), err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return fmt.Errorf("writing %s: %w", describe(object), err)
		}
	}
	return nil
}

// objectsOf returns the objects of one part, as the (complete) options want them.
func objectsOf(part string, opts Options) ([]*unstructured.Unstructured, error) {
	if part == partController && opts.External || part == partPolicy && !opts.Policy {
		return nil, nil
	}
	objects, err := read(part, opts.Namespace)
	if err != nil {
		return nil, fmt.Errorf("reading the manifests of %s: %w", part, err)
	}
	kept := objects[:0]
	for _, object := range objects {
		if opts.leavesOut(object) {
			continue
		}
		if err := adapt(object, opts); err != nil {
			return nil, fmt.Errorf("preparing %s: %w", describe(object), err)
		}
		kept = append(kept, object)
	}
	return kept, nil
}

// leavesOut says whether the options do without an object.
func (o Options) leavesOut(object *unstructured.Unstructured) bool {
	if o.WithoutSecrets && object.GetName() == secretsRole {
		return true
	}
	needed := object.GetLabels()[featureLabel]
	return needed != "" && !o.Features.Has(feature.Feature(needed))
}

// adapt writes the options into one object.
func adapt(object *unstructured.Unstructured, opts Options) error {
	switch {
	case object.GetKind() == "Deployment":
		return setContainers(object, opts)
	case isWebhookConfiguration(object) && opts.External:
		unstructured.RemoveNestedField(object.Object, "webhooks")
	case isWebhookConfiguration(object):
		return chooseWebhooks(object, opts.Features)
	}
	return nil
}

// chooseWebhooks leaves out the webhooks of features that are not chosen.
func chooseWebhooks(configuration *unstructured.Unstructured, features feature.Set) error {
	hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("reading its webhooks: %w", err)
	}
	hooks = slices.DeleteFunc(hooks, func(hook any) bool {
		fields, _ := hook.(map[string]any)
		name, _ := fields["name"].(string)
		needed, ok := feature.OfWebhook(name)
		return ok && !features.Has(needed)
	})
	if err := unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks"); err != nil {
		return fmt.Errorf("setting its webhooks: %w", err)
	}
	return nil
}

// setContainers writes the image and the features' flags into the controller's Deployment.
func setContainers(deployment *unstructured.Unstructured, opts Options) error {
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return fmt.Errorf("reading its containers: %w", err)
	}
	for _, container := range containers {
		if fields, ok := container.(map[string]any); ok {
			fields["image"] = opts.Image
			arguments, _ := fields["args"].([]any)
			for _, argument := range opts.Arguments {
				arguments = append(arguments, argument)
			}
			fields["args"] = arguments
		}
	}
	err = unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
	if err != nil {
		return fmt.Errorf("setting its image and arguments: %w", err)
	}
	return nil
}

// read returns the objects of a file or folder of package config. The namespace is replaced in the text, because it also
// stands in subjects, in the addresses of webhooks and in their conditions.
func read(name, namespace string) ([]*unstructured.Unstructured, error) {
	files := config.Files()
	names, err := fs.Glob(files, path.Join(name, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing: %w", err)
	}
	if len(names) == 0 {
		names = []string{name}
	}
	var all []*unstructured.Unstructured
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading: %w", err)
		}
		objects, err := decode(strings.ReplaceAll(string(text), DefaultNamespace, namespace))
		if err != nil {
			return nil, fmt.Errorf("decoding %s: %w", name, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

func decode(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("splitting documents: %w", err)
		}
		raw, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, fmt.Errorf("parsing a document: %w", err)
		}
		if bytes.Equal(raw, []byte("null")) {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("reading an object: %w", err)
		}
		objects = append(objects, object)
	}
}

func isWebhookConfiguration(object *unstructured.Unstructured) bool {
	return strings.HasSuffix(object.GetKind(), "WebhookConfiguration")
}

// describe names an object the way people write it.
func describe(object *unstructured.Unstructured) string {
	if namespace := object.GetNamespace(); namespace != "" {
		return object.GetKind() + " " + namespace + "/" + object.GetName()
	}
	return object.GetKind() + " " + object.GetName()
}
