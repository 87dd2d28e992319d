package canary_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
)

const (
	patience = 30 * time.Second
	gap      = 25 * time.Millisecond
	space    = "shop"
)

var (
	bindings = schema.GroupVersionResource{Group: "servicebinding.io", Version: "v1", Resource: "servicebindings"} //nolint:gochecknoglobals
	secrets  = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}                                     //nolint:gochecknoglobals
)

// bowline is a controller, run as bowline up runs it, but that it tells more.
type bowline struct {
	t       *testing.T
	cmd     *exec.Cmd
	log     string
	metrics string
}

func start(t *testing.T) *bowline {
	t.Helper()
	if err := install.Apply(t.Context(), admin, install.Options{External: true, Features: feature.Of(feature.All()...)}, nil); err != nil {
		t.Fatal(err)
	}
	var ports [3]int
	for i := range ports {
		port, err := localplane.FreePort(0)
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = port
	}
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bowline{t: t, log: filepath.Join(t.TempDir(), "log"), metrics: "http://" + address(0) + "/metrics"}
	file, err := os.Create(b.log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b.cmd = exec.Command(self)
	b.cmd.Env = append(os.Environ(), childArguments+"="+strings.Join(append([]string{
		"controller", "--kubeconfig", plane.Kubeconfig(), "--as", "system:serviceaccount:bowline-system:bowline-controller",
		"--leader-elect=false", "--metrics-address", address(0), "--probe-address", address(1), "--gather", "20ms", "-v", "1",
		"--webhook-host", "127.0.0.1", "--webhook-port", strconv.Itoa(ports[2]), "--webhook-url", "https://" + address(2),
	}, feature.Of(feature.All()...).Arguments()...), " "))
	b.cmd.Stdout, b.cmd.Stderr = file, file
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.cmd.Process.Kill() })
	eventually(t, "the controller is ready", func() error {
		_, err := read("http://" + address(1) + "/readyz")
		return err
	})
	return b
}

// stop ends the controller, so that its log is whole, and returns the log.
func (b *bowline) stop() []byte {
	b.t.Helper()
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.t.Fatal(err)
	}
	if err := b.cmd.Wait(); err != nil {
		b.t.Errorf("the controller ended with %v", err)
	}
	text, err := os.ReadFile(b.log)
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

func read(url string) ([]byte, error) {
	response, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return text, err
}

// cluster is the API server as one person sees it.
type cluster struct {
	t      *testing.T
	client dynamic.Interface
}

func as(t *testing.T, user string) *cluster {
	t.Helper()
	c := rest.CopyConfig(admin)
	c.QPS, c.Impersonate.UserName = -1, user
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t, client}
}

func (k *cluster) of(resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return k.client.Resource(resource)
	}
	return k.client.Resource(resource).Namespace(namespace)
}

// try creates an object where its own metadata says.
func (k *cluster) try(document string) error {
	object := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(document))
	if err == nil {
		err = object.UnmarshalJSON(text)
	}
	if err != nil {
		k.t.Fatalf("parsing: %v\n%s", err, document)
	}
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	_, err = k.of(resource, object.GetNamespace()).Create(k.t.Context(), object, metav1.CreateOptions{})
	return err
}

// create creates each object of a text, and waits for kinds that have just been defined.
func (k *cluster) create(text string) {
	k.t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		eventually(k.t, "it is created: "+document, func() error {
			if err := k.try(document); !apierrors.IsAlreadyExists(err) {
				return err
			}
			return nil
		})
	}
}

func (k *cluster) merge(resource schema.GroupVersionResource, name, patch string, subresources ...string) {
	k.t.Helper()
	_, err := k.of(resource, space).Patch(k.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	if err != nil {
		k.t.Fatalf("patching %s %s: %v", resource.Resource, name, err)
	}
}

// reason waits until a binding is Ready, or not, for a reason.
func (k *cluster) reason(name, want string) {
	k.t.Helper()
	k.told(bindings, name, want)
}

func (k *cluster) remove(names ...string) {
	k.t.Helper()
	for _, name := range names {
		if err := k.of(bindings, space).Delete(k.t.Context(), name, metav1.DeleteOptions{}); err != nil {
			k.t.Fatalf("deleting binding %s: %v", name, err)
		}
		eventually(k.t, "binding "+name+" is gone", func() error {
			_, err := k.of(bindings, space).Get(k.t.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is there: %w", err)
		})
	}
}

// everything returns all objects there are, by resource.
func (k *cluster) everything() map[schema.GroupVersionResource][]byte {
	k.t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(admin)
	if err != nil {
		k.t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		k.t.Fatal(err)
	}
	all := map[schema.GroupVersionResource][]byte{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			k.t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			found, err := k.client.Resource(gv.WithResource(resource.Name)).List(k.t.Context(), metav1.ListOptions{})
			if apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				k.t.Fatalf("listing %s: %v", resource.Name, err)
			}
			text, err := found.MarshalJSON()
			if err != nil {
				k.t.Fatal(err)
			}
			all[gv.WithResource(resource.Name)] = text
		}
	}
	return all
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), gap, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, last)
	}
}
