package watch

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/yaml"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

const (
	patience = 30 * time.Second
	pollGap  = 20 * time.Millisecond
	// self is who the controller is in a cluster.
	self = "system:serviceaccount:bowline-system:bowline-controller"
)

// admin is the administrator of the package's one control plane. Nothing but the hubs of the tests watches workloads in
// it: there is no controller manager, so each test grants what it needs by a role of its own.
var admin *rest.Config //nolint:gochecknoglobals // set once, by TestMain

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	planetest.Main(m, func(c *rest.Config) {
		admin = c
		if err := install.Apply(context.Background(), c, install.Options{External: true}, func(string) {}); err != nil {
			fmt.Fprintf(os.Stderr, "installing Bowline: %v\n", err)
			os.Exit(1)
		}
	})
}

// recorder is a sink that keeps what it is told.
type recorder struct {
	mu        sync.Mutex
	workloads []string
	bindings  []string
}

func (r *recorder) WorkloadChanged(key WorkloadKey, _ bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workloads = append(r.workloads, key.Kind.Kind+" "+key.Name)
}

func (r *recorder) BindingChanged(key binding.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bindings = append(r.bindings, key.Name)
}

func (r *recorder) KindsChanged() {}

// take returns what was told since the last time.
func (r *recorder) take() (workloads, bindings []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	workloads, bindings = r.workloads, r.bindings
	r.workloads, r.bindings = nil, nil
	return workloads, bindings
}

// wiretap sees what a hub asks the API server, and what it is told of Secrets.
type wiretap struct {
	mu      sync.Mutex
	watches map[string]int // open ones, by resource.group
	accepts []string       // the Accept headers of requests for Secrets
	secrets bytes.Buffer   // the answers
}

func (w *wiretap) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		resource := resourceIn(request.URL.Path)
		response, err := next.RoundTrip(request)
		if err != nil || resource == "" || request.Method != http.MethodGet {
			return response, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		b := &tappedBody{ReadCloser: response.Body, read: func([]byte) {}, closed: func() {}}
		if resource == "secrets" {
			w.accepts = append(w.accepts, request.Header.Get("Accept"))
			b.read = w.overhear
		}
		if request.URL.Query().Get("watch") != "" {
			w.watches[resource]++
			b.closed = sync.OnceFunc(func() { w.ended(resource) })
		}
		response.Body = b
		return response, nil
	})
}

func (w *wiretap) overhear(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets.Write(data)
}

func (w *wiretap) ended(resource string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watches[resource]--; w.watches[resource] == 0 {
		delete(w.watches, resource)
	}
}

func (w *wiretap) open() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.watches)
}

// heard returns the Accept headers of all requests for Secrets, and whether an answer held a text, encoded or not.
func (w *wiretap) heard(text string) (accepts []string, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	return slices.Clone(w.accepts), bytes.Contains(w.secrets.Bytes(), []byte(text)) || bytes.Contains(w.secrets.Bytes(), []byte(encoded))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

type tappedBody struct {
	io.ReadCloser

	read   func([]byte)
	closed func()
}

func (b *tappedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.read(into[:n])
	return n, err //nolint:wrapcheck // it passes through
}

func (b *tappedBody) Close() error {
	b.closed()
	return b.ReadCloser.Close() //nolint:wrapcheck // it passes through
}

// resourceIn returns the resource and group of a path that lists a resource of the whole cluster or of a namespace; "" for
// any other path.
func resourceIn(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if at := len(parts) - 3; at >= 2 && parts[at] == "namespaces" {
		parts = slices.Delete(parts, at, at+2)
	}
	switch {
	case len(parts) == 3 && parts[0] == "api":
		return parts[2]
	case len(parts) == 4 && parts[0] == "apis":
		return parts[3] + "." + parts[1]
	}
	return ""
}

// scene is a hub for one test, and a namespace.
type scene struct {
	t      *testing.T
	client dynamic.Interface
	ns     string
	hub    *Hub
	tap    *wiretap
	told   *recorder
}

// newScene runs a hub as the controller's user. The tests of a control plane run one after the other: a hub sees all
// bindings there are.
func newScene(t *testing.T) *scene {
	t.Helper()
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, client: client, tap: &wiretap{watches: map[string]int{}}, told: &recorder{}}
	s.ns = s.create(`{apiVersion: v1, kind: Namespace, metadata: {generateName: test-}}`)
	config := rest.CopyConfig(admin)
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: self}
	config.Wrap(s.tap.wrap)
	s.run(config)
	return s
}

func (s *scene) run(config *rest.Config) {
	s.t.Helper()
	scheme := runtime.NewScheme()
	if err := bindingv1.AddToScheme(scheme); err != nil {
		s.t.Fatal(err)
	}
	source, err := crcache.New(config, crcache.Options{Scheme: scheme})
	if err != nil {
		s.t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.hub = New(logr.Discard(), Clients{
		Dynamic:   dynamic.NewForConfigOrDie(config),
		Metadata:  metadata.NewForConfigOrDie(config),
		Discovery: clients.Discovery(),
		Access:    clients.AuthorizationV1().SelfSubjectAccessReviews(),
	}, source)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, start := range []func(context.Context) error{source.Start, s.hub.Start} {
		running.Go(func() {
			if err := start(ctx); err != nil {
				s.t.Errorf("running the hub: %v", err)
			}
		})
	}
	s.t.Cleanup(func() {
		cancel()
		running.Wait()
		s.watching(nil)
	})
	select {
	case <-s.hub.Indexed():
	case <-time.After(patience):
		s.t.Fatal("the hub does not know all bindings in time")
	}
	s.hub.Deliver(s.told)
}

// eventually waits until check returns "", which else says how it is.
func (s *scene) eventually(what string, check func() string) {
	s.t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(context.Background(), pollGap, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == "", nil
	})
	if err != nil {
		s.t.Fatalf("waiting until %s: %s", what, last)
	}
}

// watching waits until the open watches are those that Bowline always needs, and more.
func (s *scene) watching(want map[string]int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("the open watches are %v", want), func() string { return cmp.Diff(want, s.tap.open(), nothingIsNil()) })
}

func nothingIsNil() cmp.Option {
	return cmp.Transformer("empty", func(m map[string]int) map[string]int {
		if len(m) == 0 {
			return nil
		}
		return m
	})
}

// always returns the watches that a hub holds whatever bindings there are, and more.
func always(more ...string) map[string]int {
	watches := map[string]int{
		"servicebindings.servicebinding.io": 1, "clusterworkloadresourcemappings.servicebinding.io": 1,
		"customresourcedefinitions.apiextensions.k8s.io": 1,
	}
	for _, resource := range more {
		watches[resource] = 1
	}
	return watches
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	object := &unstructured.Unstructured{}
	if err == nil {
		err = object.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatalf("parsing: %v\n%s", err, text)
	}
	return object
}

// of returns the access to objects of a kind, which is in the namespace when the kind is.
func (s *scene) of(kind schema.GroupVersionKind) dynamic.ResourceInterface {
	resource := kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s")
	if slices.Contains([]string{
		"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "ClusterWorkloadResourceMapping",
	}, kind.Kind) {
		return s.client.Resource(resource)
	}
	return s.client.Resource(resource).Namespace(s.ns)
}

// create creates an object, which goes with the test, and returns its name.
func (s *scene) create(text string) string {
	s.t.Helper()
	object := parse(s.t, text)
	access := s.of(object.GroupVersionKind())
	object, err := access.Create(s.t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatalf("creating: %v\n%s", err, text)
	}
	s.t.Cleanup(func() { _ = access.Delete(context.Background(), object.GetName(), metav1.DeleteOptions{}) })
	return object.GetName()
}

func (s *scene) remove(kind schema.GroupVersionKind, name string) {
	s.t.Helper()
	if err := s.of(kind).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatalf("deleting %s %s: %v", kind.Kind, name, err)
	}
}

// merge applies a JSON merge patch.
func (s *scene) merge(kind schema.GroupVersionKind, name, patch string, subresources ...string) {
	s.t.Helper()
	_, err := s.of(kind).Patch(s.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	if err != nil {
		s.t.Fatalf("patching %s %s: %v", kind.Kind, name, err)
	}
}

// grant lets the hub list and watch a resource for as long as the test runs.
func (s *scene) grant(group, resource string) {
	s.t.Helper()
	role := s.create(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {generateName: test-}
rules: [{apiGroups: [%q], resources: [%q], verbs: [get, list, watch]}]
`, group, resource))
	s.create(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {generateName: test-}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %q}]
`, role, self))
}

// define defines a namespaced kind that keeps any field, and waits until it is served.
func (s *scene) define(kind schema.GroupVersionKind) {
	s.t.Helper()
	singular := strings.ToLower(kind.Kind)
	s.create(fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[1]ss, singular: %[1]s, listKind: %[3]sList}
  versions:
  - name: %[4]s
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, singular, kind.Group, kind.Kind, kind.Version))
	s.eventually(kind.Kind+" is served", func() string {
		if _, err := s.of(kind).List(context.Background(), metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
}
