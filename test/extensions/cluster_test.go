package extensions_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	patience = 60 * time.Second
	pollGap  = 25 * time.Millisecond
)

// mapping finds resources of kinds, with what was learnt last as long as it suffices.
var mapping = struct { //nolint:gochecknoglobals // there is one API server
	sync.Mutex
	*restmapper.DeferredDiscoveryRESTMapper
}{}

// resourceOf finds the resource of a kind, and whether it has a namespace.
func resourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool, error) {
	mapping.Lock()
	defer mapping.Unlock()
	if mapping.DeferredDiscoveryRESTMapper == nil {
		client, err := discovery.NewDiscoveryClientForConfig(admin)
		if err != nil {
			return schema.GroupVersionResource{}, false, err
		}
		mapping.DeferredDiscoveryRESTMapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	}
	found, err := mapping.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		mapping.Reset()
		found, err = mapping.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return schema.GroupVersionResource{}, false, fmt.Errorf("finding the resource of kind %s: %w", kind, err)
	}
	return found.Resource, found.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// clientOf is the client of a user, or of the administrator when the name is empty.
func clientOf(user string) (dynamic.Interface, error) {
	c := rest.CopyConfig(admin)
	c.QPS = -1
	if user != "" {
		c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	}
	return dynamic.NewForConfig(c)
}

// createKinds creates the kinds that many scenarios use.
func createKinds(ctx context.Context) error {
	text, err := os.ReadFile("testdata/kinds.yaml")
	if err != nil {
		return err
	}
	objects, err := parse(string(text))
	if err != nil {
		return err
	}
	client, err := clientOf("")
	if err != nil {
		return err
	}
	for _, object := range objects {
		resource, _, err := resourceOf(object.GroupVersionKind())
		if err != nil {
			return err
		}
		if _, err := client.Resource(resource).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// served waits until the kind of a definition can be used.
func served(ctx context.Context, definition *unstructured.Unstructured) error {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	kind := schema.GroupVersionKind{}
	kind.Group, _, _ = unstructured.NestedString(definition.Object, "spec", "group")
	kind.Kind, _, _ = unstructured.NestedString(definition.Object, "spec", "names", "kind")
	if first, ok := versions[0].(map[string]any); ok {
		kind.Version, _ = first["name"].(string)
	}
	return eventually(ctx, patience, func() error {
		_, _, err := resourceOf(kind)
		return err
	})
}

// eventually waits until check returns nil; the error is the last that it gave.
func eventually(ctx context.Context, most time.Duration, check func() error) error {
	last := errors.New("it was never looked at")
	err := wait.PollUntilContextTimeout(ctx, pollGap, most, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("after %s: %w", most, last)
	}
	return nil
}

// emptyNamespace makes a namespace, after the end of one of that name that an earlier run left.
func emptyNamespace(ctx context.Context, client dynamic.Interface, name string) error {
	namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(name)
	return eventually(ctx, patience, func() error {
		_, err := namespaces.Create(ctx, namespace, metav1.CreateOptions{})
		return err
	})
}

// destroyNamespace begins the end of a namespace.
func destroyNamespace(ctx context.Context, client dynamic.Interface, name string) error {
	namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	err := namespaces.Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting namespace %s: %w", name, err)
	}
	return nil
}
