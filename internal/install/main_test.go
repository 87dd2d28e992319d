package install_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

// plane and config are the package's one control plane. Its tests change the whole cluster, so those that use it do not
// run in parallel.
var (
	plane  *localplane.Plane //nolint:gochecknoglobals // set once, by TestMain
	config *rest.Config      //nolint:gochecknoglobals // set once, by TestMain
)

func TestMain(m *testing.M) {
	planetest.Main(m, func(c *rest.Config) { config = c },
		planetest.WithControllerManager(),
		// Without it the API server would look for the webhook's Service at an address that nobody routes here.
		planetest.WithAPIServerArgs("--enable-aggregator-routing=true"),
		planetest.WithPlane(func(p *localplane.Plane) { plane = p }))
}

// record collects what Apply and Delete tell about their progress.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (r *record) has(part string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.lines, "\n"), part)
}

// apply installs, and takes everything out again when the test ends.
func apply(t *testing.T, opts install.Options) *record {
	t.Helper()
	t.Cleanup(func() { remove(t, opts) })
	said := &record{}
	if err := install.Apply(t.Context(), config, opts, said.add); err != nil {
		t.Fatalf("Apply(%+v): %v", opts, err)
	}
	return said
}

// remove takes everything out again.
func remove(t *testing.T, opts install.Options) {
	t.Helper()
	opts.Force = true
	if err := install.Delete(context.Background(), config, opts, nil); err != nil {
		t.Errorf("cleaning up: %v", err)
	}
}

func resource(t *testing.T, object *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	if object.GetNamespace() == "" {
		return client.Resource(plural)
	}
	return client.Resource(plural).Namespace(object.GetNamespace())
}

// get returns the object as the cluster has it, or nil.
func get(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	found, err := resource(t, object).Get(t.Context(), object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("reading %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return found
}

func create(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	_, err := resource(t, object).Create(t.Context(), object, metav1.CreateOptions{})
	return err //nolint:wrapcheck // the tests look at the API server's own error
}

func typed(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	return client
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func makeNamespace(t *testing.T, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := typed(t).CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatalf("making namespace %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := typed(t).CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("deleting namespace %s: %v", name, err)
		}
	})
}

// binding returns a ServiceBinding of the namespace default.
func binding(version, name string, finalizers ...string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "servicebinding.io/" + version,
		"kind":       "ServiceBinding",
		"metadata":   map[string]any{"name": name, "namespace": "default"},
		"spec": map[string]any{
			"service":  map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "orders-db"},
			"workload": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "orders"},
		},
	}}
	object.SetFinalizers(finalizers)
	return object
}

// draft returns a binding of the early draft's API.
func draft(name string, finalizers ...string) *unstructured.Unstructured {
	object := binding("v1", name, finalizers...)
	object.SetAPIVersion("service.binding/v1alpha1")
	workload, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "workload")
	unstructured.RemoveNestedField(object.Object, "spec", "workload")
	if err := unstructured.SetNestedField(object.Object, workload, "spec", "application"); err != nil {
		panic(err)
	}
	return object
}

func synthetic(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "service.binding/v1alpha1",
		"kind":       "SyntheticProvisionedService",
		"metadata":   map[string]any{"name": name, "namespace": "default"},
		"spec": map[string]any{
			"type":     "kafka",
			"services": []any{map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "orders-db"}},
		},
	}}
}

// mapping returns a ClusterWorkloadResourceMapping whose one template has the given fields.
func mapping(version, name string, template map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "servicebinding.io/" + version,
		"kind":       "ClusterWorkloadResourceMapping",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"versions": []any{template}},
	}}
}
