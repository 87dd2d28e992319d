package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/service"
)

func TestBindAndUnbind(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + deploymentText("orders"))
	before := k.template(t, "orders")
	k.create(bindingText("orders-db", "db", "orders", "type: mysql", "env: [{name: DB_HOST, key: host}]"))
	k.ready("orders-db")
	k.bound("orders", "orders-db")
	k.condition("orders-db", controller.ConditionServiceAvailable, metav1.ConditionTrue, service.ReasonResolved)
	k.condition("orders-db", controller.ConditionWorkloadProjected, metav1.ConditionTrue, controller.ReasonWorkloadProjected)
	if got := k.binding("orders-db").Status.Binding; got == nil || got.Name != "db" {
		t.Errorf("status.binding is %v, want db", got)
	}
	if got := k.get(deployments, "orders").GetGeneration(); got != 2 {
		t.Errorf("the Deployment's generation is %d, want 2: one change", got)
	}
	k.remove(bindings, "orders-db")
	k.gone(bindings, "orders-db")
	if diff := cmp.Diff(before, k.template(t, "orders")); diff != "" {
		t.Errorf("the pod template is not what it was (-before +after):\n%s", diff)
	}
	for key := range k.get(deployments, "orders").GetAnnotations() {
		if strings.Contains(key, "servicebinding") || strings.Contains(key, "bowline") {
			t.Errorf("annotation %s was left behind", key)
		}
	}
}

func TestProvisionedServiceComesLateAndChanges(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(deploymentText("orders"))
	k.create(databaseBinding("orders-db", "main", "orders"))
	k.condition("orders-db", controller.ConditionReady, metav1.ConditionFalse, service.ReasonNotFound)
	k.serve("main", "")
	k.condition("orders-db", controller.ConditionServiceAvailable, metav1.ConditionFalse, service.ReasonNoBinding)
	k.expose("main", "db")
	k.condition("orders-db", controller.ConditionReady, metav1.ConditionFalse, service.ReasonSecretNotFound)
	k.create(secretText("db"))
	k.ready("orders-db")

	k.create(secretText("db2"))
	k.expose("main", "db2")
	k.eventually("the new Secret is projected", func() error {
		sb := k.binding("orders-db")
		if sb.Status.Binding == nil || sb.Status.Binding.Name != "db2" {
			return fmt.Errorf("status.binding is %v", sb.Status.Binding)
		}
		return nil
	})
	k.ready("orders-db")

	k.remove(secrets, "db2")
	k.condition("orders-db", controller.ConditionReady, metav1.ConditionFalse, service.ReasonSecretNotFound)
	k.bound("orders", "orders-db") // what runs is not disturbed
	k.create(secretText("db2"))
	k.ready("orders-db")
	k.remove(databases, "main")
	k.condition("orders-db", controller.ConditionReady, metav1.ConditionFalse, service.ReasonNotFound)
	k.remove(bindings, "orders-db")
	k.gone(bindings, "orders-db")
	k.bound("orders")
}

func TestWorkloadComesLateGoesAndComesBack(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db"))
	k.create(bindingText("orders-db", "db", "orders"))
	k.condition("orders-db", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadNotFound)
	k.create(deploymentText("orders"))
	if got := k.get(deployments, "orders").GetGeneration(); got != 1 {
		t.Errorf("the generation is %d, want 1: bound while created", got)
	}
	k.bound("orders", "orders-db")
	k.ready("orders-db")
	k.remove(deployments, "orders")
	k.condition("orders-db", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadNotFound)
	k.gone(deployments, "orders")
	k.create(deploymentText("orders"))
	k.ready("orders-db")
	k.bound("orders", "orders-db")
}

// It runs by itself, since it is about time: what is applied together comes in within the window.
func TestTenBindingsOneRollout(t *testing.T) {
	k := newCluster(t)
	k.create(deploymentText("orders"))
	var names []string
	for i := range 10 {
		name := fmt.Sprintf("b%d", i)
		names = append(names, name)
		k.create(secretText("s" + name))
	}
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			if err := k.tryCreate(bindingText(name, "s"+name, "orders")); err != nil {
				t.Errorf("creating binding %s: %v", name, err)
			}
		})
	}
	all.Wait()
	for _, name := range names {
		k.ready(name)
	}
	k.bound("orders", names...)
	if got := k.get(deployments, "orders").GetGeneration(); got != 2 {
		t.Errorf("the generation is %d, want 2: one rollout", got)
	}
}

func TestSelector(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + deploymentText("orders") + "\n---\n" + deploymentText("payments"))
	text := strings.Replace(bindingText("shop-db", "db", "X"), "name: X}",
		"selector: {matchLabels: {app: shop}, matchExpressions: [{key: tier, operator: In, values: [back]}]}}", 1)
	k.create(text)
	k.ready("shop-db")
	k.bound("orders", "shop-db")
	k.bound("payments", "shop-db")
	k.merge(deployments, "payments", `{"metadata":{"labels":{"tier":"front"}}}`)
	k.bound("payments")
	k.bound("orders", "shop-db")
	k.merge(deployments, "payments", `{"metadata":{"labels":{"tier":"back"}}}`)
	k.bound("payments", "shop-db")
	k.remove(deployments, "orders")
	k.remove(deployments, "payments")
	k.condition("shop-db", controller.ConditionReady, metav1.ConditionTrue, controller.ReasonNoneSelected)
}

func TestRebind(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + deploymentText("orders") + "\n---\n" + deploymentText("payments"))
	k.create(strings.ReplaceAll(deploymentText("stateful"), "kind: Deployment", "kind: StatefulSet"))
	k.create(bindingText("b", "db", "orders"))
	k.ready("b")
	k.merge(bindings, "b", `{"spec":{"workload":{"name":"payments"}}}`)
	k.bound("payments", "b")
	k.bound("orders")
	k.ready("b")
	k.merge(bindings, "b", `{"spec":{"workload":{"kind":"StatefulSet","name":"stateful"}}}`)
	k.ready("b")
	k.bound("payments")
	k.merge(bindings, "b", `{"spec":{"workload":{"kind":"Deployment","name":"orders","containers":["main"]},"name":"renamed"}}`)
	k.ready("b")
	k.bound("orders", "b")
}

func TestJob(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	job := `
apiVersion: batch/v1
kind: Job
metadata: {name: import}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: example.com/import:1}]
`
	text := strings.Replace(bindingText("b", "db", "import"), "apps/v1, kind: Deployment", "batch/v1, kind: Job", 1)
	k.create(secretText("db") + "\n---\n" + job + "\n---\n" + text)
	c := k.condition("b", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadImmutable)
	if !strings.Contains(c.Message, "delete it and create it again") {
		t.Errorf("the message does not say what to do: %s", c.Message)
	}
	background := metav1.DeletePropagationBackground
	if err := k.of(jobs).Delete(t.Context(), "import", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	k.gone(jobs, "import")
	k.condition("b", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadNotFound)
	k.create(job)
	k.ready("b")
	k.remove(bindings, "b") // a Job cannot be unbound; the binding goes all the same
	k.gone(bindings, "b")
}

func TestHundredServicesChangeAtOnce(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	const n = 100
	for i := range n {
		k.create(secretText(fmt.Sprintf("old-%d", i)) + "\n---\n" + secretText(fmt.Sprintf("new-%d", i)))
		k.create(deploymentText(fmt.Sprintf("d-%d", i)))
		k.serve(fmt.Sprintf("s-%d", i), fmt.Sprintf("old-%d", i))
		k.create(databaseBinding(fmt.Sprintf("b-%d", i), fmt.Sprintf("s-%d", i), fmt.Sprintf("d-%d", i)))
	}
	for i := range n {
		k.ready(fmt.Sprintf("b-%d", i))
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { k.expose(fmt.Sprintf("s-%d", i), fmt.Sprintf("new-%d", i)) })
	}
	all.Wait()
	for i := range n {
		name, want := fmt.Sprintf("b-%d", i), fmt.Sprintf("new-%d", i)
		k.eventually(name+" follows", func() error {
			if b := k.binding(name).Status.Binding; b == nil || b.Name != want {
				return errors.New("it names the old Secret")
			}
			return nil
		})
		k.ready(name)
	}
}

func TestAdmissionRefuses(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	text := bindingText("b", "db", "orders", "name: ../etc")
	k.eventually("an invalid binding is refused", func() error {
		err := k.tryCreate(text)
		if err == nil {
			_ = k.of(bindings).Delete(context.Background(), "b", metav1.DeleteOptions{})
			return errors.New("it was accepted")
		}
		if !strings.Contains(err.Error(), "spec.name") || !strings.Contains(err.Error(), "../etc") {
			return fmt.Errorf("the error names neither field nor value: %w", err)
		}
		return nil
	})
}
