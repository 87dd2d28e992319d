package install_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/install"
)

// grant gives a user rules in the namespace default.
func grant(t *testing.T, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{GenerateName: "policy-"}
	role, err := typed(t).RbacV1().Roles("default").Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = typed(t).RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func rule(verb, group, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}
}

// bindingsOf are the bindings of the namespace default as a user sees them.
func bindingsOf(t *testing.T, user string) dynamic.ResourceInterface {
	t.Helper()
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = user
	client, err := dynamic.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "servicebinding.io", Version: "v1beta1", Resource: "servicebindings"}).
		Namespace("default")
}

// TestPolicyAsksAboutDrafts: the same questions, of the draft's bindings, on a change of an option, too.
func TestPolicyAsksAboutDrafts(t *testing.T) {
	opts := withDrafts()
	opts.Policy = true
	apply(t, opts)
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = "drafted"
	client, err := dynamic.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	own := client.Resource(schema.GroupVersionResource{Group: "service.binding", Version: "v1alpha1", Resource: "servicebindings"}).
		Namespace("default")
	mustCreate(t, draft("drafted"))
	grant(t, "drafted", rbacv1.PolicyRule{
		Verbs: []string{"create", "patch"}, APIGroups: []string{"service.binding"}, Resources: []string{"servicebindings"},
	})
	grant(t, "drafted", rule("get", "", "secrets", "orders-db"))
	eventually(t, "who may not update the application is refused", func() bool {
		_, err := own.Create(t.Context(), draft("probe"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `spec.application: user "drafted" may not update deployments.apps "orders"`)
	})
	patch := func(text string) error {
		_, err := own.Patch(t.Context(), "drafted", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	if err := patch(`{"metadata":{"annotations":{"a":"b"}}}`); err != nil {
		t.Errorf("an annotation is answered with %v", err)
	}
	if err := patch(`{"metadata":{"annotations":{"bowline.dev/env":"all"}}}`); !apierrors.IsForbidden(err) {
		t.Errorf("an option is answered with %v", err)
	}
	grant(t, "drafted", rule("update", "apps", "deployments", "orders"))
	eventually(t, "who may do both is let through", func() bool {
		_, err := own.Create(t.Context(), draft("good"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil
	})
}

// changed is a binding with other values at paths of its spec; nil removes.
func changed(name string, fields map[string]any) *unstructured.Unstructured {
	object := binding("v1beta1", name)
	for path, value := range fields {
		at := append([]string{"spec"}, strings.Split(path, ".")...)
		if value == nil {
			unstructured.RemoveNestedField(object.Object, at...)
		} else if err := unstructured.SetNestedField(object.Object, value, at...); err != nil {
			panic(err)
		}
	}
	return object
}

// TestPolicyAsksWhatTheAuthorMayDo runs without a webhook: the API server does all of it.
func TestPolicyAsksWhatTheAuthorMayDo(t *testing.T) {
	apply(t, install.Options{External: true, Policy: true})
	const user = "policed"
	grant(t, user, rbacv1.PolicyRule{
		Verbs: []string{"create", "patch"}, APIGroups: []string{"servicebinding.io"}, Resources: []string{"servicebindings"},
	})
	own := bindingsOf(t, user)
	eventually(t, "the policy is in force", func() bool {
		_, err := own.Create(t.Context(), binding("v1beta1", "probe"), metav1.CreateOptions{})
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "may not")
	})
	grant(t, user, rule("get", "", "secrets", "orders-db"), rule("update", "apps", "deployments", "orders"),
		rule("get", "example.com", "registries"))
	eventually(t, "who may do both is let through", func() bool {
		_, err := own.Create(t.Context(), binding("v1beta1", "good"), metav1.CreateOptions{})
		return err == nil
	})
	for _, test := range []struct {
		reason string
		fields map[string]any
		want   string // "" where it is let through
	}{
		{"another Secret", map[string]any{"service.name": "root"}, `may not get secrets "root" in namespace "default"`},
		{"another workload", map[string]any{"workload.name": "other"}, `may not update deployments.apps "other" in`},
		{
			"a selector is about all", map[string]any{"workload.name": nil, "workload.selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}},
			`may not update deployments.apps in namespace`,
		},
		{"another kind", map[string]any{"workload.apiVersion": "batch/v1", "workload.kind": "Job"}, `may not update jobs.batch "orders"`},
		{"a plural by custom", map[string]any{"service.apiVersion": "example.com/v1", "service.kind": "Registry"}, ""},
		{"one with an s", map[string]any{"service.apiVersion": "example.com/v1", "service.kind": "Redis"}, `may not get redises.example.com`},
	} {
		_, err := own.Create(t.Context(), changed("other", test.fields), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if allowed := err == nil; allowed != (test.want == "") || !strings.Contains(fmt.Sprint(err), test.want) && !allowed {
			t.Errorf("%s: answered %v, want %q", test.reason, err, test.want)
		}
	}
	edits(t)
	apply(t, install.Options{External: true})
	if get(t, find(t, objects(t, install.Options{Policy: true}), "ValidatingAdmissionPolicy", "bowline-requester")) != nil {
		t.Error("the policy stays although it is not asked for any more")
	}
}

// edits sees that an edit by somebody without any further permission is refused where it changes the spec.
func edits(t *testing.T) {
	t.Helper()
	grant(t, "editor", rbacv1.PolicyRule{
		Verbs: []string{"patch"}, APIGroups: []string{"servicebinding.io"}, Resources: []string{"servicebindings"},
	})
	patch := func(text string) error {
		_, err := bindingsOf(t, "editor").Patch(t.Context(), "good", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	eventually(t, "an edit of labels is let through", func() bool { return patch(`{"metadata":{"labels":{"a":"b"}}}`) == nil })
	if err := patch(`{"metadata":{"annotations":{"bowline.dev/env":"all"}}}`); !apierrors.IsForbidden(err) {
		t.Errorf("an option is answered with %v", err)
	}
	if err := patch(`{"spec":{"type":"postgresql"}}`); !apierrors.IsForbidden(err) || !strings.Contains(fmt.Sprint(err), "may not get secrets") {
		t.Errorf("an edit of the spec is answered with %v", err)
	}
}
