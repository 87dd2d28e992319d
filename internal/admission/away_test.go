package admission_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/bowline-dev/bowline/internal/admission"
)

// TestWhileBowlineIsAway has the API server call where nobody answers. It must not run beside tests that make our own kinds.
func TestWhileBowlineIsAway(t *testing.T) {
	in := namespace(t)
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{"../../config/crd"}, ErrorIfPathMissing: true})
	if err != nil {
		t.Fatal(err)
	}
	authorities := bundle(t)
	one, name := registrar(t, func(c *admission.RegistrarConfig) {
		c.Endpoint = admission.Endpoint{URL: fmt.Sprintf("https://127.0.0.1:%d", freePort(t))}
		c.Bundle = func() []byte { return authorities }
		c.Scoper = &scoper{scope: admission.Scope{Resources: []schema.GroupVersionResource{deployments()}, Namespaces: []string{in}}}
	})
	if err := one.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	e := end{T: t, in: in, dynamic: client}
	eventually(t, "bindings are refused", func(context.Context) (bool, error) {
		_, err := e.create("v1", "servicebindings", serviceBinding("b", nil))
		if err == nil {
			e.discard("servicebindings", "b")
		}
		return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook"), nil
	})
	if _, err := e.create("v1", "clusterworkloadresourcemappings", mappingOf("widgets.example.com")); !apierrors.IsInternalError(err) {
		t.Errorf("a mapping is answered with %v, want that nobody could be asked", err)
	}
	hooks, err := clients(t, "").AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || len(hooks.Webhooks) != 3 {
		t.Fatalf("the webhook of workloads is not registered: %v %v", hooks, err)
	}
	if _, err := clients(t, "").AppsV1().Deployments(in).Create(t.Context(), deployment("orders"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a workload is refused: %v", err)
	}
}

// discard removes a binding that should not have been let through.
func (e end) discard(plural, name string) {
	_ = e.dynamic.Resource(schema.GroupVersionResource{Group: "servicebinding.io", Version: "v1", Resource: plural}).
		Namespace(e.in).Delete(e.Context(), name, metav1.DeleteOptions{})
}

func mappingOf(name string) map[string]any {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"versions": []any{map[string]any{
			"version": "*", "annotations": ".spec.a", "volumes": ".spec.v",
		}}},
	}}
	object.SetName(name)
	return object.Object
}
