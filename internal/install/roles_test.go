package install_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/install"
)

// rulesOf asks the API server, as the controller, for all that the controller may do in a namespace.
func rulesOf(t *testing.T, namespace string) []authorizationv1.ResourceRule {
	t.Helper()
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + install.DefaultNamespace + ":bowline-controller"}
	client, err := kubernetes.NewForConfig(as)
	if err != nil {
		t.Fatalf("making the controller's client: %v", err)
	}
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil || review.Status.Incomplete {
		t.Fatalf("asking for the controller's rules in %s: %v %s", namespace, err, review.Status.EvaluationError)
	}
	return review.Status.ResourceRules
}

// removeLabelled takes away all that lets the controller bind, and waits until it is gone.
func removeLabelled(t *testing.T) {
	t.Helper()
	roles := typed(t).RbacV1().ClusterRoles()
	err := roles.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "servicebinding.io/controller=true"})
	if err != nil {
		t.Fatalf("deleting the labelled roles: %v", err)
	}
	eventually(t, "nothing can be bound", func() bool {
		bindable, err := roles.Get(t.Context(), "bowline-bindable", metav1.GetOptions{})
		return err == nil && len(bindable.Rules) == 0
	})
	eventually(t, "the API server knows", func() bool {
		return !slices.ContainsFunc(rulesOf(t, "default"), func(r authorizationv1.ResourceRule) bool {
			return slices.Contains(r.Resources, "deployments")
		})
	})
}

// TestBaseRoleTouchesOnlyItsOwn looks at every rule that the controller has before anybody lets it bind anything: of
// Secrets it reads its own certificate, by name; webhook configurations it touches by name.
func TestBaseRoleTouchesOnlyItsOwn(t *testing.T) {
	apply(t, install.Options{})
	awaitAggregation(t)
	removeLabelled(t)
	everywhere := map[string]string{
		"mutatingwebhookconfigurations/" + install.WebhookConfiguration:   "get patch update",
		"validatingwebhookconfigurations/" + install.WebhookConfiguration: "get patch update",
	}
	home := maps.Clone(everywhere)
	home["secrets/"] = "create"
	home["secrets/"+install.CertificateSecret] = "get list patch update watch"
	for namespace, want := range map[string]map[string]string{"default": everywhere, install.DefaultNamespace: home} {
		rules := rulesOf(t, namespace)
		if diff := cmp.Diff(want, verbs(rules, "secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations")); diff != "" {
			t.Errorf("what the controller may do in %s (-want +got):\n%s", namespace, diff)
		}
		for _, rule := range rules {
			for _, far := range []string{"*", "escalate", "bind", "impersonate", "serviceaccounts/token", "pods/exec"} {
				if slices.Contains(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs), far) {
					t.Errorf("in %s the controller has a rule with %q: %v", namespace, far, rule)
				}
			}
		}
	}
}

// verbs sums up rules: what may be done, by resource and name.
func verbs(rules []authorizationv1.ResourceRule, resources ...string) map[string]string {
	found := map[string][]string{}
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, resource := range rule.Resources {
			for _, name := range names {
				if slices.Contains(resources, resource) {
					found[resource+"/"+name] = append(found[resource+"/"+name], rule.Verbs...)
				}
			}
		}
	}
	all := map[string]string{}
	for key, list := range found {
		slices.Sort(list)
		all[key] = strings.Join(slices.Compact(list), " ")
	}
	return all
}
