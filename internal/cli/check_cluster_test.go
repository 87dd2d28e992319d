package cli_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

const checkBinding = `
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: NAME}
spec:
  type: redis
  service: {apiVersion: SERVICE, kind: KIND, name: OF}
  workload: {apiVersion: apps/v1, kind: Deployment, name: orders}
`

// create makes objects in the namespace default.
func create(t *testing.T, config *rest.Config, objects ...string) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(served))
	for _, text := range objects {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Resource(mapping.Resource).Namespace("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckAsksACluster(t *testing.T) {
	t.Setenv("SERVICE_BINDING_ROOT", "")
	plane := planetest.Start(t)
	config, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(t.Context(), config, install.Options{External: true}, nil); err != nil {
		t.Fatal(err)
	}
	bind := func(name, service, kind, of string) string {
		return strings.NewReplacer("NAME", name, "SERVICE", service, "KIND", kind, "OF", of).Replace(checkBinding)
	}
	create(t, config, goodSecret, badSecret, warnedSecret,
		bind("good", "v1", "Secret", "warned"), bind("lost", "v1", "Secret", "none"),
		bind("unknown", "example.com/v1", "Database", "orders"),
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}")
	kubeconfig := "--kubeconfig=" + plane.Kubeconfig()
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"secret/good", 0, "secret/good, type redis"},
		{"secrets/bad", 1, "well-known"},
		{"secret/warned", 0, "warning"},
		{"secret/good secret/warned --strict", 1, "2 checked"},
		{"servicebinding/good", 0, "servicebinding/good, type redis"},
		{"servicebindings.servicebinding.io/good", 0, "servicebinding/good"},
		{"servicebinding/lost", 1, `Secret "none" does not exist`},
		{"servicebinding/unknown", 1, `Database "orders" does not exist`},
		{"configmap/plain", 1, "names no Secret in .status.binding.name"},
		{"secret/none", 2, "there is no secret/none in this namespace"},
		{"secret/good --namespace other", 2, "there is no secret/good in this namespace"},
		{"databases.example.com/orders", 2, "the cluster serves no kind as in databases.example.com/orders"},
		{"namespace/default", 2, "the kind has no namespace"},
		{"secret/good --as nobody", 2, `User "nobody" cannot get resource "secrets"`},
	} {
		t.Run(test.args, func(t *testing.T) {
			checked("", append(strings.Fields(test.args), kubeconfig)...).is(t, test.code, test.want)
		})
	}
}
