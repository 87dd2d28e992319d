package install_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/install"
)

func objects(t *testing.T, opts install.Options) []*unstructured.Unstructured {
	t.Helper()
	all, err := install.Objects(opts)
	if err != nil {
		t.Fatalf("Objects(%+v): %v", opts, err)
	}
	return all
}

func find(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	at := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == kind && o.GetName() == name
	})
	if at < 0 {
		return nil
	}
	return all[at]
}

func TestObjectsComeInTheOrderOfTheirNeeds(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, object := range objects(t, install.Options{}) {
		kinds = append(kinds, object.GetKind())
	}
	order := []string{
		"CustomResourceDefinition", "Namespace", "ServiceAccount", "Deployment",
		"ClusterWorkloadResourceMapping", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
	}
	var places []int
	for _, kind := range order {
		places = append(places, slices.Index(kinds, kind))
	}
	if places[0] != 0 || !slices.IsSorted(places) {
		t.Errorf("kinds come as %v, want the order %v", kinds, order)
	}
}

func TestObjectsBearTheLabelThatDeleteLooksFor(t *testing.T) {
	t.Parallel()
	for _, object := range objects(t, install.Options{}) {
		if got := object.GetLabels()["app.kubernetes.io/part-of"]; got != "bowline" {
			t.Errorf("%s %s: label app.kubernetes.io/part-of is %q, want bowline", object.GetKind(), object.GetName(), got)
		}
	}
}

func TestObjectsFollowTheOptions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		opts   install.Options
		gone   []string
	}{
		"everything": {reason: "the zero value is the whole of Bowline"},
		"external": {
			reason: "a controller outside needs nothing that runs or is reached inside",
			opts:   install.Options{External: true},
			gone: []string{
				"Deployment/bowline-controller", "PodDisruptionBudget/bowline-controller", "Service/bowline-webhook",
			},
		},
		"without secrets": {
			reason: "nothing may see Secrets then",
			opts:   install.Options{WithoutSecrets: true},
			gone:   []string{"ClusterRole/bowline-services-secrets"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gone []string
			some := objects(t, test.opts)
			for _, object := range objects(t, install.Options{}) {
				if find(t, some, object.GetKind(), object.GetName()) == nil {
					gone = append(gone, object.GetKind()+"/"+object.GetName())
				}
			}
			if diff := cmp.Diff(test.gone, gone); diff != "" {
				t.Errorf("%s: left out (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestWebhooksFollowTheFeatures: nobody is asked about kinds that are not served.
func TestWebhooksFollowTheFeatures(t *testing.T) {
	t.Parallel()
	core := []string{admission.WebhookBindings, admission.WebhookMappings}
	tests := []struct {
		reason   string
		features []feature.Feature
		want     []string
	}{
		{reason: "the core", want: core},
		{
			reason: "another ability makes no kind", features: []feature.Feature{feature.EntriesAsEnv, feature.Templates}, want: core,
		},
		{
			reason: "the draft's bindings", features: []feature.Feature{feature.DraftAPI},
			want: append(slices.Clone(core), admission.WebhookDraftBindings),
		},
		{
			reason: "everything", features: feature.All(),
			want: append(slices.Clone(core), admission.WebhookDraftBindings, admission.WebhookSyntheticServices),
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			all := objects(t, install.Options{Features: feature.Of(test.features...)})
			for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
				hooks, _, err := unstructured.NestedSlice(find(t, all, kind, admission.DefaultName).Object, "webhooks")
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, hook := range hooks {
					fields, _ := hook.(map[string]any)
					if name, _ := fields["name"].(string); name != admission.WebhookWorkloads {
						got = append(got, name)
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("webhooks of the %s (-want +got):\n%s", kind, diff)
				}
			}
		})
	}
}

func TestImageAndNamespaceReachEveryPlace(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if err := install.Render(&text, install.Options{Image: "example/bowline:1", Namespace: "knots"}); err != nil {
		t.Fatalf("Render: %v", err)
	}
	for _, stale := range []string{install.DefaultImage, install.DefaultNamespace} {
		if strings.Contains(text.String(), stale) {
			t.Errorf("the output still holds %q", stale)
		}
	}
	for _, wanted := range []string{
		"image: example/bowline:1", "namespace: knots", "system:serviceaccount:knots:bowline-controller",
	} {
		if !strings.Contains(text.String(), wanted) {
			t.Errorf("the output lacks %q", wanted)
		}
	}
}

func TestRenderIsOneDocumentAnObject(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if err := install.Render(&text, install.Options{}); err != nil {
		t.Fatalf("Render: %v", err)
	}
	documents := strings.Split(strings.TrimPrefix(text.String(), "---\n"), "\n---\n")
	want := objects(t, install.Options{})
	if len(documents) != len(want) {
		t.Fatalf("%d documents, want %d", len(documents), len(want))
	}
	for i, document := range documents {
		var got unstructured.Unstructured
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatalf("document %d: %v", i, err)
		}
		if err := got.UnmarshalJSON(raw); err != nil {
			t.Fatalf("document %d: %v", i, err)
		}
		if diff := cmp.Diff(want[i].Object, got.Object); diff != "" {
			t.Errorf("document %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestOptionsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	tests := map[string]install.Options{
		"namespace": {Namespace: "Not a label"},
		"image":     {Image: "bowline:latest\nhostNetwork: true"},
	}
	for option, opts := range tests {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			_, err := install.Objects(opts)
			var wrong *install.OptionError
			if !errors.As(err, &wrong) || wrong.Option != option {
				t.Errorf("Objects(%+v): %v, want an OptionError about %s", opts, err, option)
			}
		})
	}
}

func TestWebhooksAreTheSameForAControllerOutside(t *testing.T) {
	t.Parallel()
	mutating, validating, err := install.Webhooks(install.Options{External: true})
	if err != nil {
		t.Fatalf("Webhooks: %v", err)
	}
	got := map[string]admissionregistrationv1.FailurePolicyType{}
	for _, webhook := range mutating.Webhooks {
		got[*webhook.ClientConfig.Service.Path] = *webhook.FailurePolicy
	}
	for _, webhook := range validating.Webhooks {
		got[*webhook.ClientConfig.Service.Path] = *webhook.FailurePolicy
	}
	want := map[string]admissionregistrationv1.FailurePolicyType{
		"/mutate-servicebinding":   admissionregistrationv1.Ignore,
		"/mutate-mapping":          admissionregistrationv1.Ignore,
		"/mutate-workload":         admissionregistrationv1.Ignore,
		"/validate-servicebinding": admissionregistrationv1.Fail,
		"/validate-mapping":        admissionregistrationv1.Fail,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths and failure policies (-want +got):\n%s", diff)
	}
}
