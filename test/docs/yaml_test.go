package docs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
)

const (
	patience     = 30 * time.Second
	gap          = 50 * time.Millisecond
	scratchSpace = "documents"
)

// applier sends what documents show to the API server.
type applier struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newApplier(t *testing.T) *applier {
	t.Helper()
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(scratchSpace)
	_, err = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
		Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("making a namespace: %v", err)
	}
	return &applier{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))}
}

// apply has the API server check an object without storing it; but it stores a definition, so that what follows can use it.
func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	isDefinition := object.GetKind() == "CustomResourceDefinition"
	options := metav1.ApplyOptions{FieldManager: "documents", Force: true, DryRun: []string{metav1.DryRunAll}}
	if isDefinition {
		options.DryRun = nil
	}
	mapping, err := a.mapper.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
	if err != nil {
		return fmt.Errorf("finding its kind: %w", err)
	}
	resource := a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		if _, err = resource.Apply(ctx, object.GetName(), object, options); err != nil || !isDefinition {
			return err
		}
		return a.served(ctx, object)
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(scratchSpace)
	}
	_, err = resource.Namespace(object.GetNamespace()).Apply(ctx, object.GetName(), object, options)
	return err
}

// served waits until a definition's kind can be used.
func (a *applier) served(ctx context.Context, definition *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	resource := schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
	err := wait.PollUntilContextTimeout(ctx, gap, patience, true, func(ctx context.Context) (bool, error) {
		_, err := a.client.Resource(resource).List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	a.mapper.Reset()
	return err
}

// objects reads the documents of a block.
func objects(text string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		raw, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(raw, &object.Object); err != nil {
			return nil, err
		}
		all = append(all, object)
	}
}

// rules tells which of Bowline's own rules an object breaks: the ones that its webhooks check, which do not run here.
func rules(object *unstructured.Unstructured) (field.ErrorList, error) {
	switch object.GetKind() {
	case "ServiceBinding":
		var b bindingv1.ServiceBinding
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &b)
		return binding.Validate(&b), err
	case "ClusterWorkloadResourceMapping":
		var m bindingv1.ClusterWorkloadResourceMapping
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &m)
		return binding.ValidateMapping(&m), err
	}
	return nil, nil
}

func TestYAMLIsAccepted(t *testing.T) {
	a := newApplier(t)
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.language != "yaml" || b.scenario != "" { // a scenario is played by test/extensions
				continue
			}
			at := fmt.Sprintf("%s:%d", d.path, b.line)
			all, err := objects(b.text)
			if err != nil {
				t.Errorf("%s: reading the block: %v", at, err)
				continue
			}
			if len(b.words) > 0 && b.words[0] == "fragment" {
				continue
			}
			for _, object := range all {
				a.check(t, at, object)
			}
		}
	}
}

func (a *applier) check(t *testing.T, at string, object *unstructured.Unstructured) {
	t.Helper()
	at += ": " + object.GetKind() + " " + object.GetName()
	broken, err := rules(object)
	if err != nil {
		t.Errorf("%s: %v", at, err)
	}
	if len(broken) > 0 {
		t.Errorf("%s breaks a rule: %v", at, broken.ToAggregate())
	}
	if err := a.apply(t.Context(), object); err != nil {
		t.Errorf("%s: the API server refuses it: %v", at, err)
	}
}
