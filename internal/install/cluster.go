package install

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	ownerLabel = "app.kubernetes.io/part-of"
	ownerValue = "bowline"

	pollInterval = 100 * time.Millisecond
)

// run is one installation or removal under way.
type run struct {
	client   dynamic.Interface
	opts     Options
	progress func(string)
}

func newRun(cfg *rest.Config, opts Options, progress func(string)) (*run, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	if progress == nil {
		progress = func(string) {}
	}
	return &run{client: client, opts: opts, progress: progress}, nil
}

func (r *run) sayf(format string, args ...any) {
	r.progress(fmt.Sprintf(format, args...))
}

// resource returns the client for an object's kind and namespace. The kinds are the few of package config, whose plurals
// follow the rule; so nothing is discovered, and no discovery can be stale while the kinds are being made.
func (r *run) resource(object *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	if namespace := object.GetNamespace(); namespace != "" {
		return r.client.Resource(plural).Namespace(namespace)
	}
	return r.client.Resource(plural)
}

// live returns the object as the cluster has it, or nil.
func (r *run) live(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	found, err := r.resource(object).Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // no object and no error is the answer "not there"
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", describe(object), err)
	}
	return found, nil
}

// remove deletes the object where it is there and Bowline's. It does not wait.
func (r *run) remove(ctx context.Context, object *unstructured.Unstructured) error {
	found, err := r.live(ctx, object)
	if err != nil || found == nil {
		return err
	}
	if found.GetLabels()[ownerLabel] != ownerValue {
		r.sayf("%s is left alone: it does not bear the label %s=%s", describe(object), ownerLabel, ownerValue)
		return nil
	}
	return r.delete(ctx, object)
}

// delete deletes the object, whoever made it. One that is gone already is no error.
func (r *run) delete(ctx context.Context, object *unstructured.Unstructured) error {
	background := metav1.DeletePropagationBackground
	err := r.resource(object).Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting %s: %w", describe(object), err)
	}
	r.sayf("%s deleted", describe(object))
	return nil
}

// await polls until done says so, an error comes, or the time-out of the options has passed; the latter is reported as
// false without an error, for the caller to decide about.
func (r *run) await(ctx context.Context, done wait.ConditionWithContextFunc) (bool, error) {
	err := wait.PollUntilContextTimeout(ctx, pollInterval, r.opts.Timeout, true, done)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, fmt.Errorf("waiting: %w", ctx.Err())
	case wait.Interrupted(err):
		return false, nil
	default:
		return false, err
	}
}

// stub returns an object that only says which one it is.
func stub(gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}
