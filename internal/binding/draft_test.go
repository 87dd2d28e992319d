package binding_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/projection"
)

type draftChange func(*draftv1alpha1.ServiceBinding)

// draft returns a binding of the early draft that breaks no rule, changed as asked.
func draft(change draftChange) *draftv1alpha1.ServiceBinding {
	b := &draftv1alpha1.ServiceBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "orders-db", Namespace: "shop"},
		Spec: draftv1alpha1.ServiceBindingSpec{
			Application: draftv1alpha1.ApplicationReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "orders"},
			Service:     draftv1alpha1.ObjectReference{APIVersion: "example.com/v1", Kind: "Postgres", Name: "db"},
		},
	}
	if change != nil {
		change(b)
	}
	return b
}

func TestFromDraft(t *testing.T) {
	t.Parallel()
	from := draft(func(b *draftv1alpha1.ServiceBinding) {
		b.UID, b.Generation, b.ResourceVersion = "u1", 3, "17"
		b.CreationTimestamp = metav1.NewTime(time.Unix(100, 0))
		b.DeletionTimestamp = &metav1.Time{Time: time.Unix(200, 0)}
		b.Finalizers = []string{binding.Finalizer}
		b.Annotations = map[string]string{
			binding.WorkloadKindsAnnotation: "StatefulSet.v1.apps", binding.EnvAnnotation: "all", binding.RequesterAnnotation: "{}",
		}
		b.Spec.Name, b.Spec.Type, b.Spec.Provider = "db", "postgresql", "example"
		b.Spec.Application.Containers = []intstr.IntOrString{intstr.FromString("main"), intstr.FromInt32(2), intstr.FromString("1")}
		b.Spec.Mappings = []draftv1alpha1.Mapping{{Name: "uri", Value: "pg://((host))"}}
		b.Spec.Env = []draftv1alpha1.EnvVar{{Name: "PGUSER", Value: "((username))"}}
		b.Status.Binding = &bindingv1.ServiceBindingSecretReference{Name: "db-a"}
	})
	before := from.DeepCopy()
	want := &binding.Binding{
		Key: binding.KeyOf(binding.Draft, "shop", "orders-db"), Created: time.Unix(100, 0), Generation: 3,
		ResourceVersion: "17", Deleting: time.Unix(200, 0), Finalized: true,
		Service:     binding.Reference{GroupVersionKind: postgres, Name: "db"},
		Workload:    binding.WorkloadReference{GroupVersionKind: deployment, Name: "orders"},
		FormerKinds: []schema.GroupVersionKind{statefulSet},
		Projection: projection.Binding{
			UID: "u1", Name: "db", Type: "postgresql", Provider: "example",
			Containers: []string{"main", "1"}, ContainerIndexes: []int{2},
		},
		Composition: &binding.Composition{
			Mappings: []binding.NamedValue{{Name: "uri", Value: "pg://((host))"}},
			Env:      []binding.NamedValue{{Name: "PGUSER", Value: "((username))"}},
		},
		Options:   map[string]string{binding.EnvAnnotation: "all"},
		Requester: "{}",
		Status:    bindingv1.ServiceBindingStatus{Binding: &bindingv1.ServiceBindingSecretReference{Name: "db-a"}},
	}
	if diff := cmp.Diff(want, binding.FromDraft(from)); diff != "" {
		t.Errorf("FromDraft() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, from); diff != "" {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
}

func TestFromDraftParts(t *testing.T) {
	t.Parallel()
	app := map[string]string{"app": "orders"}
	plain := func(change func(*binding.Binding)) *binding.Binding {
		b := binding.FromDraft(draft(nil))
		change(b)
		return b
	}
	tests := []struct {
		reason string
		change draftChange
		want   *binding.Binding
	}{
		{
			reason: "the older spelling of type", change: func(b *draftv1alpha1.ServiceBinding) { b.Spec.Kind = "database" },
			want: plain(func(b *binding.Binding) { b.Projection.Type = "database" }),
		},
		{
			reason: "type goes before it", change: func(b *draftv1alpha1.ServiceBinding) { b.Spec.Kind, b.Spec.Type = "a", "b" },
			want: plain(func(b *binding.Binding) { b.Projection.Type = "b" }),
		},
		{
			reason: "a selector", change: selectingDraft(&metav1.LabelSelector{MatchLabels: app}),
			want: plain(func(b *binding.Binding) { b.Workload.Name, b.Workload.Selector = "", labels.SelectorFromSet(app) }),
		},
		{
			reason: "a fault: nothing is matched, what unbinding needs is there", change: selectingDraft(nil),
			want: plain(func(b *binding.Binding) { b.Workload.Name, b.Fault = "", cmpopts.AnyError }),
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			equal := cmp.Comparer(func(a, b labels.Selector) bool { return a == nil && b == nil || a.String() == b.String() })
			if diff := cmp.Diff(test.want, binding.FromDraft(draft(test.change)), cmpopts.EquateErrors(), equal); diff != "" {
				t.Errorf("FromDraft() (-want +got):\n%s", diff)
			}
		})
	}
	if got := binding.FromDraft(draft(nil)); got.Composition != nil || got.Projection.Name != "orders-db" {
		t.Errorf("a binding without mappings, env and name is %+v", got)
	}
}

func selectingDraft(selector *metav1.LabelSelector) draftChange {
	return func(b *draftv1alpha1.ServiceBinding) {
		b.Spec.Application.Name, b.Spec.Application.Selector = "", selector
	}
}

type draftCase struct {
	reason string
	change draftChange
	want   []string
}

// inSpec changes the spec alone.
func inSpec(change func(*draftv1alpha1.ServiceBindingSpec)) draftChange {
	return func(b *draftv1alpha1.ServiceBinding) { change(&b.Spec) }
}

func draftObjectCases() []draftCase {
	type spec = draftv1alpha1.ServiceBindingSpec
	const at = "spec.application."
	return []draftCase{
		{reason: "nothing optional is needed"},
		{
			reason: "a directory has rules", change: inSpec(func(s *spec) { s.Name = "a/b" }), want: []string{invalid + "spec.name"},
		},
		{
			reason: "the object's name stands in", change: func(b *draftv1alpha1.ServiceBinding) { b.Name = "Orders" },
			want: []string{invalid + "metadata.name"},
		},
		{
			reason: "overrides become annotations", change: inSpec(func(s *spec) { s.Type, s.Kind, s.Provider = "\n", "\n", "\n" }),
			want: []string{invalid + "spec.type", invalid + "spec.kind", invalid + "spec.provider"},
		},
		{reason: "neither name nor selector", change: selectingDraft(nil), want: []string{required + at + "name"}},
		{
			reason: "an empty selector", change: selectingDraft(&metav1.LabelSelector{}), want: []string{required + at + "selector"},
		},
		{
			reason: "name and selector", want: []string{forbidden + at + "selector"},
			change: inSpec(func(s *spec) {
				s.Application.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
			}),
		},
	}
}

func draftListCases() []draftCase {
	type spec = draftv1alpha1.ServiceBindingSpec
	const at = "spec.application."
	return []draftCase{
		{
			reason: "containers are names or positions", want: []string{invalid + at + "containers[2]", required + at + "containers[3]"},
			change: inSpec(func(s *spec) {
				s.Application.Containers = []intstr.IntOrString{
					intstr.FromString("a"), intstr.FromInt32(0), intstr.FromInt32(-1), intstr.FromString(""),
				}
			}),
		},
		{
			reason: "what governs the cluster is not bound", want: []string{forbidden + at + "apiVersion", forbidden + "spec.service.apiVersion"},
			change: inSpec(func(s *spec) {
				s.Application.APIVersion, s.Service.APIVersion = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1"
			}),
		},
		{
			reason: "a service is named", change: inSpec(func(s *spec) { s.Service.Name = "" }),
			want: []string{required + "spec.service.name"},
		},
		{
			reason: "entries are keys, each made once",
			want: []string{
				required + "spec.mappings[0].name", invalid + "spec.mappings[1].name", duplicate + "spec.mappings[3].name",
			},
			change: inSpec(func(s *spec) {
				s.Mappings = []draftv1alpha1.Mapping{{}, {Name: "a/b"}, {Name: "a"}, {Name: "a"}}
			}),
		},
		{
			reason: "variables are named, each once, and not the root",
			want:   []string{required + "spec.env[0].name", invalid + "spec.env[1].name", duplicate + "spec.env[3].name"},
			change: inSpec(func(s *spec) {
				s.Env = []draftv1alpha1.EnvVar{{}, {Name: "SERVICE_BINDING_ROOT"}, {Name: "A"}, {Name: "A"}}
			}),
		},
	}
}

func TestValidateDraft(t *testing.T) {
	t.Parallel()
	for _, test := range slices.Concat(draftObjectCases(), draftListCases()) {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			errs := binding.ValidateDraft(draft(test.change))
			if diff := cmp.Diff(test.want, broken(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
			if got := binding.NewErrors(binding.ValidateDraft(draft(test.change)), binding.ValidateDraft(draft(test.change))); len(got) > 0 {
				t.Errorf("what was broken before counts on update: %v", got.ToAggregate())
			}
			if diff := cmp.Diff(test.want, broken(binding.NewErrors(binding.ValidateDraft(draft(test.change)), binding.ValidateDraft(draft(nil))))); diff != "" {
				t.Errorf("errors on update (-want +got):\n%s", diff)
			}
		})
	}
}
