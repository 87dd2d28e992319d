package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
)

const (
	bindingsResource = "servicebindings"
	mappingsResource = "clusterworkloadresourcemappings"
)

// InUseError reports the bindings and mappings of people that keep Bowline from being removed.
type InUseError struct {
	// Bindings are ServiceBindings as <namespace>/<name>, sorted.
	Bindings []string
	// Mappings are the ClusterWorkloadResourceMappings that Bowline did not bring, sorted.
	Mappings []string
}

// Error implements error.
func (e *InUseError) Error() string {
	parts := make([]string, 0, 2)
	if len(e.Bindings) > 0 {
		parts = append(parts, fmt.Sprintf("%d ServiceBinding(s) exist: %s", len(e.Bindings), shortList(e.Bindings)))
	}
	if len(e.Mappings) > 0 {
		parts = append(parts, fmt.Sprintf("%d ClusterWorkloadResourceMapping(s) exist: %s",
			len(e.Mappings), shortList(e.Mappings)))
	}
	return "Bowline is in use: " + strings.Join(parts, "; ")
}

// Hint says what to do about it.
func (e *InUseError) Hint() string {
	return "delete them while Bowline runs, so that it releases their workloads; " +
		"or force the removal, which deletes them first"
}

func shortList(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// clearUse refuses while people use Bowline, or, with force, ends that use.
func (r *run) clearUse(ctx context.Context) error {
	bindings, err := r.list(ctx, bindingsResource)
	if err != nil {
		return err
	}
	if r.opts.Force {
		return r.releaseBindings(ctx, bindings)
	}
	mappings, err := r.list(ctx, mappingsResource)
	if err != nil {
		return err
	}
	use := &InUseError{}
	for _, binding := range bindings {
		use.Bindings = append(use.Bindings, binding.GetNamespace()+"/"+binding.GetName())
	}
	for _, mapping := range mappings {
		if mapping.GetLabels()[ownerLabel] != ownerValue {
			use.Mappings = append(use.Mappings, mapping.GetName())
		}
	}
	if len(use.Bindings)+len(use.Mappings) == 0 {
		return nil
	}
	slices.Sort(use.Bindings)
	slices.Sort(use.Mappings)
	return use
}

// releaseBindings deletes the bindings and waits for the running controller to release their workloads.
func (r *run) releaseBindings(ctx context.Context, bindings []unstructured.Unstructured) error {
	if len(bindings) == 0 {
		return nil
	}
	for i := range bindings {
		if err := r.delete(ctx, &bindings[i]); err != nil {
			return err
		}
	}
	r.sayf("waiting for the controller to release the workloads of %d ServiceBinding(s)", len(bindings))
	released, err := r.await(ctx, func(ctx context.Context) (bool, error) {
		left, err := r.list(ctx, bindingsResource)
		return len(left) == 0, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the controller to release workloads: %w", err)
	}
	if !released {
		r.sayf("the controller did not release every workload within %s", r.opts.Timeout)
	}
	return nil
}

// abandon takes Bowline's finalizers from every binding that is being deleted, and says which workload stays as it is.
func (r *run) abandon(ctx context.Context) error {
	bindings, err := r.list(ctx, bindingsResource)
	if err != nil {
		return err
	}
	for i := range bindings {
		binding := &bindings[i]
		others := slices.DeleteFunc(slices.Clone(binding.GetFinalizers()), ownFinalizer)
		if binding.GetDeletionTimestamp() == nil || len(others) == len(binding.GetFinalizers()) {
			continue
		}
		taken, err := r.setFinalizers(ctx, binding, others)
		if err != nil {
			return err
		}
		if !taken {
			continue
		}
		kind, _, _ := unstructured.NestedString(binding.Object, "spec", "workload", "kind")
		name, _, _ := unstructured.NestedString(binding.Object, "spec", "workload", "name")
		r.sayf("%s given up: its workload (%s) keeps what was projected", describe(binding),
			strings.TrimSpace(kind+" "+name))
	}
	return nil
}

func ownFinalizer(name string) bool {
	domain, _, _ := strings.Cut(name, "/")
	return domain == bindingv1.GroupVersion.Group || strings.HasSuffix("."+domain, ".bowline.dev") ||
		strings.HasSuffix(domain, "."+bindingv1.GroupVersion.Group)
}

// setFinalizers replaces the finalizers and tells whether it did. It does not where the object changed meanwhile, so that
// nothing of others is lost; the caller tries again.
func (r *run) setFinalizers(ctx context.Context, object *unstructured.Unstructured, finalizers []string) (bool, error) {
	changed := object.DeepCopy()
	changed.SetFinalizers(finalizers)
	_, err := r.resource(object).Update(ctx, changed, metav1.UpdateOptions{FieldManager: FieldManager})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("taking the finalizer from %s: %w", describe(object), err)
	}
	return true, nil
}

// list returns every object of one of the specification's kinds; none where the kind is not served.
func (r *run) list(ctx context.Context, resource string) ([]unstructured.Unstructured, error) {
	gvr := schema.GroupVersionResource{
		Group: bindingv1.GroupVersion.Group, Version: bindingv1.GroupVersion.Version, Resource: resource,
	}
	list, err := r.client.Resource(gvr).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", resource, err)
	}
	return list.Items, nil
}
