package watch

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/projection"
)

var (
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	betaDeployment = schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}
	runnerKind     = schema.GroupVersionKind{Group: "watch.example.com", Version: "v1", Kind: "Runner"}
	databaseKind   = schema.GroupVersionKind{Group: "watch.example.com", Version: "v1", Kind: "Database"}
)

func inShop(name string) binding.Key {
	return binding.KeyOf(binding.Specification, "shop", name)
}

// newBinding is a binding of a Database and a Deployment, changed as asked.
func newBinding(name string, change func(*binding.Binding)) *binding.Binding {
	b := &binding.Binding{
		Key:        inShop(name),
		Service:    binding.Reference{GroupVersionKind: databaseKind, Name: "db"},
		Workload:   binding.WorkloadReference{GroupVersionKind: deploymentKind, Name: "orders"},
		Projection: projection.Binding{UID: "uid-" + name},
	}
	if change != nil {
		change(b)
	}
	return b
}

func selects(set labels.Set) func(*binding.Binding) {
	return func(b *binding.Binding) {
		b.Workload.Name, b.Workload.Selector = "", labels.SelectorFromSet(set)
	}
}

func namesOf(bs []*binding.Binding) []string {
	var list []string
	for _, b := range bs {
		list = append(list, b.Key.Name)
	}
	return list
}

func TestIndexFindsTheBindingsOfAWorkload(t *testing.T) {
	t.Parallel()
	x := newIndex()
	for i, b := range []*binding.Binding{
		newBinding("newest", func(b *binding.Binding) { b.Created = time.Unix(9, 0) }),
		newBinding("named", nil),
		newBinding("old", func(b *binding.Binding) { b.Workload.GroupVersionKind = betaDeployment }),
		newBinding("app", selects(labels.Set{"app": "shop"})),
		newBinding("all", selects(nil)),
		newBinding("leaving", func(b *binding.Binding) { b.Deleting = time.Unix(1, 0) }),
		newBinding("other-name", func(b *binding.Binding) { b.Workload.Name = "carts" }),
		newBinding("other-kind", func(b *binding.Binding) { b.Workload.GroupVersionKind = runnerKind }),
		newBinding("other-namespace", func(b *binding.Binding) { b.Key.Namespace = "bank" }),
		newBinding("faulty", func(b *binding.Binding) { b.Workload.Name = "" }),
	} {
		if old := x.put(b); old != nil {
			t.Fatalf("binding %d replaces %s", i, old.Key)
		}
	}
	tests := []struct {
		reason string
		key    WorkloadKey
		labels labels.Set
		want   []string
	}{
		{
			reason: "by name, whatever the version, and by selector; the oldest first, then by name",
			key:    WorkloadKey{deploymentKind.GroupKind(), inShop("orders").NamespacedName}, labels: labels.Set{"app": "shop"},
			want: []string{"all", "app", "named", "old", "newest"},
		},
		{
			reason: "without the labels", key: WorkloadKey{deploymentKind.GroupKind(), inShop("orders").NamespacedName},
			want: []string{"all", "named", "old", "newest"},
		},
		{
			reason: "another name", key: WorkloadKey{deploymentKind.GroupKind(), inShop("carts").NamespacedName},
			want: []string{"all", "other-name"},
		},
		{
			reason: "another kind", key: WorkloadKey{runnerKind.GroupKind(), inShop("orders").NamespacedName},
			labels: labels.Set{"app": "shop"}, want: []string{"other-kind"},
		},
		{
			reason: "another namespace",
			key:    WorkloadKey{deploymentKind.GroupKind(), types.NamespacedName{Namespace: "bank", Name: "orders"}},
			labels: labels.Set{"app": "shop"}, want: []string{"other-namespace"},
		},
		{reason: "no name", key: WorkloadKey{deploymentKind.GroupKind(), inShop("").NamespacedName}, want: []string{"all"}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, namesOf(x.forWorkload(test.key, test.labels))); diff != "" {
				t.Errorf("forWorkload (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIndexListsTheMostStableVersionFirst(t *testing.T) {
	t.Parallel()
	x := newIndex()
	versions := func() []string {
		var list []string
		for _, kind := range x.versions(deploymentKind.GroupKind()) {
			list = append(list, kind.Version)
		}
		return list
	}
	if got := versions(); got != nil {
		t.Errorf("of a kind that nobody names there are versions %v", got)
	}
	for _, v := range []string{"v1alpha1", "v1beta2", "v2beta1", "v1", "v10", "v1beta1", "v2"} {
		x.put(newBinding(v, func(b *binding.Binding) { b.Workload.Version = v }))
	}
	x.put(newBinding("another", func(b *binding.Binding) { b.Workload.GroupVersionKind = runnerKind }))
	if diff := cmp.Diff([]string{"v10", "v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1"}, versions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	x.drop(inShop("v10"))
	if diff := cmp.Diff([]string{"v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1"}, versions()); diff != "" {
		t.Errorf("versions without the best (-want +got):\n%s", diff)
	}
}

func TestIndexTellsWhichKindsToWatch(t *testing.T) {
	t.Parallel()
	x := newIndex()
	x.put(newBinding("a", func(b *binding.Binding) { b.FormerKinds = []schema.GroupVersionKind{runnerKind} }))
	x.put(newBinding("b", func(b *binding.Binding) { b.Service.GroupVersionKind = deploymentKind }))
	x.put(newBinding("c", func(b *binding.Binding) { b.Service, b.Workload = binding.Reference{}, binding.WorkloadReference{} }))
	want := map[schema.GroupVersionKind]bool{
		deploymentKind: true, runnerKind: true, databaseKind: false, binding.SecretKind: false,
	}
	if diff := cmp.Diff(want, x.kinds()); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	x.drop(inShop("a"))
	delete(want, runnerKind)
	delete(want, databaseKind)
	if diff := cmp.Diff(want, x.kinds()); diff != "" {
		t.Errorf("kinds after one has gone (-want +got):\n%s", diff)
	}
}

// naive answers as an index does, by looking at everything.
type naive struct {
	bindings map[binding.Key]*binding.Binding
	secrets  map[binding.Key]string
}

func (n naive) forWorkload(key WorkloadKey, set labels.Set) []*binding.Binding {
	var found []*binding.Binding
	for _, b := range n.bindings {
		if b.Key.Namespace == key.Namespace && b.Deleting.IsZero() && b.Workload.Matches(key.Kind, key.Name, set) {
			found = append(found, b)
		}
	}
	slices.SortFunc(found, (*binding.Binding).Before)
	return found
}

func (n naive) kinds() map[schema.GroupVersionKind]bool {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, b := range n.bindings {
		kinds[b.Service.GroupVersionKind], kinds[binding.SecretKind] = false, false
	}
	for _, b := range n.bindings {
		for _, kind := range b.WorkloadKinds() {
			kinds[kind] = true
		}
	}
	return kinds
}

// where returns the bindings for which a question about them is answered with yes.
func (n naive) where(yes func(*binding.Binding) bool) []binding.Key {
	set := bindingSet{}
	for key, b := range n.bindings {
		if yes(b) {
			set[key] = struct{}{}
		}
	}
	return set.sorted()
}

// anyBinding draws a binding out of so few that they often meet.
func anyBinding(t *rapid.T) *binding.Binding {
	kinds := rapid.SampledFrom([]schema.GroupVersionKind{deploymentKind, betaDeployment, runnerKind})
	b := &binding.Binding{
		Key: binding.KeyOf(
			rapid.SampledFrom([]binding.API{binding.Specification, binding.Draft}).Draw(t, "API"),
			rapid.SampledFrom([]string{"shop", "bank"}).Draw(t, "namespace"),
			rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")),
		Created: time.Unix(rapid.Int64Range(0, 2).Draw(t, "created"), 0),
		Service: binding.Reference{
			GroupVersionKind: rapid.SampledFrom([]schema.GroupVersionKind{databaseKind, runnerKind, binding.SecretKind}).Draw(t, "service"),
			Name:             rapid.SampledFrom([]string{"x", "y"}).Draw(t, "service name"),
		},
		Workload: binding.WorkloadReference{GroupVersionKind: kinds.Draw(t, "workload")},
	}
	b.Projection.UID = fmt.Sprintf("%s-%d", b.Key, rapid.IntRange(0, 1).Draw(t, "uid"))
	if rapid.Bool().Draw(t, "selects") {
		b.Workload.Selector = labels.SelectorFromSet(anyLabels(t))
	} else {
		b.Workload.Name = rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "workload name")
	}
	if rapid.Bool().Draw(t, "moved") {
		b.FormerKinds = []schema.GroupVersionKind{kinds.Draw(t, "former")}
	}
	if rapid.Bool().Draw(t, "deleting") {
		b.Deleting = time.Unix(5, 0)
	}
	return b
}

func anyLabels(t *rapid.T) labels.Set {
	set := labels.Set{}
	for _, key := range []string{"app", "tier"} {
		if value := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, key); value != "" {
			set[key] = value
		}
	}
	return set
}

// TestIndexAgreesWithLookingAtEverything: whatever comes and goes, in whatever order.
func TestIndexAgreesWithLookingAtEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := newIndex()
		n := naive{bindings: map[binding.Key]*binding.Binding{}, secrets: map[binding.Key]string{}}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				b := anyBinding(t)
				if old := x.put(b); old != n.bindings[b.Key] {
					t.Fatalf("put returned %v", old)
				}
				n.bindings[b.Key] = b
				delete(n.secrets, b.Key)
			},
			"drop": func(t *rapid.T) {
				key := anyBinding(t).Key
				if old := x.drop(key); old != n.bindings[key] {
					t.Fatalf("drop returned %v", old)
				}
				delete(n.bindings, key)
				delete(n.secrets, key)
			},
			"secret": func(t *rapid.T) {
				if len(n.bindings) == 0 {
					t.Skip("no binding")
				}
				key := rapid.SampledFrom(n.where(func(*binding.Binding) bool { return true })).Draw(t, "binding")
				n.secrets[key] = rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(t, "secret")
				x.setSecret(key, n.secrets[key])
			},
			"": func(t *rapid.T) { agree(t, x, n) },
		})
		for _, key := range n.where(func(*binding.Binding) bool { return true }) {
			x.drop(key)
		}
		if diff := cmp.Diff(newIndex(), x, cmp.AllowUnexported(index{})); diff != "" {
			t.Fatalf("an index without bindings is not empty (-want +got):\n%s", diff)
		}
	})
}

func agree(t *rapid.T, x *index, n naive) {
	set := anyLabels(t)
	for _, namespace := range []string{"shop", "bank"} {
		for _, name := range []string{"x", "y"} {
			at := types.NamespacedName{Namespace: namespace, Name: name}
			for _, kind := range []schema.GroupKind{deploymentKind.GroupKind(), runnerKind.GroupKind()} {
				want, got := n.forWorkload(WorkloadKey{kind, at}, set), x.forWorkload(WorkloadKey{kind, at}, set)
				if !slices.Equal(want, got) {
					t.Fatalf("bindings of %s %s with %v: %v, want %v", kind, at, set, namesOf(got), namesOf(want))
				}
			}
			agreeOnServices(t, x, n, at)
		}
	}
	if diff := cmp.Diff(n.kinds(), x.kinds()); diff != "" {
		t.Fatalf("kinds (-want +got):\n%s", diff)
	}
	uids := map[string]binding.Key{}
	for key, b := range n.bindings {
		uids[b.Projection.UID] = key
	}
	if !maps.Equal(uids, x.byUID) {
		t.Fatalf("by UID: %v, want %v", x.byUID, uids)
	}
}

func agreeOnServices(t *rapid.T, x *index, n naive, at types.NamespacedName) {
	for _, kind := range []schema.GroupKind{databaseKind.GroupKind(), runnerKind.GroupKind(), binding.SecretKind.GroupKind()} {
		want := n.where(func(b *binding.Binding) bool { return serviceKey(b) == ServiceKey{kind, at} })
		if got := x.services[ServiceKey{kind, at}].sorted(); !slices.Equal(want, got) {
			t.Fatalf("bindings of service %s %s: %v, want %v", kind, at, got, want)
		}
	}
	for _, secret := range []string{"s1", "s2"} {
		want := n.where(func(b *binding.Binding) bool { return b.Key.Namespace == at.Namespace && n.secrets[b.Key] == secret })
		if got := x.secrets[types.NamespacedName{Namespace: at.Namespace, Name: secret}].sorted(); !slices.Equal(want, got) {
			t.Fatalf("bindings of Secret %s: %v, want %v", secret, got, want)
		}
	}
}
