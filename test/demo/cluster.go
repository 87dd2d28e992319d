package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"
)

const fieldManager = "bowline-demo"

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

// of returns the client for the kind and namespace of obj.
func (c *cluster) of(obj *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	var resource schema.GroupVersionResource
	gvk := obj.GroupVersionKind()
	switch gvk.Kind {
	case "Namespace":
		return c.client.Resource(gvk.GroupVersion().WithResource("namespaces")), nil
	case "Secret":
		resource = gvk.GroupVersion().WithResource("secrets")
	case "Deployment":
		resource = gvk.GroupVersion().WithResource("deployments")
	case "ServiceBinding":
		resource = gvk.GroupVersion().WithResource("servicebindings")
	default:
		return nil, fmt.Errorf("kind %s has no part in this story", gvk.Kind)
	}
	return c.client.Resource(resource).Namespace(obj.GetNamespace()), nil
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
	client, err := c.of(obj)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	last := obj
	isReady := func(event watch.Event) (bool, error) {
		seen, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Deleted {
			return false, fmt.Errorf("%s %s went away", obj.GetKind(), obj.GetName())
		}
		last = seen
		return ready(seen)
	}
	_, err = watchtools.UntilWithSync(ctx, listWatch(client, obj.GetName()), &unstructured.Unstructured{}, nil, isReady)
	if err != nil {
		return nil, fmt.Errorf("waiting until %s %s is ready: %w; last seen: %s",
			obj.GetKind(), obj.GetName(), err, listed(conditions(last)))
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
