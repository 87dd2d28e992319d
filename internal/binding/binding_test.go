package binding_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/projection"
)

var (
	deployment  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	statefulSet = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	postgres    = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Postgres"}
)

// full returns a binding in which every field that the model takes over is set.
func full() *bindingv1.ServiceBinding {
	return valid(func(b *bindingv1.ServiceBinding) {
		b.UID, b.Generation, b.ResourceVersion = "u1", 3, "17"
		b.CreationTimestamp = metav1.NewTime(time.Unix(100, 0))
		b.DeletionTimestamp = &metav1.Time{Time: time.Unix(200, 0)}
		b.Finalizers = []string{"example.com/other", binding.Finalizer}
		b.Annotations = map[string]string{binding.WorkloadKindsAnnotation: "StatefulSet.v1.apps"}
		b.Spec.Name, b.Spec.Type, b.Spec.Provider = "db", "postgresql", "example"
		b.Spec.Workload.Containers = []string{"main"}
		b.Spec.Env = []bindingv1.EnvMapping{{Name: "PGUSER", Key: "username"}}
		b.Status.Binding = &bindingv1.ServiceBindingSecretReference{Name: "db-a"}
	})
}

func TestFromV1(t *testing.T) {
	t.Parallel()
	from := full()
	before := from.DeepCopy()
	want := &binding.Binding{
		Key:             binding.KeyOf(binding.Specification, "shop", "orders-db"),
		Created:         time.Unix(100, 0),
		Generation:      3,
		ResourceVersion: "17",
		Deleting:        time.Unix(200, 0),
		Finalized:       true,
		Service:         binding.Reference{GroupVersionKind: postgres, Name: "db"},
		Workload:        binding.WorkloadReference{GroupVersionKind: deployment, Name: "orders"},
		FormerKinds:     []schema.GroupVersionKind{statefulSet},
		Projection: projection.Binding{
			UID: "u1", Name: "db", Type: "postgresql", Provider: "example", Containers: []string{"main"},
			Env: []projection.Env{{Name: "PGUSER", Key: "username"}},
		},
		Status: bindingv1.ServiceBindingStatus{Binding: &bindingv1.ServiceBindingSecretReference{Name: "db-a"}},
	}
	got := binding.FromV1(from)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("FromV1() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]schema.GroupVersionKind{deployment, statefulSet}, got.WorkloadKinds()); diff != "" {
		t.Errorf("WorkloadKinds() (-want +got):\n%s", diff)
	}
	got.Projection.Containers[0], got.Projection.Env[0].Name = "changed", "CHANGED"
	if diff := cmp.Diff(before, from); diff != "" {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
}

func TestFromV1NamesTheBindingAfterTheObject(t *testing.T) {
	t.Parallel()
	got := binding.FromV1(valid(nil))
	if got.Projection.Name != "orders-db" {
		t.Errorf("the projection is called %q, want the object's name, since spec.name is empty", got.Projection.Name)
	}
	if got.Finalized || !got.Deleting.IsZero() || got.Fault != nil || got.FormerKinds != nil {
		t.Errorf("a new binding is %+v", got)
	}
}

// TestFromV1KeepsWhatUnbindingNeeds: a binding with a fault can still be found, and let go.
func TestFromV1KeepsWhatUnbindingNeeds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		change func(*bindingv1.ServiceBinding)
		kinds  []schema.GroupVersionKind
	}{
		{
			reason: "neither name nor selector", change: func(b *bindingv1.ServiceBinding) { b.Spec.Workload.Name = "" },
			kinds: []schema.GroupVersionKind{deployment, statefulSet},
		},
		{
			reason: "no kind", change: func(b *bindingv1.ServiceBinding) { b.Spec.Workload.Kind = "" },
			kinds: []schema.GroupVersionKind{statefulSet},
		},
		{
			reason: "an apiVersion that is none", change: func(b *bindingv1.ServiceBinding) { b.Spec.Workload.APIVersion = "a/b/c" },
			kinds: []schema.GroupVersionKind{statefulSet},
		},
		{
			reason: "a selector that does not parse",
			change: selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}),
			kinds:  []schema.GroupVersionKind{deployment, statefulSet},
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			from := full()
			test.change(from)
			got := binding.FromV1(from)
			if got.Fault == nil {
				t.Error("there is no fault")
			}
			if got.Key.Name != "orders-db" || got.Deleting.IsZero() || !got.Finalized || got.Projection.UID != "u1" {
				t.Errorf("the model lacks what unbinding needs: %+v", got)
			}
			if diff := cmp.Diff(test.kinds, got.WorkloadKinds()); diff != "" {
				t.Errorf("WorkloadKinds() (-want +got):\n%s", diff)
			}
			if got.Workload.Matches(deployment.GroupKind(), "", nil) {
				t.Error("a binding with a fault matches a workload")
			}
		})
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	kind := deployment.GroupKind()
	named := binding.WorkloadReference{GroupVersionKind: deployment, Name: "orders"}
	selected := binding.WorkloadReference{
		GroupVersionKind: deployment, Selector: labels.SelectorFromSet(labels.Set{"app": "shop"}),
	}
	all := binding.WorkloadReference{GroupVersionKind: deployment, Selector: labels.Everything()}
	tests := []struct {
		reason string
		ref    binding.WorkloadReference
		kind   schema.GroupKind
		name   string
		labels labels.Set
		want   bool
	}{
		{reason: "the name", ref: named, kind: kind, name: "orders", want: true},
		{reason: "another name", ref: named, kind: kind, name: "carts"},
		{reason: "another kind", ref: named, kind: statefulSet.GroupKind(), name: "orders"},
		{reason: "the kind of another group", ref: named, kind: schema.GroupKind{Group: "example.com", Kind: "Deployment"}, name: "orders"},
		{reason: "the labels", ref: selected, kind: kind, name: "any", labels: labels.Set{"app": "shop", "tier": "back"}, want: true},
		{reason: "other labels", ref: selected, kind: kind, name: "any", labels: labels.Set{"app": "bank"}},
		{reason: "no labels", ref: selected, kind: kind, name: "any"},
		{reason: "the labels on another kind", ref: selected, kind: statefulSet.GroupKind(), labels: labels.Set{"app": "shop"}},
		{reason: "an empty selector selects all", ref: all, kind: kind, name: "any", want: true},
		{reason: "an empty name names nothing", ref: binding.WorkloadReference{GroupVersionKind: deployment}, kind: kind},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			if got := test.ref.Matches(test.kind, test.name, test.labels); got != test.want {
				t.Errorf("Matches() = %v, want %v", got, test.want)
			}
		})
	}
}

func TestBefore(t *testing.T) {
	t.Parallel()
	at := func(second int64, namespace, name string) *binding.Binding {
		return &binding.Binding{Created: time.Unix(second, 0), Key: binding.KeyOf(binding.Specification, namespace, name)}
	}
	want := []*binding.Binding{at(1, "b", "z"), at(2, "a", "a"), at(2, "a", "b"), at(2, "b", "a"), at(3, "a", "a")}
	rapid.Check(t, func(t *rapid.T) {
		got := rapid.Permutation(want).Draw(t, "order")
		slices.SortFunc(got, (*binding.Binding).Before)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("sorted (-want +got):\n%s", diff)
		}
	})
	if c := want[0].Before(at(1, "b", "z")); c != 0 {
		t.Errorf("a binding comes %d of itself", c)
	}
}

// anyKinds draws kinds as an API server can serve them.
func anyKinds() *rapid.Generator[[]schema.GroupVersionKind] {
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) schema.GroupVersionKind {
		return schema.GroupVersionKind{
			Group:   rapid.StringMatching(`([a-z][a-z0-9-]{0,4}[a-z0-9](\.[a-z0-9]{1,4}){0,3})?`).Draw(t, "group"),
			Version: rapid.StringMatching(`v[1-9]((alpha|beta)[1-9])?`).Draw(t, "version"),
			Kind:    rapid.StringMatching(`[A-Z][A-Za-z0-9]{0,8}`).Draw(t, "kind"),
		}
	}))
}

func TestKindsSurviveTheAnnotation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kinds := anyKinds().Draw(t, "kinds")
		before := slices.Clone(kinds)
		text := binding.FormatKinds(kinds)
		if diff := cmp.Diff(before, kinds); diff != "" {
			t.Fatalf("FormatKinds changed its argument (-before +after):\n%s", diff)
		}
		got := binding.ParseKinds(text)
		wanted := map[schema.GroupVersionKind]bool{}
		for _, kind := range kinds {
			wanted[kind] = true
		}
		found := map[schema.GroupVersionKind]bool{}
		for _, kind := range got {
			found[kind] = true
		}
		if diff := cmp.Diff(wanted, found); diff != "" || len(got) != len(wanted) {
			t.Fatalf("ParseKinds(%q) = %v (-want +got):\n%s", text, got, diff)
		}
		if again := binding.FormatKinds(got); again != text {
			t.Fatalf("FormatKinds is %q, then %q", text, again)
		}
	})
}

func TestParseKindsLeavesOutWhatItCannotRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason, list string
		want         []schema.GroupVersionKind
	}{
		{reason: "no annotation"},
		{reason: "edited by hand", list: ",nonsense,,Deployment.v1.apps, ,x.", want: []schema.GroupVersionKind{deployment}},
		{reason: "out of order and twice", list: "StatefulSet.v1.apps,Deployment.v1.apps,StatefulSet.v1.apps",
			want: []schema.GroupVersionKind{deployment, statefulSet}},
		{reason: "of the core group", list: "Pod.v1.", want: []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, binding.ParseKinds(test.list)); diff != "" {
				t.Errorf("ParseKinds(%q) (-want +got):\n%s", test.list, diff)
			}
		})
	}
}
