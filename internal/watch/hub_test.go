package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/service"
)

var (
	serviceBinding    = bindingv1.GroupVersion.WithKind("ServiceBinding")
	mappingKind       = bindingv1.GroupVersion.WithKind("ClusterWorkloadResourceMapping")
	statefulSetKind   = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	secretKind        = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	definitionOfKinds = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// The texts of the objects most tests use.

func secretText(name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s}, stringData: {password: swordfish}}", name)
}

func bindingText(name string, from, to schema.GroupVersionKind) string {
	return fmt.Sprintf(`
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: %s}
spec:
  service: {apiVersion: %s, kind: %s, name: db}
  workload: {apiVersion: %s, kind: %s, name: orders}
`, name, from.GroupVersion(), from.Kind, to.GroupVersion(), to.Kind)
}

func deploymentText(name string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %s
  labels: {app: shop}
  annotations: {example.com/note: written-by-hand}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - name: main
        image: example.com/main:1
        command: [run, --token, marlin]
        env: [{name: PGPASSWORD, value: tuna}]
`, name)
}

// key names an object of the scene as a workload.
func (s *scene) key(kind schema.GroupVersionKind, name string) WorkloadKey {
	return WorkloadKey{kind.GroupKind(), types.NamespacedName{Namespace: s.ns, Name: name}}
}

// workload waits until a workload in memory is as wanted, and returns it as JSON.
func (s *scene) workload(key WorkloadKey, what string, wanted func(Workload) bool) string {
	s.t.Helper()
	var text string
	s.eventually(fmt.Sprintf("%s %s %s", key.Kind.Kind, key.Name, what), func() string {
		w, ok, err := s.hub.Workload(key)
		data, problem := json.Marshal(w.Object)
		if problem != nil {
			s.t.Fatal(problem)
		}
		text = string(data)
		if err != nil || !ok || !wanted(w) {
			return fmt.Sprintf("there: %v, error: %v, object: %s", ok, err, text)
		}
		return ""
	})
	return text
}

func asItIs(Workload) bool { return true }

// fault waits until the workloads of a binding cannot be looked at for a reason, or can, for 0.
func (s *scene) fault(name string, want Fault) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("the workloads of %s have fault %d", name, want), func() string {
		b := s.hub.Binding(binding.KeyOf(binding.Specification, s.ns, name))
		if b == nil {
			return "it is unknown"
		}
		_, err := s.hub.WorkloadsOf(b)
		var fault *KindError
		if want == 0 && err == nil || errors.As(err, &fault) && fault.Fault == want {
			return ""
		}
		return fmt.Sprintf("error %v", err)
	})
}

// longRunning returns how many watches of a resource the API server itself counts.
func longRunning(t *testing.T, resource string) string {
	t.Helper()
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	text, err := clients.RESTClient().Get().AbsPath("/metrics").DoRaw(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{[^}]*resource="` + resource + `"[^}]*verb="WATCH"[^}]*\} (\S+)$`)
	found := line.FindSubmatch(text)
	if found == nil {
		return "0"
	}
	return string(found[1])
}

type informerStep struct {
	reason string
	do     func(*scene)
	want   map[string]int // the open watches
	scope  []string
}

func informerSteps() []informerStep {
	return []informerStep{
		{
			reason: "the first binding starts its kinds",
			do:     func(s *scene) { s.create(bindingText("a", secretKind, deploymentKind)) },
			want:   always("deployments.apps", "secrets"), scope: []string{"deployments"},
		},
		{
			reason: "a second one of the same kinds starts none",
			do:     func(s *scene) { s.create(bindingText("b", secretKind, deploymentKind)) },
			want:   always("deployments.apps", "secrets"), scope: []string{"deployments"},
		},
		{
			reason: "another kind comes along",
			do:     func(s *scene) { s.create(bindingText("c", secretKind, statefulSetKind)) },
			want:   always("deployments.apps", "statefulsets.apps", "secrets"), scope: []string{"deployments", "statefulsets"},
		},
		{
			reason: "it goes with its last binding",
			do:     func(s *scene) { s.remove(serviceBinding, "c") },
			want:   always("deployments.apps", "secrets"), scope: []string{"deployments"},
		},
		{
			reason: "an edit moves to another kind, while one stays",
			do:     func(s *scene) { s.merge(serviceBinding, "b", `{"spec":{"workload":{"kind":"StatefulSet"}}}`) },
			want:   always("deployments.apps", "statefulsets.apps", "secrets"), scope: []string{"deployments", "statefulsets"},
		},
		{
			reason: "the one that stayed goes",
			do:     func(s *scene) { s.remove(serviceBinding, "a") },
			want:   always("statefulsets.apps", "secrets"), scope: []string{"statefulsets"},
		},
		{reason: "with the last binding all stop", do: func(s *scene) { s.remove(serviceBinding, "b") }, want: always()},
	}
}

func TestInformersAreThoseOfTheKindsThatBindingsName(t *testing.T) {
	s := newScene(t)
	s.grant("apps", "deployments")
	s.grant("apps", "statefulsets")
	s.grant("", "secrets")
	s.watching(always())
	for _, step := range informerSteps() {
		t.Log(step.reason)
		step.do(s)
		s.watching(step.want)
		s.eventually("the scope is that of the bindings", func() string {
			resources, namespaces := s.hub.Scope()
			var names, in []string
			for _, r := range resources {
				names = append(names, r.Resource)
			}
			if step.scope != nil {
				in = []string{s.ns}
			}
			return cmp.Diff(step.scope, names) + cmp.Diff(in, namespaces)
		})
		for _, resource := range []string{"deployments", "statefulsets"} {
			want := strconv.Itoa(step.want[resource+".apps"])
			s.eventually("the API server counts as many", func() string { return cmp.Diff(want, longRunning(t, resource)) })
		}
	}
	if !s.hub.Settled() {
		t.Error("a hub without bindings is not settled")
	}
}

// resolves waits until a binding's Secret is known, or why it is not.
func (s *scene) resolves(name, secret, reason string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("the Secret of %s is %s %s", name, secret, reason), func() string {
		b := s.hub.Binding(binding.KeyOf(binding.Specification, s.ns, name))
		if b == nil {
			return "the binding is unknown"
		}
		got, err := s.hub.Secret(b)
		unavailable := &service.Unavailable{}
		if err != nil && !errors.As(err, &unavailable) || got != secret || unavailable.Reason != reason {
			return fmt.Sprintf("%q, %v", got, err)
		}
		return ""
	})
}

// isTold waits until a binding is reported as changed.
func (s *scene) isTold(name string) {
	s.t.Helper()
	s.eventually("a change of "+name+" is told", func() string {
		if _, bindings := s.told.take(); !slices.Contains(bindings, name) {
			return fmt.Sprintf("only %v", bindings)
		}
		return ""
	})
}

func TestSecretsAreOnlyEverMetadata(t *testing.T) {
	s := newScene(t)
	s.grant("apps", "deployments")
	s.grant("", "secrets")
	s.create(secretText("other"))
	s.create(bindingText("a", secretKind, deploymentKind))
	s.resolves("a", "db", service.ReasonSecretNotFound)
	s.told.take()
	s.create(secretText("db"))
	s.resolves("a", "db", "")
	s.isTold("a")
	accepts, leaked := s.tap.heard("swordfish")
	if len(accepts) == 0 {
		t.Error("no request for Secrets was seen")
	}
	if _, seen := s.tap.heard("other"); !seen {
		t.Error("no answer about Secrets was seen")
	}
	for _, accept := range accepts {
		if first, _, _ := strings.Cut(accept, ","); !strings.Contains(first, "as=PartialObjectMetadata") {
			t.Errorf("Secrets were asked for as %q", accept)
		}
	}
	if leaked {
		t.Error("the API server sent the value of a Secret")
	}
}

func TestMemoryHoldsNoValues(t *testing.T) {
	s := newScene(t)
	s.define(databaseKind)
	s.grant(databaseKind.Group, "databases")
	s.grant("apps", "deployments")
	s.create(deploymentText("orders"))
	s.create(fmt.Sprintf("{apiVersion: %s, kind: Database, metadata: {name: db}, spec: {password: marlin}, status: {binding: {name: db-a}}}",
		databaseKind.GroupVersion()))
	s.merge(databaseKind, "db", `{"status":{"binding":{"name":"db-a"},"endpoint":"tuna"}}`, "status")
	s.create(bindingText("a", databaseKind, deploymentKind))

	text := s.workload(s.key(deploymentKind, "orders"), "is in memory", asItIs)
	for _, needed := range []string{"PGPASSWORD", `"main"`, "shop"} {
		if !strings.Contains(text, needed) {
			t.Errorf("%s is needed and not kept: %s", needed, text)
		}
	}
	s.resolves("a", "db-a", "")
	for _, refused := range []string{"tuna", "marlin", "example.com/main:1", "managedFields", "written-by-hand", "endpoint"} {
		for _, kept := range s.memory() {
			if strings.Contains(kept, refused) {
				t.Errorf("%s is kept: %s", refused, kept)
			}
		}
	}
}

// memory returns everything that the hub holds of services and workloads, as JSON.
func (s *scene) memory() []string {
	s.t.Helper()
	s.hub.mu.RLock()
	defer s.hub.mu.RUnlock()
	var all []string
	for kind := range s.hub.feeds {
		objects, err := s.hub.objects(kind)
		if err != nil {
			continue
		}
		for _, item := range objects.List() {
			data, err := json.Marshal(item)
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, string(data))
		}
	}
	return all
}

func TestWhatMattersNotIsNotTold(t *testing.T) {
	s := newScene(t)
	s.grant("apps", "deployments")
	s.grant("", "secrets")
	s.create(deploymentText("orders"))
	s.create(deploymentText("carts"))
	s.create(bindingText("a", secretKind, deploymentKind))
	s.workload(s.key(deploymentKind, "orders"), "is in memory", asItIs)
	s.workload(s.key(deploymentKind, "carts"), "is in memory", asItIs)
	s.eventually("the hub is settled", func() string {
		if !s.hub.Settled() {
			return "it is not"
		}
		return ""
	})
	s.told.take()
	s.merge(deploymentKind, "carts", `{"metadata":{"labels":{"app":"bank"}}}`)
	s.merge(deploymentKind, "orders", `{"status":{"replicas":1}}`, "status")
	s.merge(deploymentKind, "orders", `{"spec":{"replicas":5}}`)
	s.merge(deploymentKind, "orders", `{"metadata":{"labels":{"tier":"back"}}}`)
	s.workload(s.key(deploymentKind, "orders"), "has the new label", func(w Workload) bool { return w.Labels()["tier"] == "back" })
	var workloads, bindings []string
	s.eventually("the new label is told", func() string {
		w, b := s.told.take()
		workloads, bindings = append(workloads, w...), append(bindings, b...)
		return cmp.Diff([]string{"a"}, bindings)
	})
	if diff := cmp.Diff([]string{"Deployment orders"}, workloads); diff != "" {
		t.Errorf("of four changes one matters (-want +got):\n%s", diff)
	}
}

func TestAnotherMappingReadsAnew(t *testing.T) {
	s := newScene(t)
	s.define(runnerKind)
	s.grant(runnerKind.Group, "runners")
	s.grant("", "secrets")
	s.create(fmt.Sprintf(`
apiVersion: %s
kind: Runner
metadata: {name: orders}
spec:
  boxes: [{title: main, settings: [{name: PGUSER, value: tuna}]}]
  template: {spec: {containers: [{name: other, env: [{name: HOME, value: marlin}]}]}}
`, runnerKind.GroupVersion()))
	s.create(bindingText("a", secretKind, runnerKind))
	key := s.key(runnerKind, "orders")
	has := func(fields ...string) func(Workload) bool {
		return func(w Workload) bool {
			list, _, err := unstructured.NestedSlice(w.Object, fields...)
			return len(list) > 0 && err == nil
		}
	}
	pods, boxes := has("spec", "template", "spec", "containers"), has("spec", "boxes")
	before := s.workload(key, "is read with the default mapping", func(w Workload) bool { return pods(w) && !boxes(w) })
	if strings.Contains(before, "PGUSER") {
		t.Errorf("the default mapping does not need: %s", before)
	}
	s.create(mappingText("boxes"))
	after := s.workload(key, "is read with its mapping", boxes)
	if !strings.Contains(after, "PGUSER") || strings.Contains(after, "tuna") || strings.Contains(after, "marlin") {
		t.Errorf("of a box, the names of its settings are kept, and no value: %s", after)
	}
	mapping, err := s.hub.Mapping(runnerKind)
	if err != nil || mapping == nil {
		t.Fatalf("Mapping() = %v, %v", mapping, err)
	}
	s.remove(mappingKind, "runners.watch.example.com")
	s.workload(key, "is read with the default mapping again", func(w Workload) bool { return pods(w) && !boxes(w) })
	s.watching(always("runners.watch.example.com", "secrets"))
}

func mappingText(list string) string {
	return fmt.Sprintf(`
apiVersion: servicebinding.io/v1
kind: ClusterWorkloadResourceMapping
metadata: {name: runners.watch.example.com}
spec:
  versions:
  - version: "*"
    annotations: .spec.notes
    containers: [{path: '.spec.%s[*]', name: .title, env: .settings, volumeMounts: .mounts}]
    volumes: .spec.volumes
`, list)
}

func TestAKindComesAndGoes(t *testing.T) {
	s := newScene(t)
	s.grant(runnerKind.Group, "runners")
	s.grant("", "secrets")
	s.create(bindingText("a", secretKind, runnerKind))
	s.fault("a", NoSuchKind)
	if _, _, err := s.hub.Workload(s.key(runnerKind, "orders")); err == nil {
		t.Error("a workload of a kind that is not served is looked for without an error")
	}
	s.define(runnerKind)
	s.fault("a", 0)
	s.watching(always("runners.watch.example.com", "secrets"))
	s.remove(definitionOfKinds, "runners.watch.example.com")
	s.fault("a", NoSuchKind)
	s.watching(always("secrets"))
}

func TestAMissingPermissionHeals(t *testing.T) {
	s := newScene(t)
	s.create(deploymentText("orders"))
	s.create(bindingText("a", secretKind, deploymentKind))
	s.fault("a", Forbidden)
	s.watching(always())
	b := s.hub.Binding(binding.KeyOf(binding.Specification, s.ns, "a"))
	_, err := s.hub.WorkloadsOf(b)
	var fault *KindError
	want := &KindError{Kind: deploymentKind, Resource: deploymentKind.GroupVersion().WithResource("deployments"), Fault: Forbidden}
	if !errors.As(err, &fault) || *fault != *want {
		t.Errorf("WorkloadsOf() error = %v, want %v", err, want)
	}
	if _, forbidden, err := s.hub.Bearing(b); err != nil || len(forbidden) != 1 {
		t.Errorf("Bearing() = %v, %v; want the one kind that Bowline may not see", forbidden, err)
	}
	s.eventually("the Secret may not be looked for", func() string {
		if _, err := s.hub.Secret(b); !errors.As(err, &fault) || fault.Fault != Forbidden || fault.Kind != secretKind {
			return fmt.Sprint(err)
		}
		return ""
	})
	s.told.take()
	s.grant("apps", "deployments")
	s.fault("a", 0)
	s.workload(s.key(deploymentKind, "orders"), "is in memory", asItIs)
	s.isTold("a")
	s.watching(always("deployments.apps"))
}

func TestAClusterScopedKindIsNone(t *testing.T) {
	s := newScene(t)
	s.create(bindingText("a", secretKind, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}))
	s.fault("a", NotNamespaced)
	s.watching(always())
	resources, namespaces := s.hub.Scope()
	if len(resources) > 1 || !slices.Equal(namespaces, []string{s.ns}) {
		t.Errorf("Scope() = %v, %v", resources, slices.Collect(maps.Keys(s.tap.open())))
	}
}

func TestAVersionThatIsNotServedIsNoMatterToOthers(t *testing.T) {
	s := newScene(t)
	s.grant("apps", "deployments")
	s.grant("", "secrets")
	s.create(deploymentText("orders"))
	s.create(bindingText("a", secretKind, deploymentKind))
	s.create(bindingText("b", secretKind, schema.GroupVersionKind{Group: "apps", Version: "v9", Kind: "Deployment"}))
	s.fault("b", NoSuchKind)
	s.fault("a", 0)
	s.workload(s.key(deploymentKind, "orders"), "is in memory", asItIs)
	s.watching(always("deployments.apps", "secrets"))
}
