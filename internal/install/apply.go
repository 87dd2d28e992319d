package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/feature"
)

// ErrTimeout reports that the cluster did not get where it was asked to in the time that the options allow.
var ErrTimeout = errors.New("timed out")

// Apply brings the cluster to what the options ask for, and tells progress about each object that it changed. Doing it
// again changes nothing; doing it with other options also removes what these leave out.
func Apply(ctx context.Context, cfg *rest.Config, opts Options, progress func(string)) error {
	r, err := newRun(cfg, opts, progress)
	if err != nil {
		return err
	}
	steps := []struct {
		part  string
		apply func(context.Context, *unstructured.Unstructured) error
	}{
		{partCRD, r.applyObject},
		{partCRD, r.awaitEstablished},
		{partNamespace, r.applyNamespace},
		{partRBAC, r.applyObject},
		{partController, r.applyObject},
		{partMapping, r.applyMapping},
		{partWebhook, r.applyWebhooks},
		{partPolicy, r.applyObject},
	}
	for _, step := range steps {
		objects, err := objectsOf(step.part, r.opts)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := step.apply(ctx, object); err != nil {
				return err
			}
		}
	}
	return r.prune(ctx)
}

// applyObject applies one object on the server's side. Fields that the manifests leave out stay as whoever owns them set
// them.
func (r *run) applyObject(ctx context.Context, object *unstructured.Unstructured) error {
	before, err := r.settled(ctx, object)
	if err != nil {
		return err
	}
	after, err := r.resource(object).Apply(ctx, object.GetName(), object,
		metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("applying %s: %w", describe(object), err)
	}
	switch {
	case before == nil:
		r.sayf("%s created", describe(object))
	case before.GetResourceVersion() != after.GetResourceVersion():
		r.sayf("%s updated", describe(object))
	}
	return nil
}

// settled returns the object as the cluster has it, or nil, once no earlier deletion of it is under way: what is on its
// way out would take along what is applied to it.
func (r *run) settled(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var found *unstructured.Unstructured
	settled, err := r.await(ctx, func(ctx context.Context) (bool, error) {
		var err error
		found, err = r.live(ctx, object)
		return found == nil || found.GetDeletionTimestamp() == nil, err
	})
	if err != nil {
		return nil, err
	}
	if !settled {
		return nil, fmt.Errorf("waiting %s for the deletion of %s to end: %w", r.opts.Timeout, describe(object), ErrTimeout)
	}
	return found, nil
}

// awaitEstablished waits until the kinds of a CustomResourceDefinition are served.
func (r *run) awaitEstablished(ctx context.Context, crd *unstructured.Unstructured) error {
	established, err := r.await(ctx, func(ctx context.Context) (bool, error) {
		found, err := r.live(ctx, crd)
		if err != nil || found == nil {
			return false, err
		}
		return hasCondition(found, "Established"), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be established: %w", describe(crd), err)
	}
	if !established {
		return fmt.Errorf("waiting %s for %s to be established: %w", r.opts.Timeout, describe(crd), ErrTimeout)
	}
	return nil
}

func hasCondition(object *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, ok := condition.(map[string]any)
		if ok && fields["type"] == kind && fields["status"] == "True" {
			return true
		}
	}
	return false
}

// applyNamespace leaves a namespace that others made as it is: it gets no label, and Delete will leave it standing.
func (r *run) applyNamespace(ctx context.Context, namespace *unstructured.Unstructured) error {
	found, err := r.live(ctx, namespace)
	if err != nil {
		return err
	}
	if found != nil && found.GetLabels()[ownerLabel] != ownerValue {
		r.sayf("%s is used as it is", describe(namespace))
		return nil
	}
	return r.applyObject(ctx, namespace)
}

// applyMapping applies a mapping, which a webhook of an earlier installation may have to admit. Where nothing would
// change the webhook is not asked; where it does not answer, it may be starting and is waited for.
func (r *run) applyMapping(ctx context.Context, mapping *unstructured.Unstructured) error {
	found, err := r.live(ctx, mapping)
	if err != nil {
		return err
	}
	if found != nil && equality.Semantic.DeepEqual(found.Object["spec"], mapping.Object["spec"]) {
		return nil
	}
	var last error
	applied, err := r.await(ctx, func(ctx context.Context) (bool, error) {
		last = r.applyObject(ctx, mapping)
		if last == nil || !mayPass(last) {
			return true, last
		}
		return false, nil
	})
	if err == nil && !applied {
		return fmt.Errorf("waiting %s for the webhook to admit it: %w", r.opts.Timeout, last)
	}
	return err
}

// mayPass tells whether an error is one that a fresh or starting cluster shows for a while: a kind that is established
// but not served yet, a webhook that does not answer.
func mayPass(err error) bool {
	if apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) {
		return true
	}
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}

// applyWebhooks applies a webhook configuration. One that a controller elsewhere filled in is replaced: a webhook is
// reached by its URL or by its Service, and a mixture would be refused.
func (r *run) applyWebhooks(ctx context.Context, configuration *unstructured.Unstructured) error {
	found, err := r.live(ctx, configuration)
	if err != nil {
		return err
	}
	wanted := "service"
	if r.opts.External {
		wanted = "url"
	}
	if found != nil && reachedBy(found) != "" && reachedBy(found) != wanted {
		if err := r.delete(ctx, configuration); err != nil {
			return err
		}
	}
	return r.applyObject(ctx, configuration)
}

// prune removes what an earlier installation with other options brought and these leave out.
func (r *run) prune(ctx context.Context) error {
	wanted, err := Objects(r.opts)
	if err != nil {
		return err
	}
	keep := make(map[string]bool, len(wanted))
	for _, object := range wanted {
		keep[describe(object)] = true
	}
	everything, err := Objects(Options{Namespace: r.opts.Namespace, Policy: true, Features: feature.Of(feature.All()...)})
	if err != nil {
		return err
	}
	for _, object := range everything {
		if keep[describe(object)] {
			continue
		}
		used, err := r.inUse(ctx, object)
		if err != nil {
			return err
		}
		if used {
			r.sayf("%s is kept: there are objects of it; delete them while their feature is on, then install again", describe(object))
			continue
		}
		if err := r.remove(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// inUse says whether an object defines a kind of which there are objects: nobody loses any because a feature is switched off.
func (r *run) inUse(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	if object.GroupVersionKind() != crdKind {
		return false, nil
	}
	for _, kind := range []schema.GroupVersionResource{draftKind, syntheticKind} {
		if kind.GroupResource().String() != object.GetName() {
			continue
		}
		objects, err := r.list(ctx, kind)
		return len(objects) > 0, err
	}
	return false, nil
}
