package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/bowline-dev/bowline/internal/install"
)

// crowdManifest is a binding without variables, so that many of them have room in one workload.
const crowdManifest = `
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: NAME, namespace: bench}
spec:
  workload: {apiVersion: apps/v1, kind: Deployment, name: WORKLOAD}
  service: {apiVersion: v1, kind: Secret, name: SERVICE}
`

// brokenMapping cannot be followed: its path of volumes is none.
const brokenMapping = `
apiVersion: servicebinding.io/v1
kind: ClusterWorkloadResourceMapping
metadata: {name: NAME}
spec:
  versions:
  - {version: "*", volumes: ".spec[", containers: [{path: ".spec[?("}]}
`

func mappings() schema.GroupVersionResource {
	return servicebindings().GroupVersion().WithResource("clusterworkloadresourcemappings")
}

// boundTogether are a Secret, a Deployment and the binding of the two.
func boundTogether() map[schema.GroupVersionResource]string {
	return map[schema.GroupVersionResource]string{
		secrets(): serviceManifest, deployments(): deploymentManifest, servicebindings(): bindingManifest,
	}
}

// place is what an object is called and where; the namespace is "" for none.
type place struct{ in, name string }

// put creates the object of a manifest.
func (s *stage) put(ctx context.Context, resource schema.GroupVersionResource, manifest string, at place) error {
	one, err := object(manifest, at.name)
	if err != nil {
		return err
	}
	one.SetNamespace(at.in)
	if _, err := s.client.Resource(resource).Namespace(at.in).Create(ctx, one, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating %s %q: %w", one.GetKind(), at.name, err)
	}
	return nil
}

func (s *stage) namespaces(ctx context.Context, names ...string) error {
	for _, name := range names {
		home := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
		}}
		if _, err := s.client.Resource(namespaces()).Create(ctx, home, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating namespace %q: %w", name, err)
		}
	}
	return nil
}

// smuggle makes a mapping that cannot compile. Admission would refuse it, and so is put aside for a moment.
func (s *stage) smuggle(ctx context.Context) error {
	validating := s.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	kept, err := validating.Get(ctx, install.WebhookConfiguration, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the validating webhooks: %w", err)
	}
	webhooks := kept.Webhooks
	kept.Webhooks = nil
	if kept, err = validating.Update(ctx, kept, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("putting the validating webhooks aside: %w", err)
	}
	// The API server follows the change after a moment.
	err = wait.PollUntilContextTimeout(ctx, readyPoll, readyTimeout, true, func(ctx context.Context) (bool, error) {
		return s.put(ctx, mappings(), brokenMapping, place{name: "statefulsets.apps"}) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("making a mapping that cannot compile: %w", err)
	}
	kept.Webhooks = webhooks
	if _, err = validating.Update(ctx, kept, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("putting the validating webhooks back: %w", err)
	}
	return nil
}

// crowd are a large tenant's bindings, which are made while others go on.
type crowd struct {
	stage *stage
	total int
	stop  context.CancelFunc
	done  chan error
}

// crowd prepares a large tenant, makes half of its bindings, and goes on making the others.
func (s *stage) crowd(ctx context.Context, total int) (*crowd, error) {
	if err := s.namespaces(ctx, "large"); err != nil {
		return nil, err
	}
	for i := range crowdWorkloads {
		for _, resource := range []schema.GroupVersionResource{secrets(), deployments()} {
			if err := s.put(ctx, resource, boundTogether()[resource], place{"large", nameOf(i)}); err != nil {
				return nil, err
			}
		}
	}
	one := func(ctx context.Context, i int) error {
		return s.put(ctx, servicebindings(), crowdBinding(i), place{"large", nameOf(i)})
	}
	if err := inParallel(ctx, s.settings.Workers, total/2, one); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	c := &crowd{stage: s, total: total, stop: stop, done: make(chan error, 1)}
	go func() {
		c.done <- inParallel(ctx, s.settings.Workers, total-total/2, func(ctx context.Context, i int) error { return one(ctx, total/2+i) })
	}()
	return c, nil
}

// crowdBinding is of one of few workloads, and every other one of a service that is not there.
func crowdBinding(i int) string {
	service := nameOf(i / 2 % crowdWorkloads)
	if i%2 == 1 {
		service = "missing-" + nameOf(i)
	}
	return strings.NewReplacer("WORKLOAD", nameOf(i/2%crowdWorkloads), "SERVICE", service).Replace(crowdManifest)
}

// end stops making bindings.
func (c *crowd) end() error {
	c.stop()
	if err := <-c.done; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("making the large tenant's bindings: %w", err)
	}
	return nil
}

// state says how far the large tenant is.
func (c *crowd) state(ctx context.Context) (made, told int, err error) {
	list, err := c.stage.client.Resource(servicebindings()).Namespace("large").List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, 0, fmt.Errorf("listing the large tenant's bindings: %w", err)
	}
	for i := range list.Items {
		conditions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions")
		if len(conditions) > 0 {
			told++
		}
	}
	return len(list.Items), told, nil
}
