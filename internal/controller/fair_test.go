package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

// backlog is how many bindings the large tenant has. It takes the one worker there is a few hundred times as long as the one
// of the small tenant does.
const backlog = 300

// TestFairness has a tenant make many bindings, and another one a single one after them: the latter must not wait until the
// former's are worked off. What counts is the order in which they become ready. It has a control plane of its own, to which no
// controller has told its webhooks yet.
func TestFairness(t *testing.T) {
	config, err := planetest.Start(t, planetest.WithControllerManager()).RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(t.Context(), config, install.Options{External: true}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	large, small := clusterOf(t, config), clusterOf(t, config)
	large.create(secretText("db"))
	small.create(secretText("db") + "\n---\n" + deploymentText("orders"))
	for i := range backlog {
		name := fmt.Sprintf("w-%d", i)
		large.create(deploymentText(name) + "\n---\n" + bindingText(name, "db", name))
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, config, func(_ *rest.Config, o *controller.Options) {
			o.Workers, o.Gather, o.SkipNameValidation = 1, time.Millisecond, true
		})
	}()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("running the controller: %v", err)
		}
	}()
	large.eventually("the backlog is being worked off", func() error {
		list, err := large.of(deployments).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("listing Deployments: %w", err)
		}
		for i := range list.Items {
			volumes, _, _ := unstructured.NestedSlice(list.Items[i].Object, "spec", "template", "spec", "volumes")
			if len(volumes) > 0 {
				return nil
			}
		}
		return errors.New("nothing is projected")
	})
	small.eventually("the binding is created", func() error { return small.tryCreate(bindingText("b", "db", "orders")) })
	small.ready("b")
	if n := readyBindings(large); n == backlog {
		t.Error("the small tenant's binding became ready after all of the large tenant's")
	} else {
		t.Logf("%d of the large tenant's %d bindings were ready", n, backlog)
	}
}

func readyBindings(k *cluster) int {
	k.t.Helper()
	list, err := k.of(bindings).List(k.t.Context(), metav1.ListOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	count := 0
	for i := range list.Items {
		if isReady(k.t, &list.Items[i]) {
			count++
		}
	}
	return count
}

func isReady(t *testing.T, object *unstructured.Unstructured) bool {
	t.Helper()
	var sb bindingv1.ServiceBinding
	convert(t, object, &sb)
	return meta.IsStatusConditionTrue(sb.Status.Conditions, controller.ConditionReady)
}
