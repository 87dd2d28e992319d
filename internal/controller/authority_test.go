package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/service"
)

// as returns the same namespace as a person sees it who may write bindings and do nothing else.
func (k *cluster) as(user string) *cluster {
	k.t.Helper()
	k.allow(user, "bindings", "{apiGroups: [servicebinding.io], resources: [servicebindings], "+
		"verbs: [get, create, update, patch, delete]}")
	c := rest.CopyConfig(admin)
	c.QPS = -1
	c.Impersonate = rest.ImpersonationConfig{UserName: user}
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		k.t.Fatal(err)
	}
	person := &cluster{t: k.t, client: client, ns: k.ns}
	k.eventually(user+" may write bindings", func() error {
		_, err := person.of(bindings).Get(k.t.Context(), "nothing", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	return person
}

// allow gives a person a Role of one rule in the namespace.
func (k *cluster) allow(user, name, rule string) {
	k.t.Helper()
	k.create(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s-%[2]s}
rules: [%[3]s]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s-%[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s-%[2]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, user, name, rule))
}

// admitting waits until admission is asked about bindings.
func (k *cluster) admitting() {
	k.t.Helper()
	k.eventually("admission is asked", func() error {
		if err := k.tryCreate(bindingText("probe", "db", "orders", "name: ../etc")); !apierrors.IsInvalid(err) {
			if err == nil {
				_ = k.of(bindings).Delete(k.t.Context(), "probe", metav1.DeleteOptions{})
			}
			return fmt.Errorf("an invalid binding is answered with: %w", err)
		}
		return nil
	})
}

// refusedFor checks that a binding is refused to a person for lack of exactly the given permissions.
func (k *cluster) refusedFor(err error, permissions ...string) {
	k.t.Helper()
	if !apierrors.IsForbidden(err) {
		k.t.Errorf("the answer is %v, want forbidden", err)
		return
	}
	told, _, _ := strings.Cut(err.Error(), "; refer to")
	for _, p := range []string{"get secrets", "update deployments.apps"} {
		if want := strings.Contains(strings.Join(permissions, ","), p); strings.Contains(told, p) != want {
			k.t.Errorf("that the user may not %s is said: %v, want %v: %v", p, !want, want, err)
		}
	}
}

// TestAuthorMayDoWhatTheBindingDoes is the confused deputy, in both directions: who may write bindings gets neither a
// Secret that they may not read, nor a change to a workload that they may not change.
func TestAuthorMayDoWhatTheBindingDoes(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + deploymentText("orders"))
	k.admitting()

	reader := k.as("reader")
	k.allow("reader", "read", `{apiGroups: [""], resources: [secrets], resourceNames: [db], verbs: [get]}`)
	writer := k.as("writer")
	k.allow("writer", "write", `{apiGroups: [apps], resources: [deployments], resourceNames: [orders], verbs: [update]}`)
	both := k.as("both")
	k.allow("both", "read", `{apiGroups: [""], resources: [secrets], resourceNames: [db], verbs: [get]}`)
	k.allow("both", "write", `{apiGroups: [apps], resources: [deployments], resourceNames: [orders], verbs: [update]}`)
	k.eventually("who may do both is let through", func() error { return both.tryCreate(bindingText("b", "db", "orders")) })

	reader.refusedFor(reader.tryCreate(bindingText("r", "db", "orders")), "update deployments.apps")
	writer.refusedFor(writer.tryCreate(bindingText("w", "db", "orders")), "get secrets")
	both.refusedFor(both.tryCreate(bindingText("other-secret", "other", "orders")), "get secrets")
	both.refusedFor(both.tryCreate(bindingText("other-workload", "db", "other")), "update deployments.apps")
	selecting := strings.Replace(bindingText("s", "db", "orders"), "name: orders}", "selector: {matchLabels: {app: shop}}}", 1)
	both.refusedFor(both.tryCreate(selecting), "update deployments.apps")
	k.ready("b")
}

// TestEditsOfOthersBindings sees that an edit cannot turn somebody else's authority to another end, and that one which
// leaves the spec alone needs none.
func TestEditsOfOthersBindings(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + secretText("root") + "\n---\n" + deploymentText("orders"))
	k.admitting()
	k.create(bindingText("b", "db", "orders"))
	k.ready("b")

	editor := k.as("editor")
	patch := func(patch string) error {
		_, err := editor.of(bindings).Patch(t.Context(), "b", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	for _, spec := range []string{
		`{"service":{"name":"root"}}`, `{"workload":{"name":"other"}}`, `{"env":[{"name":"PASSWORD","key":"password"}]}`, `{"name":"x"}`,
	} {
		editor.refusedFor(patch(`{"spec":`+spec+`}`), "get secrets", "update deployments.apps")
	}
	if err := patch(`{"metadata":{"labels":{"a":"b"},"annotations":{"bowline.dev/workload-kinds":"Node.v1."}}}`); err != nil {
		t.Errorf("an edit of metadata is refused: %v", err)
	}
	if got := k.get(bindings, "b").GetAnnotations()["bowline.dev/workload-kinds"]; got != "Deployment.v1.apps" {
		t.Errorf("the note of kinds can be edited: it is %q", got)
	}
	k.ready("b")
}

// TestAbsentAndForbiddenLookTheSame sees that the answer to who may not read a thing does not depend on the thing.
func TestAbsentAndForbiddenLookTheSame(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("present") + "\n---\n" + deploymentText("present"))
	k.serve("present", "present")
	k.admitting()
	person := k.as("curious")
	answer := func(text string) string {
		err := person.tryCreate(text)
		person.refusedFor(err, "get secrets", "update deployments.apps")
		return fmt.Sprint(err)
	}
	if diff := cmp.Diff(
		strings.ReplaceAll(answer(bindingText("b", "present", "present")), "present", "NAME"),
		strings.ReplaceAll(answer(bindingText("b", "missing", "missing")), "missing", "NAME")); diff != "" {
		t.Errorf("a Secret and a Deployment that are there are told from those that are not (-present +missing):\n%s", diff)
	}
	of := func(name string) string {
		err := person.tryCreate(databaseBinding("b", name, name))
		if !apierrors.IsForbidden(err) {
			t.Errorf("the answer is %v, want forbidden", err)
		}
		return strings.ReplaceAll(fmt.Sprint(err), name, "NAME")
	}
	if diff := cmp.Diff(of("present"), of("missing")); diff != "" {
		t.Errorf("a service that is there is told from one that is not (-present +missing):\n%s", diff)
	}
	if list, err := k.of(bindings).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("bindings were stored: %v %v", list, err)
	}
}

func TestClusterScopedKindsAreRefused(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.admitting()
	for field, text := range map[string]string{
		"spec.service.kind": strings.Replace(bindingText("b", "x", "orders"),
			"{apiVersion: v1, kind: Secret,", "{apiVersion: v1, kind: Namespace,", 1),
		"spec.workload.kind": strings.Replace(bindingText("b", "db", "x"), "apps/v1, kind: Deployment", "v1, kind: Node", 1),
	} {
		err := k.tryCreate(text)
		if !apierrors.IsInvalid(err) || !strings.Contains(fmt.Sprint(err), field) {
			t.Errorf("the answer is %v, want that %s is invalid", err, field)
		}
	}
}

// TestGoverningKindsAreNeverBound sees that admission refuses kinds that decide who may do what, to an administrator too.
func TestGoverningKindsAreNeverBound(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.admitting()
	for _, kind := range []string{
		"rbac.authorization.k8s.io/v1, kind: Role", "admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy",
		"apiextensions.k8s.io/v1, kind: CustomResourceDefinition",
	} {
		for field, text := range map[string]string{
			"spec.service.apiVersion":  strings.Replace(bindingText("b", "x", "orders"), "v1, kind: Secret", kind, 1),
			"spec.workload.apiVersion": strings.Replace(bindingText("b", "db", "x"), "apps/v1, kind: Deployment", kind, 1),
		} {
			err := k.tryCreate(text)
			if !apierrors.IsInvalid(err) || !strings.Contains(fmt.Sprint(err), field) {
				t.Errorf("the answer is %v, want that %s is invalid", err, field)
			}
		}
	}
}

// TestFaultsAreNotFollowed sees that what admission would have refused is refused by the controller, too, should it have
// been stored while nobody was asked.
func TestFaultsAreNotFollowed(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	k.create(secretText("db") + "\n---\n" + deploymentText("orders"))
	c := rest.CopyConfig(admin)
	c.Impersonate = rest.ImpersonationConfig{UserName: self, Groups: []string{"system:masters"}} // admission is not asked about it
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	unasked := &cluster{t: t, client: client, ns: k.ns}
	stored := func(name, from, to string) {
		unasked.create(strings.Replace(bindingText(name, "db", "orders"), from, to, 1))
	}
	for i, kind := range []string{
		"rbac.authorization.k8s.io/v1, kind: Role", "admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy",
		"apiextensions.k8s.io/v1, kind: CustomResourceDefinition",
	} {
		for j, from := range []string{"v1, kind: Secret", "apps/v1, kind: Deployment"} {
			name := fmt.Sprintf("governing-%d-%d", i, j)
			stored(name, from, kind)
			k.condition(name, controller.ConditionReady, metav1.ConditionFalse, controller.ReasonInvalidSpec)
		}
	}
	stored("service", "v1, kind: Secret", "v1, kind: Namespace")
	k.condition("service", controller.ConditionServiceAvailable, metav1.ConditionFalse, service.ReasonClusterScoped)
	stored("workload", "apps/v1, kind: Deployment", "v1, kind: Node")
	k.condition("workload", controller.ConditionWorkloadProjected, metav1.ConditionFalse, controller.ReasonWorkloadClusterScoped)
	k.bound("orders")
}

// TestNothingLeavesTheNamespace sees that a reference reaches nothing in another namespace.
func TestNothingLeavesTheNamespace(t *testing.T) {
	t.Parallel()
	other, k := newCluster(t), newCluster(t)
	other.create(secretText("db") + "\n---\n" + deploymentText("orders"))
	text := strings.Replace(bindingText("b", "db", "orders"), "name: db}", "name: db, namespace: "+other.ns+"}", 1)
	text = strings.Replace(text, "name: orders}", "name: orders, namespace: "+other.ns+"}", 1)
	k.create(text)
	k.condition("b", controller.ConditionServiceAvailable, metav1.ConditionFalse, service.ReasonSecretNotFound)
	k.condition("b", controller.ConditionWorkloadProjected, metav1.ConditionFalse, controller.ReasonWorkloadNotFound)
	for _, name := range []string{"../" + other.ns + "/db", other.ns + "/db"} {
		if err := k.tryCreate(bindingText("c", name, "orders")); !apierrors.IsInvalid(err) {
			t.Errorf("a name with a path in it is answered with %v, want that it is invalid", err)
		}
	}
	if got := other.get(deployments, "orders").GetGeneration(); got != 1 {
		t.Errorf("the generation of the other namespace's Deployment is %d, want 1: not touched", got)
	}
}

// TestHostileMappingAnnotation sees that what somebody writes into the annotation that tells how a workload was projected
// neither hurts others nor reaches what was not projected.
func TestHostileMappingAnnotation(t *testing.T) {
	t.Parallel()
	for name, annotation := range map[string]string{
		"no JSON":      `{"`,
		"deep":         `{"containers":[{"path":"` + strings.Repeat("..*", 2000) + `"}]}`,
		"wide":         `{"containers":[{"path":".` + strings.Repeat("x", 100_000) + `"}]}`,
		"costly":       `{"containers":[{"path":"..*..*..*..*..*..*"}]}`,
		"other places": `{"annotations":".metadata.labels","volumes":".spec.template.spec.containers","containers":[{"path":".metadata"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newCluster(t)
			k.create(secretText("db") + "\n---\n" + deploymentText("orders"))
			before := k.template(t, "orders")
			labels := fmt.Sprint(k.get(deployments, "orders").GetLabels())
			k.create(bindingText("b", "db", "orders"))
			k.ready("b")
			key := "projector.servicebinding.io/mapping-" + string(k.binding("b").UID)
			k.merge(deployments, "orders", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, annotation))
			k.remove(bindings, "b")
			k.gone(bindings, "b")
			k.eventually("the workload is as it was", func() error {
				if diff := cmp.Diff(before, k.template(t, "orders")); diff != "" {
					return errors.New(diff)
				}
				return nil
			})
			if got := fmt.Sprint(k.get(deployments, "orders").GetLabels()); got != labels {
				t.Errorf("the labels are %s, were %s", got, labels)
			}
		})
	}
}
