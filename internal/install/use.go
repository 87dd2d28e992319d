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

// The kinds of people's objects. Those of the early draft belong to features, and so may not be there.
var (
	bindingKind   = bindingv1.GroupVersion.WithResource("servicebindings")
	mappingKind   = bindingv1.GroupVersion.WithResource("clusterworkloadresourcemappings")
	draftKind     = draftGroupVersion.WithResource("servicebindings")
	syntheticKind = draftGroupVersion.WithResource("syntheticprovisionedservices")

	crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

	draftGroupVersion = schema.GroupVersion{Group: "service.binding", Version: "v1alpha1"}
)

// InUseError reports the bindings, services and mappings of people that keep Bowline from being removed.
type InUseError struct {
	// Bindings are ServiceBindings as <namespace>/<name>, sorted.
	Bindings []string
	// DraftBindings are the ServiceBindings of the early draft's API, as <namespace>/<name>, sorted.
	DraftBindings []string
	// SyntheticServices are SyntheticProvisionedServices, as <namespace>/<name>, sorted.
	SyntheticServices []string
	// Mappings are the ClusterWorkloadResourceMappings that Bowline did not bring, sorted.
	Mappings []string
}

// Error implements error.
func (e *InUseError) Error() string {
	var parts []string
	for _, use := range []struct {
		kind  string
		names []string
	}{
		{"ServiceBinding(s)", e.Bindings},
		{"ServiceBinding(s) of service.binding", e.DraftBindings},
		{"SyntheticProvisionedService(s)", e.SyntheticServices},
		{"ClusterWorkloadResourceMapping(s)", e.Mappings},
	} {
		if len(use.names) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s exist: %s", len(use.names), use.kind, shortList(use.names)))
		}
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
	if r.opts.Force {
		return r.releaseBindings(ctx)
	}
	use := &InUseError{}
	for _, kind := range []struct {
		of    schema.GroupVersionResource
		names *[]string
	}{
		{bindingKind, &use.Bindings}, {draftKind, &use.DraftBindings}, {syntheticKind, &use.SyntheticServices}, {mappingKind, &use.Mappings},
	} {
		names, err := r.namesOfPeoples(ctx, kind.of)
		if err != nil {
			return err
		}
		*kind.names = names
	}
	if len(use.Bindings)+len(use.DraftBindings)+len(use.SyntheticServices)+len(use.Mappings) == 0 {
		return nil
	}
	return use
}

// namesOfPeoples lists the objects of a kind that Bowline did not bring, sorted.
func (r *run) namesOfPeoples(ctx context.Context, kind schema.GroupVersionResource) ([]string, error) {
	objects, err := r.list(ctx, kind)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, object := range objects {
		if object.GetLabels()[ownerLabel] != ownerValue || object.GetNamespace() != "" {
			names = append(names, strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/"))
		}
	}
	slices.Sort(names)
	return names, nil
}

// bindings lists the bindings of both APIs.
func (r *run) bindings(ctx context.Context) ([]unstructured.Unstructured, error) {
	bindings, err := r.list(ctx, bindingKind)
	if err != nil {
		return nil, err
	}
	drafts, err := r.list(ctx, draftKind)
	return append(bindings, drafts...), err
}

// releaseBindings deletes the bindings and waits for the running controller to release their workloads.
func (r *run) releaseBindings(ctx context.Context) error {
	bindings, err := r.bindings(ctx)
	if err != nil || len(bindings) == 0 {
		return err
	}
	for i := range bindings {
		if err := r.delete(ctx, &bindings[i]); err != nil {
			return err
		}
	}
	r.sayf("waiting for the controller to release the workloads of %d ServiceBinding(s)", len(bindings))
	released, err := r.await(ctx, func(ctx context.Context) (bool, error) {
		left, err := r.bindings(ctx)
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
	bindings, err := r.bindings(ctx)
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
		r.sayf("%s given up: its workload (%s) keeps what was projected", describe(binding), workloadOf(binding))
	}
	return nil
}

// workloadOf says which workload a binding of either API names.
func workloadOf(binding *unstructured.Unstructured) string {
	field := "workload"
	if binding.GroupVersionKind().Group == draftKind.Group {
		field = "application"
	}
	kind, _, _ := unstructured.NestedString(binding.Object, "spec", field, "kind")
	name, _, _ := unstructured.NestedString(binding.Object, "spec", field, "name")
	return strings.TrimSpace(kind + " " + name)
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

// list returns every object of a kind; none where the kind is not served, nor where one of the draft's kinds is served by
// somebody else: nobody's objects but those that Bowline acts on are its business.
func (r *run) list(ctx context.Context, kind schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	if kind.Group == draftGroupVersion.Group {
		crd, err := r.live(ctx, stub(crdKind, "", kind.GroupResource().String()))
		if err != nil || crd == nil || crd.GetLabels()[ownerLabel] != ownerValue {
			return nil, err
		}
	}
	list, err := r.client.Resource(kind).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.Resource, err)
	}
	return list.Items, nil
}
