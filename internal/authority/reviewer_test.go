package authority_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/authority"
)

// reviews answers reviews and notes them.
type reviews struct {
	asked  []authorizationv1.SubjectAccessReviewSpec
	answer func(authorizationv1.ResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, error)
}

func (r *reviews) Create(
	_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	r.asked = append(r.asked, review.Spec)
	status, err := r.answer(*review.Spec.ResourceAttributes)
	return &authorizationv1.SubjectAccessReview{Status: status}, err
}

// served is what an API server serves, by group and version; a nil list is one that cannot be had.
type served struct {
	lists map[string][]metav1.APIResource
	asked []string
}

func (s *served) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	s.asked = append(s.asked, groupVersion)
	list, ok := s.lists[groupVersion]
	switch {
	case !ok:
		return nil, apierrors.NewNotFound(schema.GroupResource{}, groupVersion)
	case list == nil:
		return nil, apierrors.NewServiceUnavailable("the aggregated API is away")
	}
	return &metav1.APIResourceList{APIResources: list}, nil
}

func usual() *served {
	return &served{lists: map[string][]metav1.APIResource{
		"v1": {
			{Name: "secrets", Kind: "Secret", Namespaced: true}, {Name: "nodes", Kind: "Node"},
		},
		"apps/v1": {
			{Name: "deployments/status", Kind: "Deployment", Namespaced: true},
			{Name: "deployments", Kind: "Deployment", Namespaced: true},
		},
		"odd.example.com/v1":  {{Name: "geese", Kind: "Goose", Namespaced: true}},
		"away.example.com/v1": nil,
	}}
}

func spec(change func(*bindingv1.ServiceBindingSpec)) *bindingv1.ServiceBindingSpec {
	s := &bindingv1.ServiceBindingSpec{
		Service:  bindingv1.ServiceBindingServiceReference{APIVersion: "v1", Kind: "Secret", Name: "db"},
		Workload: bindingv1.ServiceBindingWorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "orders"},
	}
	if change != nil {
		change(s)
	}
	return s
}

func allow(yes bool) func(authorizationv1.ResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, error) {
	return func(authorizationv1.ResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, error) {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: yes}, nil
	}
}

func dev() authenticationv1.UserInfo {
	return authenticationv1.UserInfo{
		Username: "dev", UID: "u-1", Groups: []string{"team-a"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"x", "y"}},
	}
}

func TestReviewTellsAllOfTheUser(t *testing.T) {
	t.Parallel()
	asked := &reviews{answer: allow(true)}
	findings, err := authority.New(asked, usual(), time.Now).
		May(t.Context(), dev(), "shop", authority.References(spec(nil)))
	if err != nil || len(findings.Lacking)+len(findings.Unfit) > 0 {
		t.Errorf("Review() = %+v, %v; want nothing against it", findings, err)
	}
	who := authorizationv1.SubjectAccessReviewSpec{
		User: "dev", UID: "u-1", Groups: []string{"team-a"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"x", "y"}},
	}
	service, workload := who, who
	service.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: "shop", Verb: "get", Version: "v1", Resource: "secrets", Name: "db",
	}
	workload.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: "shop", Verb: "update", Group: "apps", Version: "v1", Resource: "deployments", Name: "orders",
	}
	if diff := cmp.Diff([]authorizationv1.SubjectAccessReviewSpec{service, workload}, asked.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

type findingsCase struct {
	reason  string
	spec    *bindingv1.ServiceBindingSpec
	answer  func(authorizationv1.ResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, error)
	lacking []string
	unfit   []string
	fails   bool
}

func findingsCases() []findingsCase {
	service := func(apiVersion, kind string) *bindingv1.ServiceBindingSpec {
		return spec(func(s *bindingv1.ServiceBindingSpec) { s.Service.APIVersion, s.Service.Kind = apiVersion, kind })
	}
	const workload = `update deployments.apps "orders" in namespace "shop"`
	return []findingsCase{
		{
			reason: "what is lacked is told, the service's first", spec: spec(nil), answer: allow(false),
			lacking: []string{`get secrets "db" in namespace "shop"`, workload},
		},
		{
			reason: "a selector may match anything, so that the permission is for all",
			spec: spec(func(s *bindingv1.ServiceBindingSpec) {
				s.Workload.Name, s.Workload.Selector = "", &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
			}),
			answer:  allow(false),
			lacking: []string{`get secrets "db" in namespace "shop"`, `update deployments.apps in namespace "shop"`},
		},
		{
			reason: "the resource is what the API server says, not what grammar says", spec: service("odd.example.com/v1", "Goose"),
			answer: allow(false), lacking: []string{`get geese.odd.example.com "db" in namespace "shop"`, workload},
		},
		{
			reason: "a kind that is not there needs authority all the same", spec: service("late.example.com/v1", "Registry"),
			answer: allow(false), lacking: []string{`get registries.late.example.com "db" in namespace "shop"`, workload},
		},
		{
			reason: "so does one that a known group does not have", spec: service("odd.example.com/v1", "Duck"),
			answer: allow(false), lacking: []string{`get ducks.odd.example.com "db" in namespace "shop"`, workload},
		},
		{
			reason: "cluster-scoped kinds are nobody's", spec: service("v1", "Node"), answer: allow(true),
			unfit: []string{"spec.service.kind"},
		},
		{
			reason: "a denial outweighs a permission", spec: spec(nil),
			answer: func(authorizationv1.ResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, error) {
				return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true}, nil
			},
			lacking: []string{`get secrets "db" in namespace "shop"`, workload},
		},
		{
			reason: "no answer is no permission", spec: spec(nil), fails: true,
			answer: func(authorizationv1.ResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, error) {
				return authorizationv1.SubjectAccessReviewStatus{Allowed: true}, errors.New("timed out")
			},
		},
		{
			reason: "a group that cannot be asked for its kinds is no reason to let it pass",
			spec:   service("away.example.com/v1", "Cloud"), answer: allow(true), fails: true,
		},
	}
}

func TestReview(t *testing.T) {
	t.Parallel()
	for _, test := range findingsCases() {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			findings, err := authority.New(&reviews{answer: test.answer}, usual(), time.Now).
				May(t.Context(), dev(), "shop", authority.References(test.spec))
			if (err != nil) != test.fails {
				t.Fatalf("Review() error = %v", err)
			}
			var lacking, unfit []string
			for _, p := range findings.Lacking {
				lacking = append(lacking, p.String())
			}
			for _, f := range findings.Unfit {
				unfit = append(unfit, f.Field)
			}
			if diff := cmp.Diff(test.lacking, lacking); diff != "" {
				t.Errorf("lacking (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.unfit, unfit); diff != "" {
				t.Errorf("unfit (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReferences: what each kind of object has followed for its author.
func TestReferences(t *testing.T) {
	t.Parallel()
	draft := &draftv1alpha1.ServiceBindingSpec{
		Service:     draftv1alpha1.ObjectReference{APIVersion: "v1", Kind: "Secret", Name: "db"},
		Application: draftv1alpha1.ApplicationReference{APIVersion: "apps/v1", Kind: "Deployment", Selector: &metav1.LabelSelector{}},
	}
	synthetic := &draftv1alpha1.SyntheticProvisionedServiceSpec{Services: []draftv1alpha1.SourceReference{
		{APIVersion: "v1", Kind: "Secret", Name: "db"}, {Kind: "Goose", Name: "of-no-version"}, {APIVersion: "v1", Kind: "Node", Name: "n"},
	}}
	tests := []struct {
		reason     string
		references []authority.Reference
		want       []string
	}{
		{
			reason: "a draft's binding", references: authority.DraftReferences(draft),
			want: []string{"spec.service", `get secrets "db" in namespace "shop"`, "spec.application", `update deployments.apps in namespace "shop"`},
		},
		{
			reason: "a synthetic service", references: authority.SyntheticReferences(synthetic),
			want: []string{"spec.services[0]", `get secrets "db" in namespace "shop"`, "spec.services[2].kind"},
		},
		{reason: "nothing takes nothing"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			findings, err := authority.New(&reviews{answer: allow(false)}, usual(), time.Now).
				May(t.Context(), dev(), "shop", test.references)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range findings.Lacking {
				got = append(got, p.Field, p.String())
			}
			for _, f := range findings.Unfit {
				got = append(got, f.Field)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("May() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKindsAreRememberedForAWhile(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	known := usual()
	reviewer := authority.New(&reviews{answer: allow(true)}, known, func() time.Time { return now })
	review := func(s *bindingv1.ServiceBindingSpec) authority.Findings {
		t.Helper()
		findings, err := reviewer.May(t.Context(), dev(), "shop", authority.References(s))
		if err != nil {
			t.Fatal(err)
		}
		return findings
	}
	review(spec(nil))
	review(spec(nil))
	if diff := cmp.Diff([]string{"v1", "apps/v1"}, known.asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	now = now.Add(time.Minute)
	review(spec(nil))
	if got := len(known.asked); got != 4 {
		t.Errorf("after a minute the API server was asked %d times, want 4: %v", got, known.asked)
	}
	known.lists["v1"] = append(slices.Clone(known.lists["v1"]), metav1.APIResource{Name: "new", Kind: "New"})
	late := spec(func(s *bindingv1.ServiceBindingSpec) { s.Service.Kind = "New" })
	if findings := review(late); len(findings.Unfit) == 0 {
		t.Error("a kind that came after its group was remembered is not seen")
	}
}

func TestRole(t *testing.T) {
	t.Parallel()
	got := authority.Role("bind-b", []authority.Permission{
		{Verb: "get", Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Namespace: "shop", Name: "db"},
		{Verb: "update", Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Namespace: "shop"},
	})
	want := `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: "bind-b"
  namespace: "shop"
rules:
- apiGroups: [""]
  resources: ["secrets"]
  resourceNames: ["db"]
  verbs: ["get"]
- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["update"]
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Role() (-want +got):\n%s", diff)
	}
}
