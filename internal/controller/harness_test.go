package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

const (
	patience = 30 * time.Second
	pollGap  = 25 * time.Millisecond
	// self is who the controller is in a cluster.
	self = "system:serviceaccount:bowline-system:bowline-controller"
)

// admin is the administrator of the package's one control plane.
var admin *rest.Config //nolint:gochecknoglobals // set once, by TestMain

var (
	bindings    = bindingv1.GroupVersion.WithResource("servicebindings")
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// clusterScoped lists the resources used here that have no namespace.
var clusterScoped = []string{
	"customresourcedefinitions", "clusterroles", "clusterworkloadresourcemappings",
	"validatingadmissionpolicies", "validatingadmissionpolicybindings",
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr))))
	if child() {
		return
	}
	planetest.Main(m, func(c *rest.Config) {
		admin = c
		if err := install.Apply(context.Background(), c, install.Options{External: true}, func(string) {}); err != nil {
			panic(err)
		}
		if err := defineKinds(); err != nil {
			panic(err)
		}
		go func() {
			if err := run(context.Background(), c, nil); err != nil {
				panic(err)
			}
		}()
	}, planetest.WithControllerManager())
}

// run runs the controller as it runs in a cluster: as its service account, with admission.
func run(ctx context.Context, c *rest.Config, change func(*rest.Config, *controller.Options)) error {
	ports := [2]int{}
	for i := range ports {
		port, err := localplane.FreePort(0)
		if err != nil {
			return fmt.Errorf("choosing a port: %w", err)
		}
		ports[i] = port
	}
	c = rest.CopyConfig(c)
	c.Impersonate = rest.ImpersonationConfig{UserName: self}
	options := controller.Options{
		Namespace:      install.DefaultNamespace,
		MetricsAddress: "0",
		ProbeAddress:   fmt.Sprintf("127.0.0.1:%d", ports[1]),
		WebhookHost:    "127.0.0.1",
		WebhookPort:    ports[0],
		Endpoint:       admission.Endpoint{URL: fmt.Sprintf("https://127.0.0.1:%d", ports[0])},
		Hosts:          []string{"127.0.0.1", "localhost"},
		CreateWebhooks: true,
		Gather:         controller.DefaultGather,
		Log:            textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr))),
	}
	if change != nil {
		change(c, &options)
	}
	return controller.Run(ctx, c, options) //nolint:wrapcheck // shown as it is
}

// cluster is one namespace for one test.
type cluster struct {
	t      *testing.T
	client dynamic.Interface
	ns     string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return clusterOf(t, admin)
}

func clusterOf(t *testing.T, c *rest.Config) *cluster {
	t.Helper()
	c = rest.CopyConfig(c)
	c.QPS = -1
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	k := &cluster{t: t, client: client}
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "test-"},
	}}
	namespace, err = client.Resource(namespaces).Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k.ns = namespace.GetName()
	t.Cleanup(func() {
		err := client.Resource(namespaces).Delete(context.Background(), k.ns, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting namespace %s: %v", k.ns, err)
		}
	})
	return k
}

// create creates each object of a YAML text in the namespace.
func (k *cluster) create(text string) {
	k.t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		if err := k.tryCreate(document); err != nil {
			k.t.Fatalf("creating: %v\n%s", err, document)
		}
	}
}

func (k *cluster) tryCreate(document string) error {
	object := parse(k.t, document)
	_, err := k.of(resourceOf(object.GroupVersionKind())).Create(k.t.Context(), object, metav1.CreateOptions{})
	return err //nolint:wrapcheck // looked at by its kind
}

func (k *cluster) of(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	if slices.Contains(clusterScoped, resource.Resource) {
		return k.client.Resource(resource)
	}
	return k.client.Resource(resource).Namespace(k.ns)
}

func (k *cluster) get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	k.t.Helper()
	object, err := k.of(resource).Get(k.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		k.t.Fatalf("getting %s %s: %v", resource.Resource, name, err)
	}
	return object
}

func (k *cluster) remove(resource schema.GroupVersionResource, name string) {
	k.t.Helper()
	if err := k.of(resource).Delete(k.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		k.t.Fatalf("deleting %s %s: %v", resource.Resource, name, err)
	}
}

// merge applies a JSON merge patch, given as JSON.
func (k *cluster) merge(resource schema.GroupVersionResource, name, patch string, subresources ...string) {
	k.t.Helper()
	_, err := k.of(resource).Patch(k.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	if err != nil {
		k.t.Fatalf("patching %s %s: %v", resource.Resource, name, err)
	}
}

// eventually waits until check returns nil.
func (k *cluster) eventually(what string, check func() error) {
	k.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(k.t.Context(), pollGap, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		k.t.Fatalf("waiting until %s: %v", what, last)
	}
}

// gone waits until an object is no more.
func (k *cluster) gone(resource schema.GroupVersionResource, name string) {
	k.t.Helper()
	k.eventually(resource.Resource+" "+name+" is gone", func() error {
		object, err := k.of(resource).Get(k.t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		text, _ := json.Marshal(object.Object)
		return fmt.Errorf("it is there: %s", text)
	})
}

// condition waits until a condition of a binding is as given, at the binding's current generation, and returns it.
func (k *cluster) condition(name, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	k.t.Helper()
	var found metav1.Condition
	k.eventually(fmt.Sprintf("%s of binding %s is %s (%s)", kind, name, status, reason), func() error {
		sb := k.binding(name)
		c := meta.FindStatusCondition(sb.Status.Conditions, kind)
		text, _ := json.Marshal(sb.Status)
		switch {
		case c == nil:
			return fmt.Errorf("there is none: %s", text)
		case sb.Status.ObservedGeneration != sb.Generation:
			return errors.New("the status is of an older generation")
		case c.Status != status || c.Reason != reason:
			return fmt.Errorf("status is %s", text)
		}
		found = *c
		return nil
	})
	return found
}

func (k *cluster) ready(name string) {
	k.t.Helper()
	k.condition(name, controller.ConditionReady, metav1.ConditionTrue, controller.ReasonProjected)
}

func (k *cluster) binding(name string) *bindingv1.ServiceBinding {
	k.t.Helper()
	var sb bindingv1.ServiceBinding
	convert(k.t, k.get(bindings, name), &sb)
	return &sb
}

// bound waits until exactly the given bindings are projected into a Deployment.
func (k *cluster) bound(deployment string, names ...string) {
	k.t.Helper()
	k.eventually(fmt.Sprintf("Deployment %s has the projections of %v", deployment, names), func() error {
		volumes, _, _ := unstructured.NestedSlice(k.get(deployments, deployment).Object, "spec", "template", "spec", "volumes")
		have := map[string]bool{}
		for _, v := range volumes {
			if name, _, _ := unstructured.NestedString(v.(map[string]any), "name"); strings.HasPrefix(name, "servicebinding-") {
				have[strings.TrimPrefix(name, "servicebinding-")] = true
			}
		}
		for _, name := range names {
			if uid := string(k.binding(name).UID); !have[uid] {
				return fmt.Errorf("that of %s is missing", name)
			}
		}
		if len(have) != len(names) {
			return fmt.Errorf("it has %d", len(have))
		}
		return nil
	})
}

func convert(t *testing.T, from *unstructured.Unstructured, into any) {
	t.Helper()
	data, err := json.Marshal(from.Object)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatalf("parsing: %v\n%s", err, text)
	}
	data, err := json.Marshal(object.Object)
	if err == nil {
		err = object.UnmarshalJSON(data) // integers as the API machinery wants them
	}
	if err != nil {
		t.Fatalf("parsing: %v\n%s", err, text)
	}
	return object
}

// resourceOf guesses the resource of a kind; right for all kinds used here.
func resourceOf(kind schema.GroupVersionKind) schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return resource
}

// The texts of the objects most tests use.

func secretText(name string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %s}
type: servicebinding.io/postgresql
stringData: {type: postgresql, host: db.example.com, username: orders, password: swordfish}
`, name)
}

func deploymentText(name string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, labels: {app: shop, tier: back}}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      initContainers:
      - {name: migrate, image: example.com/migrate:1}
      containers:
      - name: main
        image: example.com/main:1
        env: [{name: LOG, value: debug}]
      - {name: sidecar, image: example.com/sidecar:1}
`, name)
}

// bindingText is a binding of a Secret and a Deployment, with further lines of its spec.
func bindingText(name, secret, deployment string, more ...string) string {
	text := fmt.Sprintf(`
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: %s}
spec:
  service: {apiVersion: v1, kind: Secret, name: %s}
  workload: {apiVersion: apps/v1, kind: Deployment, name: %s}
`, name, secret, deployment)
	for i := range more {
		more[i] = "  " + more[i] + "\n"
	}
	return text + strings.Join(more, "")
}
