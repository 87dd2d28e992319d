package live

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/projection"
)

// Workload is a workload as the cluster has it, with what Bowline or another implementation projected into it.
type Workload struct {
	// Kind is what it is, such as Deployment.
	Kind string
	// Namespace and Name are the object's.
	Namespace, Name string
	// Pod is what it says of its pods.
	Pod *node.Pod
}

// mappings is the resource of ClusterWorkloadResourceMappings.
var mappings = bindingv1.GroupVersion.WithResource("clusterworkloadresourcemappings")

// Workload reads a workload. The error may be a *KindError, a *MissingError or a *PermissionError.
func (c *Client) Workload(ctx context.Context, ref Reference, namespace string) (*Workload, error) {
	k, err := c.find(ctx, ref.Kind)
	if err != nil {
		return nil, err
	}
	object, err := c.objects.Resource(k.GroupVersionResource).Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		t := target{resource: k.GroupResource(), kind: k.name, name: ref.Name, namespace: namespace}
		return nil, silent(ctx, t.explain(err, "get"))
	}
	pod, err := c.pod(ctx, k.GroupVersionResource, object.Object)
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", k.name, ref.Name, err)
	}
	return &Workload{Kind: k.name, Namespace: namespace, Name: ref.Name, Pod: pod}, nil
}

// pod reads what a workload says of its pods. A mapping is asked for only where there is no pod template.
func (c *Client) pod(ctx context.Context, resource schema.GroupVersionResource, object map[string]any) (*node.Pod, error) {
	pod, err := node.PodOf(object, nil)
	if _, unsupported := errors.AsType[*node.UnsupportedError](err); !unsupported {
		return pod, err
	}
	template, mapErr := c.template(ctx, resource)
	if mapErr != nil {
		return nil, mapErr
	}
	if template == nil {
		return nil, err
	}
	return node.PodOf(object, template)
}

// template returns the mapping of a resource; nil for none.
func (c *Client) template(
	ctx context.Context, resource schema.GroupVersionResource,
) (*bindingv1.ClusterWorkloadResourceMappingTemplate, error) {
	name := resource.GroupResource().String()
	object, err := c.objects.Resource(mappings).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	if err != nil {
		t := target{resource: mappings.GroupResource(), kind: "ClusterWorkloadResourceMapping", name: name}
		return nil, silent(ctx, t.explain(err, "get"))
	}
	var m bindingv1.ClusterWorkloadResourceMapping
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &m); err != nil {
		return nil, fmt.Errorf("reading ClusterWorkloadResourceMapping %q: %w", name, err)
	}
	mapping, err := projection.ForVersion(m.Spec.Versions, resource.Version)
	if err != nil {
		return nil, fmt.Errorf("compiling ClusterWorkloadResourceMapping %q: %w", name, err)
	}
	template := mapping.Template()
	return &template, nil
}
