package controller

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/internal/watch"
	"github.com/bowline-dev/bowline/projection"
)

func deployments() schema.GroupResource {
	return schema.GroupResource{Group: "apps", Resource: "deployments"}
}

type verdictCase struct {
	reason                         string
	err                            error
	refusal, permission, immutable bool
	passes                         bool
}

// verdictCases are errors as the API server makes them.
func verdictCases() []verdictCase {
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	spec := field.NewPath("spec")
	const denied = `User "system:serviceaccount:bowline-system:bowline-controller" cannot patch resource "deployments" ` +
		`in API group "apps" in the namespace "shop"`
	return []verdictCase{
		{
			reason: "no permission", refusal: true, permission: true,
			err: apierrors.NewForbidden(deployments(), "orders", errors.New(denied)),
		},
		{
			reason: "a quota", refusal: true,
			err: apierrors.NewForbidden(deployments(), "orders", errors.New("exceeded quota: small, requested: pods=1")),
		},
		{
			reason: "a webhook that denies", refusal: true,
			err: apierrors.NewForbidden(deployments(), "orders", errors.New(`admission webhook "policy.example.com" denied the request: no`)),
		},
		{
			reason: "a webhook that denies without a code", refusal: true,
			err: apierrors.NewBadRequest(`admission webhook "policy.example.com" denied the request without explanation`),
		},
		{
			reason: "a pod template that cannot change", refusal: true, immutable: true,
			err: apierrors.NewInvalid(kind, "orders", field.ErrorList{field.Invalid(spec.Child("template"), "…", "field is immutable")}),
		},
		{
			reason: "a pod", refusal: true, immutable: true,
			err: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "orders", field.ErrorList{
				field.Forbidden(spec, "pod updates may not change fields other than `spec.containers[*].image`"),
			}),
		},
		{
			reason: "a field that is wrong", refusal: true,
			err: apierrors.NewInvalid(kind, "orders", field.ErrorList{field.Duplicate(spec.Child("volumes"), "a")}),
		},
		{reason: "an object too large", refusal: true, err: apierrors.NewRequestEntityTooLargeError("limit is 3145728")},
		{reason: "a kind without patch", refusal: true, err: apierrors.NewMethodNotSupported(deployments(), "patch")},
		{reason: "somebody was faster", passes: true, err: apierrors.NewConflict(deployments(), "orders", errors.New("modified"))},
		{reason: "it is gone", passes: true, err: apierrors.NewNotFound(deployments(), "orders")},
		{reason: "too many requests", err: apierrors.NewTooManyRequests("slow down", 1)},
		{reason: "a timeout", err: apierrors.NewServerTimeout(deployments(), "patch", 1)},
		{reason: "a webhook that does not answer", err: apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example.com"`))},
		{reason: "the connection broke", err: errors.New("read: connection reset by peer")},
		{reason: "an answer of nobody knows whom", err: apierrors.NewGenericServerResponse(http.StatusBadGateway, "patch", deployments(), "orders", "", 0, true)},
	}
}

func TestVerdictsOnErrors(t *testing.T) {
	t.Parallel()
	for _, test := range verdictCases() {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			for _, err := range []error{test.err, fmt.Errorf("patching orders: %w", test.err)} {
				got := [3]bool{isRefusal(err), isPermission(err), isImmutable(err)}
				if want := [3]bool{test.refusal, test.permission, test.immutable}; got != want {
					t.Errorf("%v: refusal, permission, immutable = %v, want %v", err, got, want)
				}
			}
		})
	}
}

func TestPassing(t *testing.T) {
	t.Parallel()
	for _, test := range verdictCases() {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			want, wantErr := ctrl.Result{}, test.err
			if test.passes {
				want, wantErr = ctrl.Result{RequeueAfter: overtaken}, nil
			}
			got, err := passing(fmt.Errorf("patching orders: %w", test.err))
			if got != want || !errors.Is(err, wantErr) {
				t.Errorf("passing() = %v, %v; want %v, %v", got, err, want, wantErr)
			}
		})
	}
}

// orders is a workload into which the given bindings are projected.
func orders(t *testing.T, bound ...projection.Binding) projection.Workload {
	t.Helper()
	w := projection.Workload{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "shop", "name": "orders", "resourceVersion": "7"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "main", "image": "example.com/main:1"}},
		}}},
	}
	after, err := projection.Project(w, projection.Default(), bound)
	if err != nil {
		t.Fatalf("projecting: %v", err)
	}
	return after
}

func bindingOf(uid string) projection.Binding {
	return projection.Binding{UID: uid, Name: "binding-" + uid, Secret: "secret-" + uid}
}

// told writes plans as "+a" for a binding wanted and "-a" for one to drop.
func told(plans ...plan) []string {
	var list []string
	for _, p := range plans {
		var text []string
		for _, b := range p.want {
			text = append(text, "+"+b.UID)
		}
		for _, uid := range p.drop {
			text = append(text, "-"+uid)
		}
		list = append(list, strings.Join(text, " "))
	}
	return list
}

func TestStepsAreOfOneBindingEach(t *testing.T) {
	t.Parallel()
	p := plan{
		mapping: projection.Default(),
		want:    []projection.Binding{bindingOf("a"), bindingOf("b"), bindingOf("c")},
		drop:    []string{"x", "y"},
	}
	single := steps(p, map[string]Problem{"b": {}, "y": {}})
	if diff := cmp.Diff([]string{"-x", "-y", "+a", "+c"}, told(single...)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	for _, step := range single {
		if step.mapping != p.mapping {
			t.Error("a step has another mapping than the plan")
		}
	}
	if got := steps(plan{}, nil); len(got) != 0 {
		t.Errorf("an empty plan has steps: %v", told(got...))
	}
}

func TestUnsettledIsWhatWouldStillChange(t *testing.T) {
	t.Parallel()
	a, b, changed := bindingOf("a"), bindingOf("b"), bindingOf("a")
	changed.Secret = "another"
	tests := []struct {
		reason   string
		on       []projection.Binding
		plan     plan
		problems map[string]Problem
		want     string
	}{
		{reason: "all new", plan: plan{want: []projection.Binding{a, b}}, want: "+a +b"},
		{reason: "one is there", on: []projection.Binding{a}, plan: plan{want: []projection.Binding{a, b}}, want: "+b"},
		{reason: "all there", on: []projection.Binding{a, b}, plan: plan{want: []projection.Binding{a, b}}},
		{reason: "it is there with another Secret", on: []projection.Binding{a}, plan: plan{want: []projection.Binding{changed}}, want: "+a"},
		{reason: "one to drop", on: []projection.Binding{a, b}, plan: plan{want: []projection.Binding{a}, drop: []string{"b"}}, want: "-b"},
		{reason: "dropped already", on: []projection.Binding{a}, plan: plan{want: []projection.Binding{a}, drop: []string{"b"}}},
		{reason: "a known problem is left out", plan: plan{want: []projection.Binding{a, b}}, problems: map[string]Problem{"b": {}}, want: "+a"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			test.plan.mapping = projection.Default()
			got := unsettled(orders(t, test.on...), test.plan, test.problems)
			if diff := cmp.Diff([]string{test.want}, told(got)); diff != "" {
				t.Errorf("unsettled (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryoneHasTheProblem(t *testing.T) {
	t.Parallel()
	got := everyone(
		plan{want: []projection.Binding{bindingOf("a"), bindingOf("b")}, drop: []string{"x"}},
		Problem{Reason: ReasonWorkloadRejected, Message: "no"},
	)
	want := map[string]Problem{
		"a": {Reason: ReasonWorkloadRejected, Message: "no"},
		"b": {Reason: ReasonWorkloadRejected, Message: "no"},
		"x": {Reason: ReasonWorkloadRejected, Message: "no", Stuck: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("everyone (-want +got):\n%s", diff)
	}
}

// memory is a world of its own: bindings with what their service and their workload's kind come to, by UID.
type memory struct {
	bindings []*binding.Binding
	secrets  map[string]string
	errs     map[string]error
	kinds    map[string]error
}

func (m memory) BindingsOf(watch.WorkloadKey, map[string]string) []*binding.Binding {
	return m.bindings
}

func (m memory) BindingByUID(string) *binding.Binding { return nil }

func (m memory) Resolve(b *binding.Binding) (projection.Binding, error) {
	p := b.Projection
	p.Secret = m.secrets[p.UID]
	return p, m.errs[p.UID]
}

func (m memory) WorkloadKind(b *binding.Binding) error { return m.kinds[b.Projection.UID] }

func TestWanted(t *testing.T) {
	t.Parallel()
	of := memory{secrets: map[string]string{}, errs: map[string]error{}, kinds: map[string]error{}}
	for _, uid := range []string{"b", "c", "d", "a"} {
		of.bindings = append(of.bindings, &binding.Binding{Projection: bindingOf(uid)})
		of.secrets[uid] = "s" + uid
	}
	of.errs["c"] = &service.Unavailable{Reason: service.ReasonSecretNotFound}
	of.kinds["d"] = &watch.KindError{Fault: watch.NoSuchKind}
	w := watch.Workload{Key: workloadKey("orders"), Version: "v1", Object: orders(t)}
	want, matched, err := wanted(of, w)
	if err != nil {
		t.Fatalf("wanted: %v", err)
	}
	var got []string
	for _, b := range want {
		got = append(got, b.UID+" "+b.Secret)
	}
	if diff := cmp.Diff([]string{"b sb", "a sa"}, got); diff != "" {
		t.Errorf("wanted, in the order given, without what is not available (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, slices.Sorted(maps.Keys(matched))); diff != "" {
		t.Errorf("matched, and so not to be dropped (-want +got):\n%s", diff)
	}
	if got := of.bindings[0].Projection.Secret; got != "secret-b" {
		t.Errorf("the binding in memory was changed to Secret %q", got)
	}
	of.errs["a"] = fmt.Errorf("asking: %w", watch.ErrStarting)
	if _, _, err := wanted(of, w); !errors.Is(err, watch.ErrStarting) {
		t.Errorf("while a kind is unknown, wanted() = %v, want ErrStarting: a part would be a rollout too many", err)
	}
}

func TestProblemsOfKinds(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	fault := func(f watch.Fault) error {
		return fmt.Errorf("looking: %w", &watch.KindError{Kind: kind, Resource: kind.GroupVersion().WithResource("deployments"), Fault: f})
	}
	tests := []struct {
		reason            string
		err               error
		service, workload string
		verbs             [2][]string
	}{
		{reason: "no error", err: nil},
		{reason: "not a fault", err: watch.ErrStarting},
		{reason: "unknown", err: fault(watch.NoSuchKind), service: service.ReasonKindUnknown, workload: ReasonWorkloadKindUnknown},
		{reason: "of the cluster", err: fault(watch.NotNamespaced), service: service.ReasonClusterScoped, workload: ReasonWorkloadClusterScoped},
		{
			reason: "forbidden", err: fault(watch.Forbidden), service: service.ReasonForbidden, workload: ReasonWorkloadForbidden,
			verbs: [2][]string{{"get", "list", "watch"}, {"get", "list", "watch", "update", "patch"}},
		},
		{reason: "not available", err: &service.Unavailable{Reason: service.ReasonNoBinding, Message: "m"}, service: service.ReasonNoBinding},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			for i, got := range []*Problem{serviceProblem(test.err), workloadProblem(test.err, "spec.workload")} {
				want := []string{test.service, test.workload}[i]
				if want == "" && got != nil || want != "" && (got == nil || got.Reason != want || got.Message == "") {
					t.Errorf("problem = %+v, want %q", got, want)
				}
				if verbs := test.verbs[i]; verbs != nil {
					checkGrant(t, got.Message, verbs)
				}
			}
		})
	}
}

// checkGrant wants a message to end in a ClusterRole that can be applied as it is.
func checkGrant(t *testing.T, message string, verbs []string) {
	t.Helper()
	_, text, _ := strings.Cut(message, "ClusterRole:\n")
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil {
		t.Fatalf("reading the ClusterRole: %v\n%s", err, message)
	}
	want := rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "bowline-deployments.apps", Labels: map[string]string{"servicebinding.io/controller": "true"},
		},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs}},
	}
	if diff := cmp.Diff(want, role); diff != "" {
		t.Errorf("ClusterRole (-want +got):\n%s", diff)
	}
}
