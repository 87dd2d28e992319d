package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

const (
	pollGap = 100 * time.Millisecond
	// patience is how long one thing is waited for.
	patience    = 30 * time.Second
	cleanupTime = 30 * time.Second
)

// T is what a clause's test works with: a namespace of its own and the means to look into it.
type T struct {
	suite   *suite
	ctx     context.Context
	clause  string
	ns      string
	message string
	// made are the cluster-scoped objects and the namespaces to remove.
	made []*unstructured.Unstructured
}

// Context ends when the clause's time is over.
func (t *T) Context() context.Context { return t.ctx }

// Client reaches the API server as an administrator.
func (t *T) Client() dynamic.Interface { return t.suite.client }

// Namespace is the clause's own.
func (t *T) Namespace() string { return t.ns }

// Fatalf ends the test: the clause is broken.
func (t *T) Fatalf(format string, args ...any) {
	t.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// Apply creates the objects of a YAML text, in the clause's namespace where they have none of their own, and gives them
// their status. Objects of the specification are created in the version under test.
func (t *T) Apply(text string) {
	objects, err := parse(text)
	if err != nil {
		t.Fatalf("reading manifests: %v", err)
	}
	for _, object := range objects {
		if err := t.create(object); err != nil {
			t.Fatalf("creating %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// Eventually waits until check returns nil, and fails with its last error when that takes too long.
func (t *T) Eventually(what string, check func() error) {
	if err := poll(t.ctx, what, check); err != nil {
		t.Fatalf("%v", err)
	}
}

// poll waits until check returns nil.
func poll(ctx context.Context, what string, check func() error) error {
	last := errors.New("there was no time")
	err := wait.PollUntilContextTimeout(ctx, pollGap, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s: %w", what, last)
	}
	return nil
}

// try runs a clause's test and returns why it failed; "" when it did not.
func (t *T) try(c Clause) string {
	return t.guard(func(t *T) {
		t.ns = t.namespace()
		t.Apply(c.Manifests)
		c.Test(t)
	})
}

// guard runs something in a goroutine of its own, which Fatalf can end, and returns the message of that.
func (t *T) guard(run func(*T)) string {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if cause := recover(); cause != nil {
				t.message = fmt.Sprintf("the test itself is at fault: %v", cause)
			}
		}()
		run(t)
	}()
	<-done
	return t.message
}

// namespace makes a namespace that is removed when the test ends.
func (t *T) namespace() string {
	name := t.clause
	if len(name) > 40 {
		name = name[:40]
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "conformance-" + name + "-"},
	}}
	object, err := t.Client().Resource(namespaces).Create(t.ctx, object, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.made = append(t.made, object)
	return object.GetName()
}

// create creates an object. Where its kind was defined a moment ago it is waited for.
func (t *T) create(object *unstructured.Unstructured) error {
	if object.GetAPIVersion() == group+"/v1" {
		object.SetAPIVersion(t.suite.apiVersion())
	}
	if isNamespaced(object) && object.GetNamespace() == "" {
		object.SetNamespace(t.ns)
	}
	client := t.of(object)
	var created *unstructured.Unstructured
	err := wait.PollUntilContextTimeout(t.ctx, pollGap, patience, true, func(ctx context.Context) (bool, error) {
		var err error
		created, err = client.Create(ctx, object, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return true, err //nolint:wrapcheck // the caller asks for its kind
	})
	if err != nil {
		return err //nolint:wrapcheck // the caller asks for its kind
	}
	if !isNamespaced(object) {
		t.made = append(t.made, created)
	}
	return t.giveStatus(client, object, created)
}

// giveStatus writes the status that a manifest gives, since the API server ignores it in a create.
func (t *T) giveStatus(client dynamic.ResourceInterface, object, created *unstructured.Unstructured) error {
	status, given := object.Object["status"]
	if _, kept := created.Object["status"]; kept || !given {
		return nil
	}
	data, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	_, err = client.Patch(t.ctx, object.GetName(), types.MergePatchType, data, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}

func (t *T) of(object *unstructured.Unstructured) dynamic.ResourceInterface {
	return t.in(resourceOf(object), object.GetNamespace())
}

func (t *T) in(resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return t.Client().Resource(resource)
	}
	return t.Client().Resource(resource).Namespace(namespace)
}

// cleanup removes all that the test made, bindings first, so that what they are bound to is still there to be unbound.
// It returns what could not be removed.
func (t *T) cleanup() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), cleanupTime)
	defer cancel()
	var errs []error
	for _, object := range t.made {
		if object.GetKind() == "Namespace" {
			errs = append(errs, t.deleteBindings(ctx, object.GetName()))
		}
	}
	for _, object := range slices.Backward(t.made) {
		err := t.of(object).Delete(ctx, object.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("deleting %s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return "cleaning up: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return ""
}

func (t *T) deleteBindings(ctx context.Context, namespace string) error {
	client := t.in(t.bindings(), namespace)
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("deleting bindings: %w", err)
	}
	return poll(ctx, "the bindings are gone", func() error {
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("listing them: %w", err)
		}
		if n := len(list.Items); n > 0 {
			return fmt.Errorf("%d are there, the first is %s", n, list.Items[0].GetName())
		}
		return nil
	})
}

func (t *T) bindings() schema.GroupVersionResource { return t.resource("servicebindings") }

func (t *T) mappings() schema.GroupVersionResource {
	return t.resource("clusterworkloadresourcemappings")
}
