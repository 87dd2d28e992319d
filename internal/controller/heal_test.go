package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/projection"
)

var (
	clusterRoles   = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	policies       = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	policyBindings = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
	namespaces     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// cleanup removes something cluster-scoped when the test ends.
func (k *cluster) cleanup(resource schema.GroupVersionResource, name string) {
	k.t.Cleanup(func() {
		err := k.client.Resource(resource).Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			k.t.Errorf("deleting %s %s: %v", resource.Resource, name, err)
		}
	})
}

func TestUnknownServiceKindHeals(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + deploymentText("orders"))
	k.create(strings.Replace(bindingText("b", "x", "orders"), "{apiVersion: v1, kind: Secret,", "{apiVersion: late.example.com/v1, kind: Late,", 1))
	k.condition("b", controller.ConditionReady, metav1.ConditionFalse, service.ReasonKindUnknown)

	k.cleanup(definitions, "lates.late.example.com")
	k.create(definitionText("Late", "late.example.com"))
	c := k.condition("b", controller.ConditionReady, metav1.ConditionFalse, service.ReasonForbidden)
	if !strings.Contains(c.Message, "servicebinding.io/controller") || !strings.Contains(c.Message, "late.example.com") {
		t.Errorf("the message holds no ClusterRole: %s", c.Message)
	}
	_, role, _ := strings.Cut(c.Message, "apply this ClusterRole:\n")
	k.cleanup(clusterRoles, "bowline-lates.late.example.com")
	k.create(role) // what the message says is what is needed
	k.condition("b", controller.ConditionReady, metav1.ConditionFalse, service.ReasonNotFound)

	lates := schema.GroupVersionResource{Group: "late.example.com", Version: "v1", Resource: "lates"}
	k.create("apiVersion: late.example.com/v1\nkind: Late\nmetadata: {name: x}\n")
	k.merge(lates, "x", `{"status":{"binding":{"name":"db"}}}`, "status")
	k.ready("b")

	k.remove(definitions, "lates.late.example.com")
	k.condition("b", controller.ConditionReady, metav1.ConditionFalse, service.ReasonKindUnknown)
	k.bound("orders", "b")
	k.remove(bindings, "b")
	k.gone(bindings, "b")
	k.bound("orders")
}

func TestWorkloadKindIsRemovedWhileBound(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db"))
	k.cleanup(clusterRoles, "test-engines.engines.example.com")
	k.cleanup(definitions, "engines.engines.example.com")
	k.create(definitionText("Engine", "engines.example.com"))
	k.create(strings.Replace(bindingText("b", "db", "e"), "apps/v1, kind: Deployment", "engines.example.com/v1, kind: Engine", 1))
	k.condition("b", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadForbidden)
	k.create(grantText("engines", "engines.example.com"))
	k.condition("b", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadNotFound)
	k.create(`
apiVersion: engines.example.com/v1
kind: Engine
metadata: {name: e}
spec: {template: {spec: {containers: [{name: main}]}}}
`)
	k.ready("b")
	k.remove(definitions, "engines.engines.example.com")
	k.condition("b", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadKindUnknown)
	k.remove(bindings, "b")
	k.gone(bindings, "b")
}

func TestNeverPermittedBindingCanBeDeleted(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db"))
	k.cleanup(definitions, "closeds.closed.example.com")
	k.create(definitionText("Closed", "closed.example.com"))
	k.create(strings.Replace(bindingText("b", "db", "e"), "apps/v1, kind: Deployment", "closed.example.com/v1, kind: Closed", 1))
	k.condition("b", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadForbidden)
	k.remove(bindings, "b")
	k.gone(bindings, "b")
}

func TestCollisionDisturbsNobody(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + secretText("db2") + "\n---\n" + deploymentText("orders"))
	k.create(bindingText("first", "db", "orders", "name: shared"))
	k.ready("first")
	k.create(bindingText("second", "db2", "orders", "name: shared"))
	c := k.condition("second", controller.ConditionReady, metav1.ConditionFalse, projection.NameCollision)
	if !strings.Contains(c.Message, "shared") {
		t.Errorf("the message does not name the directory: %s", c.Message)
	}
	k.ready("first")
	k.bound("orders", "first")
	k.remove(bindings, "first")
	k.gone(bindings, "first")
	k.ready("second")
	k.bound("orders", "second")
}

func TestRootThatIsNotLiteral(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	text := strings.Replace(deploymentText("orders"), "env: [{name: LOG, value: debug}]",
		"env: [{name: SERVICE_BINDING_ROOT, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", 1)
	k.create(secretText("db") + "\n---\n" + text)
	k.create(bindingText("b", "db", "orders"))
	k.condition("b", controller.ConditionReady, metav1.ConditionFalse, projection.BindingRootNotLiteral)
	if got := k.get(deployments, "orders").GetGeneration(); got != 1 {
		t.Errorf("the generation is %d, want 1: not touched", got)
	}
	k.merge(bindings, "b", `{"spec":{"workload":{"containers":["sidecar"]}}}`)
	k.ready("b")
}

func TestRejectedWorkloadDisturbsNoOtherBinding(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + deploymentText("orders"))
	k.create(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuse-variable}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]}
  validations:
  - expression: object.spec.template.spec.containers.all(c, !has(c.env) || c.env.all(e, e.name != 'REFUSED'))
    message: the variable REFUSED is refused
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuse-variable}
spec: {policyName: refuse-variable, validationActions: [Deny]}
`)
	k.cleanup(policies, "refuse-variable")
	k.cleanup(policyBindings, "refuse-variable")
	k.eventually("the policy is in force", func() error {
		text := strings.Replace(deploymentText("probe"), "name: LOG", "name: REFUSED", 1)
		if err := k.tryCreate(text); err == nil {
			k.remove(deployments, "probe")
			return errors.New("it is not")
		}
		return nil
	})
	k.create(bindingText("good", "db", "orders"))
	k.create(bindingText("bad", "db", "orders", "env: [{name: REFUSED, key: host}]"))
	k.condition("bad", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadRejected)
	k.ready("good")
	k.bound("orders", "good")
	k.merge(bindings, "bad", `{"spec":{"env":null}}`)
	k.ready("bad")
	k.bound("orders", "good", "bad")
}

func TestNamespaceEnds(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + deploymentText("orders"))
	k.create(bindingText("bound", "db", "orders"))
	k.create(bindingText("unbound", "missing", "missing"))
	k.ready("bound")
	k.condition("unbound", controller.ConditionReady, metav1.ConditionFalse, service.ReasonSecretNotFound)
	if err := k.client.Resource(namespaces).Delete(t.Context(), k.ns, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	k.eventually("the namespace is gone", func() error {
		_, err := k.client.Resource(namespaces).Get(t.Context(), k.ns, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}

func TestMappingChangesWhileBound(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	mapping := schema.GroupVersionResource{Group: "servicebinding.io", Version: "v1", Resource: "clusterworkloadresourcemappings"}
	functions := schema.GroupVersionResource{Group: "fn.example.com", Version: "v1", Resource: "functions"}
	k.create(secretText("db"))
	k.cleanup(definitions, "functions.fn.example.com")
	k.cleanup(clusterRoles, "test-functions.fn.example.com")
	k.cleanup(mapping, "functions.fn.example.com")
	k.create(grantText("functions", "fn.example.com"))
	k.create(definitionText("Function", "fn.example.com"))
	k.create(`
apiVersion: servicebinding.io/v1
kind: ClusterWorkloadResourceMapping
metadata: {name: functions.fn.example.com}
spec:
  versions:
  - {version: "*", annotations: .spec.meta, volumes: .spec.storage, containers: [{path: ".spec.steps[*]", name: .id, env: .variables}]}
`)
	function := "apiVersion: fn.example.com/v1\nkind: Function\nmetadata: {name: f}\nspec: {steps: [{id: one}, {id: two}]}\n"
	k.eventually("kind Function is served", func() error { return k.tryCreate(function) })
	before := k.get(functions, "f").Object["spec"]
	k.create(strings.Replace(bindingText("b", "db", "f"), "apps/v1, kind: Deployment", "fn.example.com/v1, kind: Function", 1))
	k.ready("b")
	k.has(functions, "f", "storage", "variables")

	k.merge(mapping, "functions.fn.example.com",
		`{"spec":{"versions":[{"version":"v1","annotations":".spec.meta","volumes":".spec.disks","containers":[{"path":".spec.steps[*]"}]}]}}`)
	k.eventually("the new mapping is used", func() error { return k.lacks(functions, "f", "storage", "variables") })
	k.ready("b")
	k.has(functions, "f", "disks")

	k.remove(bindings, "b")
	k.gone(bindings, "b")
	if after := k.get(functions, "f").Object["spec"]; fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the spec is %v, was %v", after, before)
	}
}

// has checks that each word stands in an object's spec.
func (k *cluster) has(resource schema.GroupVersionResource, name string, words ...string) {
	k.t.Helper()
	text := fmt.Sprint(k.get(resource, name).Object["spec"])
	for _, word := range words {
		if !strings.Contains(text, word) {
			k.t.Errorf("%s has no %q: %s", name, word, text)
		}
	}
}

// lacks returns an error for a word that stands in an object's spec.
func (k *cluster) lacks(resource schema.GroupVersionResource, name string, words ...string) error {
	text := fmt.Sprint(k.get(resource, name).Object["spec"])
	for _, word := range words {
		if strings.Contains(text, word) {
			return fmt.Errorf("%s has %q: %s", name, word, text)
		}
	}
	return nil
}

func TestUnservedVersionDisturbsNobody(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + deploymentText("orders"))
	k.create(strings.Replace(bindingText("odd", "db", "orders"), "apps/v1, kind: Deployment", "apps/v9, kind: Deployment", 1))
	k.condition("odd", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadKindUnknown)
	k.create(bindingText("b", "db", "orders"))
	k.ready("b")
	k.bound("orders", "b")
	k.remove(bindings, "odd")
	k.gone(bindings, "odd")
	k.bound("orders", "b")
}

func TestPrunedProjectionIsReported(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	narrows := schema.GroupVersionResource{Group: "narrow.example.com", Version: "v1", Resource: "narrows"}
	k.create(secretText("db"))
	k.cleanup(definitions, "narrows.narrow.example.com")
	k.cleanup(clusterRoles, "test-narrows.narrow.example.com")
	k.create(grantText("narrows", "narrow.example.com"))
	k.create(strings.Replace(definitionText("Narrow", "narrow.example.com"), "{type: object, x-kubernetes-preserve-unknown-fields: true}",
		"{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}", 1))
	k.eventually("kind Narrow is served", func() error {
		return k.tryCreate("apiVersion: narrow.example.com/v1\nkind: Narrow\nmetadata: {name: slim}\nspec: {size: 1}\n")
	})
	k.create(strings.Replace(bindingText("b", "db", "slim"), "apps/v1, kind: Deployment", "narrow.example.com/v1, kind: Narrow", 1))
	c := k.condition("b", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadRejected)
	if !strings.Contains(c.Message, "schema") {
		t.Errorf("the message does not point to the schema: %s", c.Message)
	}
	k.remove(bindings, "b")
	k.gone(bindings, "b")
	if annotations := k.get(narrows, "slim").GetAnnotations(); len(annotations) > 0 {
		t.Errorf("annotations were left behind: %v", annotations)
	}
}
