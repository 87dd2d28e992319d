package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"
)

const (
	fieldManager = "bowline-demo"
	pollGap      = 50 * time.Millisecond
)

// cluster is the API server, seen by a person with kubectl: it knows nothing of Bowline's packages.
type cluster struct {
	client dynamic.Interface
}

// connect uses the kubeconfig that "bowline up" wrote.
func connect(kubeconfig string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return &cluster{client: client}, nil
}

// resources are those that have a part in this story, by their kinds.
var resources = map[string]struct {
	name        string
	clusterwide bool
}{
	"Namespace":                   {name: "namespaces", clusterwide: true},
	"CustomResourceDefinition":    {name: "customresourcedefinitions", clusterwide: true},
	"ClusterRole":                 {name: "clusterroles", clusterwide: true},
	"Secret":                      {name: "secrets"},
	"ConfigMap":                   {name: "configmaps"},
	"Deployment":                  {name: "deployments"},
	"ServiceBinding":              {name: "servicebindings"},
	"SyntheticProvisionedService": {name: "syntheticprovisionedservices"},
	"Broker":                      {name: "brokers"},
}

// of returns the client for the kind and namespace of obj.
func (c *cluster) of(obj *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := obj.GroupVersionKind()
	resource, ok := resources[kind.Kind]
	if !ok {
		return nil, fmt.Errorf("kind %s has no part in this story", kind.Kind)
	}
	client := c.client.Resource(kind.GroupVersion().WithResource(resource.name))
	if resource.clusterwide {
		return client, nil
	}
	return client.Namespace(obj.GetNamespace()), nil
}

// apply creates or changes obj by server-side apply and returns what is stored.
func (c *cluster) apply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	client, err := c.of(obj)
	if err != nil {
		return nil, err
	}
	stored, err := client.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return nil, fmt.Errorf("applying %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return stored, nil
}

// applyServed applies obj once its kind, which was just defined, is served.
func (c *cluster) applyServed(ctx context.Context, obj *unstructured.Unstructured) error {
	return wait.PollUntilContextTimeout(ctx, pollGap, waitTimeout, true, func(ctx context.Context) (bool, error) { //nolint:wrapcheck // apply says it
		_, err := c.apply(ctx, obj)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// get returns obj as it is stored now.
func (c *cluster) get(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	client, err := c.of(obj)
	if err != nil {
		return nil, err
	}
	stored, err := client.Get(ctx, obj.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return stored, nil
}

// remove asks for the deletion of obj and waits until it is gone.
func (c *cluster) remove(ctx context.Context, obj *unstructured.Unstructured) error {
	client, err := c.of(obj)
	if err != nil {
		return err
	}
	if err := client.Delete(ctx, obj.GetName(), metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	absent := func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil }
	gone := func(event watch.Event) (bool, error) { return event.Type == watch.Deleted, nil }
	_, err = watchtools.UntilWithSync(ctx, listWatch(client, obj.GetName()), &unstructured.Unstructured{}, absent, gone)
	if err != nil {
		return fmt.Errorf("waiting until %s %s is gone: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

// awaitReady watches obj until its condition Ready is True for its newest generation, and returns it. When the time
// is over the error tells the conditions last seen.
func (c *cluster) awaitReady(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	last := obj
	seen, err := c.await(ctx, obj, "the condition Ready", func(seen *unstructured.Unstructured) bool {
		last = seen
		isReady, err := ready(seen)
		return isReady && err == nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w; last seen: %s", err, listed(conditions(last)))
	}
	return seen, nil
}

// await watches obj until it is as wanted, and returns it.
func (c *cluster) await(
	ctx context.Context, obj *unstructured.Unstructured, what string, wanted func(*unstructured.Unstructured) bool,
) (*unstructured.Unstructured, error) {
	client, err := c.of(obj)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	var last *unstructured.Unstructured
	is := func(event watch.Event) (bool, error) {
		seen, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Deleted {
			return false, fmt.Errorf("%s %s went away", obj.GetKind(), obj.GetName())
		}
		last = seen
		return wanted(seen), nil
	}
	if _, err = watchtools.UntilWithSync(ctx, listWatch(client, obj.GetName()), &unstructured.Unstructured{}, nil, is); err != nil {
		return nil, fmt.Errorf("waiting until %s %s has %s: %w", obj.GetKind(), obj.GetName(), what, err)
	}
	return last, nil
}

// listWatch lists and watches the one object of this name.
func listWatch(client dynamic.ResourceInterface, name string) cache.ListerWatcher {
	selector := fields.OneTermEqualSelector("metadata.name", name).String()
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return client.Watch(ctx, options)
		},
	}
}
