package admission_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/projection"
)

// serve runs all that admission consists of against the API server, until the test ends. It returns the namespace whose
// workloads are covered.
func serve(t *testing.T, self string) string {
	t.Helper()
	in := namespace(t)
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		Paths: []string{"../../config/crd"}, ErrorIfPathMissing: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	certificates := replica(clients(t, "").CoreV1().Secrets(in), &clock{})
	ensure(t, certificates)
	port := freePort(t)
	server := admission.NewServer(admission.ServerConfig{
		Host: "127.0.0.1", Port: port, GetCertificate: certificates.GetCertificate, Projector: projectorFunc(label),
		Authority: allowing{}, Features: feature.Of(feature.All()...),
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the server answers", func(context.Context) (bool, error) {
		return server.StartedChecker()(nil) == nil, nil
	})
	one, _ := registrar(t, func(c *admission.RegistrarConfig) {
		c.Endpoint = admission.Endpoint{URL: fmt.Sprintf("https://127.0.0.1:%d", port)}
		c.Bundle, c.User, c.Features = certificates.Bundle, self, feature.Of(feature.All()...)
		c.Scoper = &scoper{scope: admission.Scope{
			Resources: []schema.GroupVersionResource{deployments()}, Namespaces: []string{in},
		}}
	})
	if err := one.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return in
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("listening at %v", listener.Addr())
	}
	return address.Port
}

// label stands for a projection: it marks the workload.
func label(_ schema.GroupVersionKind, w projection.Workload) (projection.Workload, error) {
	marked := (&unstructured.Unstructured{Object: w}).DeepCopy()
	marked.SetLabels(map[string]string{"projected": "true"})
	return marked.Object, nil
}

// end is everything from a request to the API server and back.
type end struct {
	*testing.T

	in      string
	dynamic dynamic.Interface
}

func (e end) create(version, plural string, object map[string]any) (*unstructured.Unstructured, error) {
	resource := e.dynamic.Resource(schema.GroupVersionResource{Group: "servicebinding.io", Version: version, Resource: plural})
	object["apiVersion"] = "servicebinding.io/" + version
	if plural == "servicebindings" {
		object["kind"] = "ServiceBinding"
		return resource.Namespace(e.in).Create(e.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	}
	object["kind"] = "ClusterWorkloadResourceMapping"
	return resource.Create(e.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
}

func serviceBinding(name string, spec map[string]any) map[string]any {
	full := map[string]any{
		"service":  map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "db"},
		"workload": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "orders"},
	}
	maps.Copy(full, spec)
	return map[string]any{"metadata": map[string]any{"name": name}, "spec": full}
}

func TestEndToEnd(t *testing.T) {
	const self = "system:serviceaccount:bowline-system:bowline-controller"
	in := serve(t, self)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	e := end{T: t, in: in, dynamic: client}
	eventually(t, "the API server asks", func(context.Context) (bool, error) {
		probe := serviceBinding("probe", map[string]any{"name": ".."})
		_, err := e.create("v1", "servicebindings", probe)
		if err == nil {
			_ = client.Resource(schema.GroupVersionResource{
				Group: "servicebinding.io", Version: "v1", Resource: "servicebindings",
			}).Namespace(in).Delete(t.Context(), "probe", metav1.DeleteOptions{})
		}
		return apierrors.IsInvalid(err), nil
	})
	e.bindings()
	e.drafts()
	e.mappings()
	e.workloads(self)
}

func (e end) bindings() {
	for _, version := range []string{"v1", "v1beta1", "v1alpha3"} {
		_, err := e.create(version, "servicebindings", serviceBinding("bad", map[string]any{
			"name": "Not/Good",
			"env":  []any{map[string]any{"name": "A", "key": "a"}, map[string]any{"name": "A", "key": "b"}},
		}))
		if diff := cmp.Diff([]string{"spec.env[1].name", "spec.name"}, fieldsOf(err)); diff != "" {
			e.Errorf("fields refused in %s (-want +got):\n%s\n%v", version, diff, err)
		}
		made, err := e.create(version, "servicebindings", serviceBinding("good-"+version, nil))
		if err != nil {
			e.Fatal(err)
		}
		if diff := cmp.Diff([]string{"bowline.dev/unbind"}, made.GetFinalizers()); diff != "" {
			e.Errorf("finalizers in %s (-want +got):\n%s", version, diff)
		}
		kinds := made.GetAnnotations()["bowline.dev/workload-kinds"]
		if diff := cmp.Diff("Deployment.v1.apps", kinds); diff != "" {
			e.Errorf("kinds in %s (-want +got):\n%s", version, diff)
		}
	}
}

func (e end) mappings() {
	template := map[string]any{"version": "*"}
	object := func(name string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"versions": []any{template}},
		}
	}
	made, err := e.create("v1beta1", "clusterworkloadresourcemappings", object("widgets.example.com"))
	if err != nil {
		e.Fatalf("a mapping without optional paths, in the version whose schema requires them: %v", err)
	}
	got, _, _ := unstructured.NestedSlice(made.Object, "spec", "versions")
	want := []any{map[string]any{
		"version": "*", "annotations": ".spec.template.metadata.annotations", "volumes": ".spec.template.spec.volumes",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("templates (-want +got):\n%s", diff)
	}
	_, err = e.create("v1", "clusterworkloadresourcemappings", object("widgets"))
	if diff := cmp.Diff([]string{"metadata.name"}, fieldsOf(err)); diff != "" {
		e.Errorf("fields refused (-want +got):\n%s\n%v", diff, err)
	}
}

func (e end) workloads(self string) {
	for name, c := range map[string]struct {
		reason, user, in, want string
	}{
		"covered":    {reason: "it is projected", in: e.in, want: "true"},
		"elsewhere":  {reason: "nobody binds there", in: namespace(e.T)},
		"by-bowline": {reason: "our own writes pass", in: e.in, user: self},
	} {
		var groups []string
		if c.user != "" {
			groups = []string{"system:masters"}
		}
		made, err := clients(e.T, c.user, groups...).AppsV1().Deployments(c.in).
			Create(e.Context(), deployment(name), metav1.CreateOptions{})
		if err != nil {
			e.Fatal(err)
		}
		if got := made.Labels["projected"]; got != c.want {
			e.Errorf("%s: %s: projected is %q", name, c.reason, got)
		}
	}
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
			},
		},
	}
}

// fieldsOf returns the fields that an invalid object is refused for, sorted.
func fieldsOf(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		return nil
	}
	answer := status.Status()
	fields := causes(&answer)
	slices.Sort(fields)
	return fields
}
