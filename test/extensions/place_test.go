package extensions_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/produce"
)

var (
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	databaseKind   = schema.GroupVersionKind{Group: "apps.kube.io", Version: "v1beta1", Kind: "Database"}
	bindingKind    = schema.GroupVersionKind{Group: "servicebinding.io", Version: "v1", Kind: "ServiceBinding"}
	draftKind      = schema.GroupVersionKind{Group: "service.binding", Version: "v1alpha1", Kind: "ServiceBinding"}
	syntheticKind  = schema.GroupVersionKind{Group: "service.binding", Version: "v1alpha1", Kind: "SyntheticProvisionedService"}
	roleKind       = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}
)

// place is a namespace of one test, as the administrator or somebody else sees it.
type place struct {
	t      *testing.T
	config *rest.Config
	client dynamic.Interface
	ns     string
}

// newPlace makes a namespace that goes with the test.
func newPlace(t *testing.T, config *rest.Config) *place {
	t.Helper()
	p := (&place{t: t, config: config}).as("")
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	made, err := p.client.Resource(namespaces).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "place-"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.ns = made.GetName()
	t.Cleanup(func() {
		err := p.client.Resource(namespaces).Delete(context.WithoutCancel(t.Context()), p.ns, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting namespace %s: %v", p.ns, err)
		}
	})
	return p
}

// as is the same place in the eyes of a user, or of the administrator.
func (p *place) as(user string) *place {
	p.t.Helper()
	c := rest.CopyConfig(p.config)
	c.QPS = -1
	if user != "" {
		c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	}
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		p.t.Fatal(err)
	}
	return &place{t: p.t, config: p.config, client: client, ns: p.ns}
}

// of is the client for a kind. The guess is right for all kinds used here.
func (p *place) of(kind schema.GroupVersionKind) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	if slices.Contains([]string{"customresourcedefinitions", "clusterroles", "namespaces"}, resource.Resource) {
		return p.client.Resource(resource)
	}
	return p.client.Resource(resource).Namespace(p.ns)
}

// create creates the objects of a YAML text.
func (p *place) create(text string) {
	p.t.Helper()
	if err := p.try(text); err != nil {
		p.t.Fatal(err)
	}
}

// try does the same, up to the first that fails.
func (p *place) try(text string) error {
	p.t.Helper()
	objects, err := parse(text)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, object := range objects {
		if _, err := p.of(object.GroupVersionKind()).Create(p.t.Context(), object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// merge applies a merge patch.
func (p *place) merge(kind schema.GroupVersionKind, name, patch string) {
	p.t.Helper()
	if err := p.tryMerge(kind, name, patch); err != nil {
		p.t.Fatalf("changing %s %s: %v", kind.Kind, name, err)
	}
}

func (p *place) tryMerge(kind schema.GroupVersionKind, name, patch string) error {
	_, err := p.of(kind).Patch(p.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (p *place) remove(kind schema.GroupVersionKind, name string) {
	p.t.Helper()
	if err := p.of(kind).Delete(p.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		p.t.Fatalf("deleting %s %s: %v", kind.Kind, name, err)
	}
}

func (p *place) get(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	p.t.Helper()
	object, err := p.of(kind).Get(p.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		p.t.Fatalf("getting %s %s: %v", kind.Kind, name, err)
	}
	return object
}

func (p *place) list(kind schema.GroupVersionKind) []unstructured.Unstructured {
	p.t.Helper()
	list, err := p.of(kind).List(p.t.Context(), metav1.ListOptions{})
	if err != nil {
		p.t.Fatalf("listing %s: %v", kind.Kind, err)
	}
	return list.Items
}

// until waits until check returns nil.
func (p *place) until(what string, check func() error) {
	p.t.Helper()
	if err := eventually(p.t.Context(), patience, check); err != nil {
		p.t.Fatalf("waiting until %s: %v\n%s", what, err, strings.Join(logged.lines(p.ns), ""))
	}
}

// gone waits until an object is no more.
func (p *place) gone(kind schema.GroupVersionKind, name string) {
	p.t.Helper()
	p.until(kind.Kind+" "+name+" is gone", func() error {
		_, err := p.of(kind).Get(p.t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}

// condition waits until a condition of an object's present generation has a reason, and returns it.
func (p *place) condition(kind schema.GroupVersionKind, name, condition, reason string) map[string]any {
	p.t.Helper()
	var found map[string]any
	p.until(fmt.Sprintf("%s of %s %s is %s", condition, kind.Kind, name, reason), func() error {
		object, err := p.of(kind).Get(p.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if seen, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration"); seen != object.GetGeneration() {
			return errors.New("its status is of an older generation")
		}
		for _, c := range conditions(object) {
			if c["type"] == condition && c["reason"] == reason {
				found = c
				return nil
			}
		}
		return fmt.Errorf("its status is %v", object.Object["status"])
	})
	return found
}

// ready waits until bindings are Ready.
func (p *place) ready(names ...string) {
	p.t.Helper()
	for _, name := range names {
		p.condition(bindingKind, name, "Ready", "Projected")
	}
}

// entries are those of a Secret.
func (p *place) entries(secret *unstructured.Unstructured) map[string]string {
	p.t.Helper()
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	entries := map[string]string{}
	for key, value := range data {
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			p.t.Fatal(err)
		}
		entries[key] = string(raw)
	}
	return entries
}

// made lists the Secrets that were made for a purpose; for all when it is empty.
func (p *place) made(purpose produce.Purpose) []unstructured.Unstructured {
	p.t.Helper()
	return slices.DeleteFunc(p.list(secretKind), func(secret unstructured.Unstructured) bool {
		label := secret.GetLabels()[produce.MadeForLabel]
		return label == "" || purpose != "" && label != string(purpose)
	})
}

// makes waits until one Secret was made for a purpose, with these entries.
func (p *place) makes(purpose produce.Purpose, entries map[string]string) *unstructured.Unstructured {
	p.t.Helper()
	var secret unstructured.Unstructured
	p.until(fmt.Sprintf("a Secret for a %s has %v", purpose, slices.Sorted(maps.Keys(entries))), func() error {
		made := p.made(purpose)
		if len(made) != 1 {
			return fmt.Errorf("there are %d", len(made))
		}
		secret = made[0]
		if got := p.entries(&secret); !maps.Equal(got, entries) {
			return fmt.Errorf("it has %v", got)
		}
		return nil
	})
	return &secret
}

// unmade waits until nothing is left that was made.
func (p *place) unmade() {
	p.t.Helper()
	p.until("nothing is left that was made", func() error {
		if made := p.made(""); len(made) > 0 {
			return fmt.Errorf("there is %s, made for a %s", made[0].GetName(), made[0].GetLabels()[produce.MadeForLabel])
		}
		return nil
	})
}

// projected lists the Secrets that are projected into a Deployment.
func (p *place) projected(deployment string) []string {
	p.t.Helper()
	volumes, _, _ := unstructured.NestedSlice(p.get(deploymentKind, deployment).Object, "spec", "template", "spec", "volumes")
	var secrets []string
	for _, volume := range volumes {
		sources, _, _ := unstructured.NestedSlice(volume.(map[string]any), "projected", "sources")
		for _, source := range sources {
			if name, ok, _ := unstructured.NestedString(source.(map[string]any), "secret", "name"); ok {
				secrets = append(secrets, name)
			}
		}
	}
	return secrets
}

// The texts of the objects most tests use.

// databaseText is a service whose annotation points to a Secret by the status.
func databaseText(name, secret string) string {
	return fmt.Sprintf(`
apiVersion: apps.kube.io/v1beta1
kind: Database
metadata:
  name: %s
  annotations:
    service.binding: path={.status.credentials},objectType=Secret
    service.binding/uri: path={.status.url}
status: {credentials: %q, url: db.example.com}
`, name, secret)
}

func plainSecret(name, password string) string {
	return fmt.Sprintf("\napiVersion: v1\nkind: Secret\nmetadata: {name: %q}\nstringData: {type: x, password: %q}\n", name, password)
}

func deploymentText(name string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: app, image: example.com/app:1}]}
`, name)
}

// bindingText is a binding of a Database and a Deployment of the binding's name.
func bindingText(name, database string) string {
	return fmt.Sprintf(`
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: %s}
spec:
  service: {apiVersion: apps.kube.io/v1beta1, kind: Database, name: %s}
  workload: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
`, name, database)
}

// draftText is a binding of the early draft of a Database and a Deployment of the binding's name, that composes a Secret.
func draftText(name, database string) string {
	return fmt.Sprintf(`
apiVersion: service.binding/v1alpha1
kind: ServiceBinding
metadata: {name: %s}
spec:
  service: {apiVersion: apps.kube.io/v1beta1, kind: Database, name: %s}
  application: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  mappings: [{name: url, value: "x://((password))@((uri))"}]
`, name, database)
}

// syntheticText is a synthetic service of one Secret.
func syntheticText(name, secret string) string {
	return fmt.Sprintf(`
apiVersion: service.binding/v1alpha1
kind: SyntheticProvisionedService
metadata: {name: %s}
spec:
  type: x
  services: [{apiVersion: v1, kind: Secret, name: %q, id: source}]
  mappings: [{name: password, value: "((source.password))"}]
`, name, secret)
}

func documents(texts ...string) string { return strings.Join(texts, "\n---\n") }
