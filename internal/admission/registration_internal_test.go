package admission

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/feature"
)

func resource(group, version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

func workloads() Scope {
	return Scope{
		Resources: []schema.GroupVersionResource{
			resource("batch", "v1", "jobs"), resource("apps", "v1", "statefulsets"), resource("apps", "v1", "deployments"),
			resource("apps", "v1", "deployments"),
		},
		Namespaces: []string{"shop", "bank", "shop"},
	}
}

func namespaces(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("n%03d", i))
	}
	return names
}

func TestScopeRules(t *testing.T) {
	t.Parallel()
	var got []string
	for _, rule := range workloads().normal().rules() {
		got = append(got, fmt.Sprint(rule.APIGroups, rule.APIVersions, rule.Resources, rule.Operations, " ", *rule.Scope))
	}
	want := []string{
		"[apps] [v1] [deployments statefulsets] [CREATE UPDATE] Namespaced",
		"[batch] [v1] [jobs] [CREATE UPDATE] Namespaced",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	deployments := resource("apps", "v1", "deployments")
	one := []schema.GroupVersionResource{deployments}
	for name, c := range map[string]struct {
		reason   string
		scope    Scope
		selects  []string
		covers   map[string]bool
		resource schema.GroupVersionResource
	}{
		"some": {
			reason: "namespaces are named", scope: workloads(), selects: []string{"bank", "shop"}, resource: deployments,
			covers: map[string]bool{"bank": true, "shop": true, "other": false},
		},
		"other resource": {
			reason: "nobody binds pods", scope: workloads(), selects: []string{"bank", "shop"},
			resource: resource("", "v1", "pods"), covers: map[string]bool{"bank": false},
		},
		"hundred": {
			reason: "a hundred may be named", scope: Scope{Resources: one, Namespaces: namespaces(100)},
			selects: namespaces(100), resource: deployments, covers: map[string]bool{"n007": true, "other": false},
		},
		"more": {
			reason: "more are asked for without a list", scope: Scope{Resources: one, Namespaces: namespaces(101)},
			resource: deployments, covers: map[string]bool{"n007": true, "other": true},
		},
		"no namespaces": {
			reason: "nothing is bound", scope: Scope{Resources: one}, resource: deployments, covers: map[string]bool{"": false},
		},
		"no resources": {
			reason: "nothing is bound", scope: Scope{Namespaces: namespaces(1)},
			resource: deployments, covers: map[string]bool{"n000": false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scope := c.scope.normal()
			var selects []string
			for _, expression := range scope.selector().MatchExpressions {
				selects = append(selects, expression.Values...)
			}
			if diff := cmp.Diff(c.selects, selects); diff != "" {
				t.Errorf("%s: namespaces (-want +got):\n%s", c.reason, diff)
			}
			for namespace, want := range c.covers {
				if got := scope.covers(c.resource, namespace); got != want {
					t.Errorf("%s: covers(%v, %q) = %v", c.reason, c.resource, namespace, got)
				}
			}
		})
	}
}

func TestEndpointClient(t *testing.T) {
	t.Parallel()
	path, port, url := PathMutateWorkload, int32(443), "https://127.0.0.1:9443"+PathMutateWorkload
	bundle := []byte("bundle")
	for name, c := range map[string]struct {
		in   Endpoint
		want admissionregistrationv1.WebhookClientConfig
	}{
		"service": {
			in: Endpoint{Namespace: "bowline-system", Service: "bowline-webhook"},
			want: admissionregistrationv1.WebhookClientConfig{CABundle: bundle, Service: &admissionregistrationv1.ServiceReference{
				Namespace: "bowline-system", Name: "bowline-webhook", Path: &path, Port: &port,
			}},
		},
		"url": {
			in:   Endpoint{URL: "https://127.0.0.1:9443/"},
			want: admissionregistrationv1.WebhookClientConfig{CABundle: bundle, URL: &url},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.in.client(path, bundle)); diff != "" {
				t.Errorf("client configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func wantedNow(scope Scope) wanted {
	return wanted{
		endpoint: Endpoint{URL: "https://127.0.0.1:9443"}, bundle: []byte("bundle"), user: "bowline", scope: scope,
	}
}

func names(in *admissionregistrationv1.MutatingWebhookConfiguration) []string {
	var list []string
	for _, hook := range in.Webhooks {
		list = append(list, hook.Name)
	}
	return list
}

func TestWantedMutatingFromNothing(t *testing.T) {
	t.Parallel()
	blank := &admissionregistrationv1.MutatingWebhookConfiguration{}
	without := wantedNow(Scope{}).mutating(blank)
	if diff := cmp.Diff([]string{WebhookBindings, WebhookMappings}, names(without)); diff != "" {
		t.Errorf("webhooks while nothing is bound (-want +got):\n%s", diff)
	}
	with := wantedNow(workloads()).mutating(without)
	if diff := cmp.Diff([]string{WebhookBindings, WebhookMappings, WebhookWorkloads}, names(with)); diff != "" {
		t.Errorf("webhooks while something is bound (-want +got):\n%s", diff)
	}
	hook := with.Webhooks[2]
	got := []any{*hook.FailurePolicy, *hook.TimeoutSeconds, *hook.ReinvocationPolicy, *hook.SideEffects, len(hook.Rules)}
	want := []any{
		admissionregistrationv1.Ignore, int32(3), admissionregistrationv1.IfNeededReinvocationPolicy,
		admissionregistrationv1.SideEffectClassNone, 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhook of workloads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(with, wantedNow(workloads()).mutating(with)); diff != "" {
		t.Errorf("a second time changes something (-first +second):\n%s", diff)
	}
	idle := wantedNow(Scope{}).mutating(with)
	if rules := idle.Webhooks[2].Rules; len(rules) != 0 {
		t.Errorf("nothing is bound any more, yet the rules are %v", rules)
	}
	if len(blank.Webhooks) != 0 {
		t.Error("the current configuration was changed")
	}
}

// TestWantedFollowsTheFeatures: the API server asks about the kinds of features as long as they are on.
func TestWantedFollowsTheFeatures(t *testing.T) {
	t.Parallel()
	core := []string{WebhookBindings, WebhookMappings}
	draft := append(slices.Clone(core), WebhookDraftBindings)
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	steps := []struct {
		reason   string
		features feature.Set
		want     []string
	}{
		{reason: "one", features: feature.Of(feature.DraftAPI), want: draft},
		{
			reason: "all", features: feature.Of(feature.All()...), want: append(slices.Clone(draft), WebhookSyntheticServices),
		},
		{reason: "one again", features: feature.Of(feature.DraftAPI, feature.Templates), want: draft},
		{reason: "none", want: core},
	}
	for _, step := range steps {
		want := wantedNow(Scope{})
		want.features = step.features
		mutating, validating = want.mutating(mutating), want.validating(validating)
		if diff := cmp.Diff(step.want, names(mutating)); diff != "" {
			t.Errorf("%s: mutating webhooks (-want +got):\n%s", step.reason, diff)
		}
		var got []string
		for _, hook := range validating.Webhooks {
			got = append(got, hook.Name)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: validating webhooks (-want +got):\n%s", step.reason, diff)
		}
	}
}

func TestWantedLeavesTheRestToTheInstaller(t *testing.T) {
	t.Parallel()
	timeout, ours := int32(9), admissionregistrationv1.MatchCondition{
		Name: conditionNotSelf, Expression: `request.userInfo.username != "bowline"`,
	}
	other := admissionregistrationv1.MatchCondition{Name: "other", Expression: "true"}
	stale := admissionregistrationv1.MatchCondition{Name: conditionNotSelf, Expression: "false"}
	current := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
		Webhooks: []admissionregistrationv1.MutatingWebhook{
			{Name: "somebody.example.com", TimeoutSeconds: &timeout},
			{
				Name: WebhookBindings, TimeoutSeconds: &timeout,
				MatchConditions: []admissionregistrationv1.MatchCondition{other, stale},
			},
		},
	}
	want := current.DeepCopy()
	got := wantedNow(Scope{}).mutating(current)
	want.Webhooks[1].ClientConfig = wantedNow(Scope{}).endpoint.client(PathMutateBinding, []byte("bundle"))
	want.Webhooks[1].MatchConditions = []admissionregistrationv1.MatchCondition{other, ours}
	want.Webhooks = append(want.Webhooks, got.Webhooks[2])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestWantedValidating(t *testing.T) {
	t.Parallel()
	got := wantedNow(Scope{}).validating(&admissionregistrationv1.ValidatingWebhookConfiguration{})
	var list []string
	for _, hook := range got.Webhooks {
		list = append(list, fmt.Sprintf("%s %s %s %v",
			hook.Name, *hook.FailurePolicy, *hook.ClientConfig.URL, hook.Rules[0].Resources))
	}
	want := []string{
		"servicebindings.bowline.dev Fail https://127.0.0.1:9443/validate-servicebinding [servicebindings]",
		"mappings.bowline.dev Fail https://127.0.0.1:9443/validate-mapping [clusterworkloadresourcemappings]",
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, wantedNow(Scope{}).validating(got)); diff != "" {
		t.Errorf("a second time changes something (-first +second):\n%s", diff)
	}
}
