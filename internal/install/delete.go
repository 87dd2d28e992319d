package install

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/feature"
)

// Delete takes Bowline out of the cluster. While bindings or mappings of people exist it refuses with an InUseError and
// changes nothing; with Options.Force it deletes the bindings first and gives the running controller the time-out of the
// options to release their workloads. Each wait is bounded.
func Delete(ctx context.Context, cfg *rest.Config, opts Options, progress func(string)) error {
	r, err := newRun(cfg, opts, progress)
	if err != nil {
		return err
	}
	// What earlier options left out is deleted as well, should it be there.
	r.opts.External, r.opts.WithoutSecrets, r.opts.Policy, r.opts.Features = false, false, true, feature.Of(feature.All()...)
	if err := r.clearUse(ctx); err != nil {
		return err
	}
	// The webhooks go first: from here on nothing waits for a controller that is about to vanish.
	for _, part := range []string{partPolicy, partWebhook, partController, partRBAC} {
		if err := r.removePart(ctx, part); err != nil {
			return err
		}
	}
	if err := r.removeRuntime(ctx); err != nil {
		return err
	}
	if err := r.removeKinds(ctx); err != nil {
		return err
	}
	return r.removeNamespace(ctx)
}

func (r *run) removePart(ctx context.Context, part string) error {
	objects, err := objectsOf(part, r.opts)
	if err != nil {
		return err
	}
	for _, object := range slices.Backward(objects) {
		if err := r.remove(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// removeRuntime deletes what the controller made for itself, for the case that the namespace is not Bowline's and stays.
func (r *run) removeRuntime(ctx context.Context) error {
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	lease := schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
	for _, object := range []*unstructured.Unstructured{
		stub(secret, r.opts.Namespace, CertificateSecret),
		stub(lease, r.opts.Namespace, LeaderElectionLease),
	} {
		if err := r.delete(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// removeKinds deletes the CustomResourceDefinitions and waits until they are gone. Bindings that the controller did not
// release while it ran lose its finalizer, since nobody is left to act on it.
func (r *run) removeKinds(ctx context.Context) error {
	// Before the kinds go, not only while they do: the cluster is slow to look again at objects that it could not delete.
	if err := r.abandon(ctx); err != nil {
		return err
	}
	crds, err := objectsOf(partCRD, r.opts)
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := r.remove(ctx, crd); err != nil {
			return err
		}
	}
	for _, crd := range crds {
		if err := r.awaitKindGone(ctx, crd); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) awaitKindGone(ctx context.Context, crd *unstructured.Unstructured) error {
	gone, err := r.await(ctx, func(ctx context.Context) (bool, error) {
		found, err := r.live(ctx, crd)
		if err != nil {
			return false, err
		}
		if found == nil || found.GetDeletionTimestamp() == nil {
			return true, nil
		}
		return false, r.abandon(ctx)
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be gone: %w", describe(crd), err)
	}
	if !gone {
		return fmt.Errorf("waiting %s for %s to be gone; finalizers of others may hold its objects: %w",
			r.opts.Timeout, describe(crd), ErrTimeout)
	}
	return nil
}

// removeNamespace deletes the namespace where Bowline made it. A namespace that takes longer to empty than the time-out
// is reported and left to the cluster.
func (r *run) removeNamespace(ctx context.Context) error {
	namespace := stub(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", r.opts.Namespace)
	if err := r.remove(ctx, namespace); err != nil {
		return err
	}
	gone, err := r.await(ctx, func(ctx context.Context) (bool, error) {
		found, err := r.live(ctx, namespace)
		return found == nil || found.GetDeletionTimestamp() == nil, err
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be gone: %w", describe(namespace), err)
	}
	if !gone {
		r.sayf("%s is still being emptied by the cluster", describe(namespace))
	}
	return nil
}
