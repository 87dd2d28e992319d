package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/projection"
)

// runFloor measures the least that any implementation can do: nobody watches, nobody is asked, and each worker follows its
// own create with the two writes that a binding cannot do without.
func runFloor(ctx context.Context, set settings) (r result, err error) {
	r.Side = sideFloor
	s, err := newStage(ctx, set)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.removeWebhooks(ctx); err != nil {
		return r, err
	}
	set.tellf("floor: binding %d workloads", set.N)
	if r.Bind, err = s.run(ctx, task{do: s.bindPlainly, done: (*track).bound}); err != nil {
		return r, fmt.Errorf("measuring the floor: %w", err)
	}
	return r, s.checkBound()
}

// removeWebhooks makes admission cost nothing.
func (s *stage) removeWebhooks(ctx context.Context) error {
	admission := s.clients.AdmissionregistrationV1()
	if err := admission.MutatingWebhookConfigurations().Delete(ctx, install.WebhookConfiguration, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting the mutating webhooks: %w", err)
	}
	if err := admission.ValidatingWebhookConfigurations().Delete(ctx, install.WebhookConfiguration, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting the validating webhooks: %w", err)
	}
	return nil
}

// bindPlainly creates a binding, patches its workload and writes its status.
func (s *stage) bindPlainly(ctx context.Context, i int) error {
	binding, err := s.bind(ctx, i)
	if err != nil {
		return err
	}
	operations, err := project(binding, s.created[i])
	if err != nil {
		return err
	}
	guard := projection.Operation{Op: "replace", Path: "/metadata/resourceVersion", Value: s.created[i].GetResourceVersion()}
	patch, err := json.Marshal(append([]projection.Operation{guard}, operations...))
	if err != nil {
		return fmt.Errorf("encoding the patch of Deployment %q: %w", nameOf(i), err)
	}
	_, err = s.client.Resource(deployments()).Namespace(namespace).
		Patch(ctx, nameOf(i), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "bowline"})
	if err != nil {
		return fmt.Errorf("patching Deployment %q: %w", nameOf(i), err)
	}
	status, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": binding.GetResourceVersion()},
		"status":   statusOf(binding, time.Now()),
	})
	if err != nil {
		return fmt.Errorf("encoding the status of binding %q: %w", nameOf(i), err)
	}
	_, err = s.client.Resource(servicebindings()).Namespace(namespace).
		Patch(ctx, nameOf(i), types.MergePatchType, status, metav1.PatchOptions{FieldManager: "bowline"}, "status")
	if err != nil {
		return fmt.Errorf("writing the status of binding %q: %w", nameOf(i), err)
	}
	return nil
}

// statusOf returns a status as the controller writes it.
func statusOf(binding *unstructured.Unstructured, now time.Time) bindingv1.ServiceBindingStatus {
	name, generation := binding.GetName(), binding.GetGeneration()
	condition := func(kind, reason, message string) metav1.Condition {
		return metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		}
	}
	return bindingv1.ServiceBindingStatus{
		ObservedGeneration: generation,
		Conditions: []metav1.Condition{
			condition("Ready", "Projected", fmt.Sprintf("Deployment %q", name)),
			condition("ServiceAvailable", "Resolved", fmt.Sprintf("Secret %q names Secret %q", name, name)),
			condition("WorkloadProjected", "WorkloadProjected", fmt.Sprintf("Deployment %q", name)),
		},
		Binding: &bindingv1.ServiceBindingSecretReference{Name: name},
	}
}
