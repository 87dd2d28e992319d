package install_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
)

// versions returns what tells whether an object was written: its resource version, or, where the control plane writes its
// status, its generation.
func versions(t *testing.T, opts install.Options) map[string]any {
	t.Helper()
	seen := map[string]any{}
	for _, object := range objects(t, opts) {
		found := get(t, object)
		if found == nil {
			t.Fatalf("%s %s is not there", object.GetKind(), object.GetName())
		}
		var version any = found.GetResourceVersion()
		if object.GetKind() == "Deployment" || object.GetKind() == "PodDisruptionBudget" {
			version = found.GetGeneration()
		}
		seen[object.GetKind()+"/"+object.GetName()] = version
	}
	return seen
}

func awaitAggregation(t *testing.T) {
	t.Helper()
	eventually(t, "the cluster filled in bowline-bindable", func() bool {
		role, err := typed(t).RbacV1().ClusterRoles().Get(t.Context(), "bowline-bindable", metav1.GetOptions{})
		return err == nil && len(role.Rules) > 0
	})
}

func TestApplyTwiceKeepsWhatTheControllerFilledIn(t *testing.T) {
	apply(t, install.Options{})
	awaitAggregation(t)
	fillInLikeTheController(t)
	before := versions(t, install.Options{})
	apply(t, install.Options{})
	if diff := cmp.Diff(before, versions(t, install.Options{})); diff != "" {
		t.Errorf("the second Apply wrote (-before +after):\n%s", diff)
	}
	// A new image is a change; the configurations are not concerned by it.
	said := apply(t, install.Options{Image: "example/bowline:2"})
	if !said.has("Deployment bowline-system/bowline-controller updated") || said.has("WebhookConfiguration") {
		t.Errorf("with another image: %q", said.lines)
	}
}

// fillInLikeTheController writes the fields of the webhook configurations that are only known at run time.
func fillInLikeTheController(t *testing.T) {
	t.Helper()
	api := typed(t).AdmissionregistrationV1()
	mutating, err := api.MutatingWebhookConfigurations().Get(t.Context(), install.WebhookConfiguration, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("reading the mutating configuration: %v", err)
	}
	for i := range mutating.Webhooks {
		webhook := &mutating.Webhooks[i]
		webhook.ClientConfig.CABundle = certificate(t)
		if webhook.Name != "workloads.bowline.dev" {
			continue
		}
		webhook.NamespaceSelector = &metav1.LabelSelector{
			MatchLabels: map[string]string{"kubernetes.io/metadata.name": "shop"},
		}
		webhook.Rules = []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
			},
		}}
	}
	options := metav1.UpdateOptions{FieldManager: "bowline"}
	if _, err := api.MutatingWebhookConfigurations().Update(t.Context(), mutating, options); err != nil {
		t.Fatalf("filling in the mutating configuration: %v", err)
	}
}

// certificate returns any certificate in PEM; the control plane's own will do.
func certificate(t *testing.T) []byte {
	t.Helper()
	if len(config.CAData) == 0 {
		t.Fatal("the control plane's configuration holds no CA data")
	}
	return config.CAData
}

func TestKindsAsInstalled(t *testing.T) {
	apply(t, install.Options{External: true})
	t.Run("each version serves the same object", testVersions)
	t.Run("a mapping needs its paths in v1beta1 only", testMappingSchemas)
}

func testVersions(t *testing.T) {
	for _, version := range []string{"v1", "v1beta1", "v1alpha3"} {
		if err := create(t, binding(version, "made-as-"+version)); err != nil {
			t.Fatalf("creating a binding as %s: %v", version, err)
		}
		for _, other := range []string{"v1", "v1beta1", "v1alpha3"} {
			want := binding(other, "made-as-"+version)
			got := get(t, want)
			if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" || got.GetAPIVersion() != want.GetAPIVersion() {
				t.Errorf("made as %s, read as %s: %s (-want +got):\n%s", version, other, got.GetAPIVersion(), diff)
			}
		}
	}
}

func testMappingSchemas(t *testing.T) {
	short := map[string]any{"version": "*"}
	full := map[string]any{"version": "*", "annotations": ".a", "volumes": ".b"}
	tests := []struct {
		name, version string
		template      map[string]any
		valid         bool
	}{
		{"shorts.v1.example", "v1", short, true},
		{"shorts.v1alpha3.example", "v1alpha3", short, true},
		{"shorts.v1beta1.example", "v1beta1", short, false},
		{"fulls.v1beta1.example", "v1beta1", full, true},
		{"empties.v1.example", "v1", map[string]any{}, false},
	}
	for _, test := range tests {
		err := create(t, mapping(test.version, test.name, test.template))
		if test.valid && err != nil || !test.valid && !apierrors.IsInvalid(err) {
			t.Errorf("creating %s with %v as %s: %v, want valid: %t", test.name, test.template, test.version, err, test.valid)
		}
	}
	cronjobs := get(t, mapping("v1beta1", "cronjobs.batch", nil))
	if cronjobs == nil {
		t.Fatal("the mapping of CronJobs is not installed")
	}
}

func TestOtherOptionsRemoveWhatTheyLeaveOut(t *testing.T) {
	apply(t, install.Options{})
	all := objects(t, install.Options{})
	less := install.Options{External: true, WithoutSecrets: true}
	apply(t, less)
	for _, object := range all {
		wanted := find(t, objects(t, less), object.GetKind(), object.GetName()) != nil
		if got := get(t, object) != nil; got != wanted {
			t.Errorf("%s %s: there %t, want %t", object.GetKind(), object.GetName(), got, wanted)
		}
	}
	serveFromOutside(t)
	apply(t, install.Options{})
	if said := apply(t, install.Options{}); len(said.lines) > 0 && said.has("WebhookConfiguration") {
		t.Errorf("coming back from outside takes more than one Apply: %q", said.lines)
	}
	api := typed(t).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	validating, err := api.Get(t.Context(), install.WebhookConfiguration, metav1.GetOptions{})
	if err != nil || len(validating.Webhooks) != 2 || validating.Webhooks[0].ClientConfig.Service == nil {
		t.Errorf("validating configuration: %+v, %v; want two webhooks that are reached by a Service", validating, err)
	}
}

// serveFromOutside fills the empty validating configuration the way a controller outside the cluster does.
func serveFromOutside(t *testing.T) {
	t.Helper()
	_, wanted, err := install.Webhooks(install.Options{External: true})
	if err != nil {
		t.Fatalf("Webhooks: %v", err)
	}
	api := typed(t).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	found, err := api.Get(t.Context(), install.WebhookConfiguration, metav1.GetOptions{})
	if err != nil || len(found.Webhooks) > 0 {
		t.Fatalf("validating configuration: %+v, %v; want an empty one", found, err)
	}
	for _, webhook := range wanted.Webhooks {
		url := "https://127.0.0.1:9443" + *webhook.ClientConfig.Service.Path
		webhook.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: certificate(t)}
		found.Webhooks = append(found.Webhooks, webhook)
	}
	if _, err := api.Update(t.Context(), found, metav1.UpdateOptions{FieldManager: "bowline"}); err != nil {
		t.Fatalf("filling in the validating configuration: %v", err)
	}
}

// With nobody there to answer, bindings are refused, what is on its way out is let go, and workloads pass.
func TestWebhooksWhileBowlineIsAway(t *testing.T) {
	apply(t, install.Options{External: true})
	leaving := binding("v1beta1", "leaving", "servicebinding.io/finalizer")
	if err := create(t, leaving); err != nil {
		t.Fatalf("creating a binding: %v", err)
	}
	if err := resource(t, leaving).Delete(t.Context(), leaving.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatalf("deleting the binding: %v", err)
	}
	apply(t, install.Options{})
	eventually(t, "bindings are refused", func() bool {
		return create(t, binding("v1alpha3", "late")) != nil
	})
	patch := func(text string) error {
		_, err := resource(t, leaving).Patch(t.Context(), leaving.GetName(), types.MergePatchType, []byte(text),
			metav1.PatchOptions{})
		return err
	}
	if err := patch(`{"spec":{"workload":{"name":"another"}}}`); err == nil {
		t.Error("a binding on its way out could be pointed at another workload unseen")
	}
	if err := patch(`{"metadata":{"finalizers":null}}`); err != nil {
		t.Errorf("taking the finalizer from a binding on its way out: %v", err)
	}
}

func TestWhatTheControllerMayDo(t *testing.T) {
	apply(t, install.Options{WithoutSecrets: true})
	awaitAggregation(t)
	type attributes = authorizationv1.ResourceAttributes
	const home = install.DefaultNamespace
	tests := []struct {
		reason string
		ask    attributes
		want   bool
	}{
		{"binding patches workloads", attributes{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "shop"}, true},
		{"binding makes no workload", attributes{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "shop"}, false},
		{"binding deletes no workload", attributes{Verb: "delete", Resource: "pods", Namespace: "shop"}, false},
		{"the core reads no Secret", attributes{Verb: "get", Resource: "secrets", Namespace: "shop"}, false},
		{"nor one of its own namespace", attributes{Verb: "list", Resource: "secrets", Namespace: home}, false},
		{
			"but its own certificate",
			attributes{Verb: "get", Resource: "secrets", Namespace: home, Name: install.CertificateSecret}, true,
		},
		{
			"its own configurations are its own",
			attributes{
				Verb: "patch", Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations",
				Name: install.WebhookConfiguration,
			}, true,
		},
		{
			"those of others are not",
			attributes{
				Verb: "patch", Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations", Name: "other",
			}, false,
		},
		{
			"leader election",
			attributes{
				Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: home,
				Name: install.LeaderElectionLease,
			}, true,
		},
	}
	for _, test := range tests {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + home + ":bowline-controller", ResourceAttributes: &test.ask,
		}}
		eventually(t, test.reason, func() bool {
			answer, err := typed(t).AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed == test.want
		})
	}
}

// kubectl does not know the kind of the mapping before it made it, so it takes two runs for a complete installation.
func TestRenderedOutputApplies(t *testing.T) {
	opts := install.Options{External: true}
	t.Cleanup(func() { remove(t, opts) })
	if err := kubectlApply(t, opts); err == nil {
		t.Log("kubectl took the mapping in one run")
	}
	if err := kubectlApply(t, opts); err != nil {
		t.Errorf("the second run: %v", err)
	}
	versions(t, opts) // fails for what is not there
	if err := kubectlApply(t, install.Options{}); err != nil {
		t.Errorf("adding what runs inside: %v", err)
	}
	versions(t, install.Options{})
}

func kubectlApply(t *testing.T, opts install.Options) error {
	t.Helper()
	var text bytes.Buffer
	if err := install.Render(&text, opts); err != nil {
		t.Fatalf("Render: %v", err)
	}
	binary, err := localplane.FindBinary()
	if err != nil {
		t.Fatalf("finding kubectl: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	kubectl := exec.CommandContext(ctx, binary, "kubectl", "--kubeconfig", plane.Kubeconfig(),
		"apply", "--server-side", "-f", "-")
	kubectl.Stdin = &text
	if output, err := kubectl.CombinedOutput(); err != nil {
		return fmt.Errorf("running kubectl: %w\n%s", err, output)
	}
	return nil
}

func TestNamespaceOfOthersStaysAsItIs(t *testing.T) {
	makeNamespace(t, "elsewhere")
	opts := install.Options{Namespace: "elsewhere"}
	apply(t, opts)
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	namespace.SetName("elsewhere")
	if labels := get(t, namespace).GetLabels(); len(labels) != 1 {
		t.Errorf("labels %v, want only the API server's own", labels)
	}
	if err := install.Delete(t.Context(), config, opts, nil); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if found := get(t, namespace); found == nil || found.GetDeletionTimestamp() != nil {
		t.Error("Delete took a namespace that it did not make")
	}
}
