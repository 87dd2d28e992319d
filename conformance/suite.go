package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	group = "servicebinding.io"
	// The groups of the kinds that the suite invents. Those of the last are granted to nobody at first.
	serviceGroup  = "services.conformance.test"
	workloadGroup = "workloads.conformance.test"
	lateGroup     = "late.conformance.test"
)

// ErrNotServed says that the API server serves none of the versions that the suite can test.
var ErrNotServed = errors.New("the API server does not serve what is to be tested")

// suite is one run.
type suite struct {
	options    Options
	api        declared
	client     dynamic.Interface
	discovery  discovery.DiscoveryInterface
	version    string
	kubernetes string
	node       bool
	made       []*unstructured.Unstructured
}

func newSuite(ctx context.Context, config *rest.Config, options Options) (*suite, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's own fairness decides
	config.UserAgent = "servicebinding-conformance"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client for discovery: %w", err)
	}
	s := &suite{options: options, client: client, discovery: discoverer}
	if s.api, err = options.API.declared(); err != nil {
		return nil, err
	}
	server, err := discoverer.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its version: %w", err)
	}
	s.kubernetes = server.GitVersion
	if s.version, err = s.servedVersion(); err != nil {
		return nil, err
	}
	s.node, err = s.hasNode(ctx)
	return s, err
}

func (s *suite) apiVersion() string { return s.api.group + "/" + s.version }

// hasNode says whether a pod could run.
func (s *suite) hasNode(ctx context.Context) (bool, error) {
	list, err := s.client.Resource(nodes).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("listing nodes: %w", err)
	}
	for i := range list.Items {
		var node corev1.Node
		if err := decode(list.Items[i].Object, &node); err != nil {
			return false, fmt.Errorf("reading node %s: %w", list.Items[i].GetName(), err)
		}
		ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if ready && !node.Spec.Unschedulable {
			return true, nil
		}
	}
	return false, nil
}

// setup makes the kinds that the clauses use, and opts them in as the specification says.
func (s *suite) setup(ctx context.Context, clauses []Clause) error {
	kinds, err := inventedKinds(clauses)
	if err != nil {
		return err
	}
	objects := []*unstructured.Unstructured{
		grant("services", serviceGroup, s.label(), kinds).to("get", "list", "watch"),
		grant("workloads", workloadGroup, s.label(), kinds).to("get", "list", "watch", "update", "patch"),
	}
	for _, k := range kinds {
		objects = append(objects, k.definition())
	}
	for _, object := range objects {
		if object == nil {
			continue
		}
		s.made = append(s.made, object)
		if err := s.make(ctx, object); err != nil {
			return err
		}
	}
	for _, k := range kinds {
		if err := s.established(ctx, k.name()); err != nil {
			return err
		}
	}
	return nil
}

// make creates a cluster-scoped object. One of an earlier run is taken, unless it is being deleted: that is waited for.
func (s *suite) make(ctx context.Context, object *unstructured.Unstructured) error {
	what := object.GetKind() + " " + object.GetName()
	client := s.client.Resource(resourceOf(object))
	return poll(ctx, what+" is there", func() error {
		_, err := client.Create(ctx, object, metav1.CreateOptions{})
		if err == nil {
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating it: %w", err)
		}
		there, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading it: %w", err)
		}
		if there.GetDeletionTimestamp() != nil {
			return errors.New("one of an earlier run is being deleted")
		}
		return nil
	})
}

// established waits until a CustomResourceDefinition is served.
func (s *suite) established(ctx context.Context, name string) error {
	return poll(ctx, "CustomResourceDefinition "+name+" is established", func() error {
		object, err := s.client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading it: %w", err)
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return nil
			}
		}
		return errors.New("it is not")
	})
}

// teardown removes what setup made.
func (s *suite) teardown(ctx context.Context) error {
	var errs []error
	for _, object := range slices.Backward(s.made) {
		err := s.client.Resource(resourceOf(object)).Delete(ctx, object.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("deleting %s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

// opting is the ClusterRole to be that opts in kinds of a group.
type opting struct {
	name, group, label string
	resources          []any
}

func grant(name, group, label string, kinds []kind) opting {
	o := opting{name: name, group: group, label: label}
	for _, k := range kinds {
		if k.group == group {
			o.resources = append(o.resources, k.plural())
		}
	}
	return o
}

// to makes the ClusterRole; nil when there are no kinds.
func (o opting) to(verbs ...string) *unstructured.Unstructured {
	if len(o.resources) == 0 {
		return nil
	}
	allowed := make([]any, len(verbs))
	for i, verb := range verbs {
		allowed[i] = verb
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1",
		"kind":       "ClusterRole",
		"metadata": map[string]any{
			"name":   "servicebinding-conformance-" + o.name,
			"labels": map[string]any{o.label: "true"},
		},
		"rules": []any{map[string]any{"apiGroups": []any{o.group}, "resources": o.resources, "verbs": allowed}},
	}}
}

// kind is one that the suite invents.
type kind struct{ group, kind string }

func (k kind) plural() string { return strings.ToLower(k.kind) + "s" }
func (k kind) name() string   { return k.plural() + "." + k.group }

// statusless is the one kind of service without a status subresource: the duck type does not ask for it.
const statusless = "Queue"

// narrow is the one kind of workload that cannot always be bound: a container of it takes one mount at most.
const narrow = "Narrow"

func (k kind) schema() map[string]any {
	open := func(properties map[string]any) map[string]any {
		s := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
		if properties != nil {
			s["properties"] = properties
		}
		return s
	}
	if k.kind != narrow {
		return open(nil)
	}
	mounts := map[string]any{"type": "array", "maxItems": int64(1), "items": open(nil)}
	containers := map[string]any{"type": "array", "items": open(map[string]any{"volumeMounts": mounts})}
	template := open(map[string]any{"spec": open(map[string]any{"containers": containers})})
	return open(map[string]any{"spec": open(map[string]any{"template": template})})
}

// definition makes a kind that keeps any field, in two versions.
func (k kind) definition() *unstructured.Unstructured {
	var versions []any
	for _, version := range []string{"v1", "v2"} {
		v := map[string]any{
			"name": version, "served": true, "storage": version == "v1",
			"schema": map[string]any{"openAPIV3Schema": k.schema()},
		}
		if k.kind != statusless {
			v["subresources"] = map[string]any{"status": map[string]any{}}
		}
		versions = append(versions, v)
	}
	metadata := map[string]any{"name": k.name()}
	if k.group == serviceGroup {
		metadata["labels"] = map[string]any{"servicebinding.io/provisioned-service": "true"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata,
		"spec": map[string]any{
			"group": k.group, "scope": "Namespaced", "versions": versions,
			"names": map[string]any{
				"kind": k.kind, "plural": k.plural(), "singular": strings.ToLower(k.kind), "listKind": k.kind + "List",
			},
		},
	}}
}

// inventedKinds lists the kinds of the suite's groups that the clauses' manifests use, sorted.
func inventedKinds(clauses []Clause) ([]kind, error) {
	seen := map[kind]bool{}
	for i := range clauses {
		objects, err := parse(clauses[i].Manifests)
		if err != nil {
			return nil, fmt.Errorf("reading the manifests of clause %s: %w", clauses[i].Name, err)
		}
		for _, object := range objects {
			gvk := object.GroupVersionKind()
			if slices.Contains([]string{serviceGroup, workloadGroup, lateGroup}, gvk.Group) {
				seen[kind{gvk.Group, gvk.Kind}] = true
			}
		}
	}
	kinds := make([]kind, 0, len(seen))
	for k := range seen {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b kind) int { return strings.Compare(a.name(), b.name()) })
	return kinds, nil
}
