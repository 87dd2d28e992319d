package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/conformance"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

// keptByLying are the clauses that hold where the definitions and roles are installed, and whatever runs calls every
// binding ready and does nothing: they are about definitions, roles and the form of a status.
var keptByLying = []string{
	"schema-binding", "binding-needs-workload", "binding-needs-service", "containers-are-strings", "env-needs-name-and-key",
	"status-conditions", "ready-unknown-meanwhile", "schema-mapping", "mapping-needs-version", "mapping-container-needs-path",
	"rbac-aggregated-role", "rbac-role-is-bound",
}

// draftKeptByLying are those of the early draft.
var draftKeptByLying = []string{
	"draft-binding-needs-application", "draft-binding-needs-service", "draft-status-conditions", "draft-mapping-needs-name-and-value",
	"draft-synthetic-needs-services", "draft-synthetic-mapping-needs-name-and-value", "draft-rbac-aggregated-role",
	"draft-rbac-role-is-bound",
}

// TestClausesHaveTeeth runs the suite against a liar. Any further clause that passes there takes a binding's word for what
// it should look at itself.
func TestClausesHaveTeeth(t *testing.T) {
	runAgainstLiar(t, conformance.Specification, bindingv1.GroupVersion.WithResource("servicebindings"), keptByLying)
}

func TestDraftClausesHaveTeeth(t *testing.T) {
	runAgainstLiar(t, conformance.EarlyDraft, draftv1alpha1.GroupVersion.WithResource("servicebindings"), draftKeptByLying)
}

func runAgainstLiar(t *testing.T, api conformance.API, about schema.GroupVersionResource, kept []string) {
	t.Helper()
	config, err := planetest.Start(t).RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := installBowline(t.Context(), config, feature.Of(feature.All()...)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- lie(ctx, config, about) }()
	report, err := conformance.Run(t.Context(), config, conformance.Options{API: api, Parallel: 64, Timeout: 8 * time.Second})
	stop()
	if lied := <-done; err != nil || lied != nil {
		t.Fatal(err, lied)
	}
	for _, r := range report.Results {
		if r.Outcome == conformance.Passed && !slices.Contains(kept, r.Clause) {
			t.Errorf("a liar keeps clause %s", r.Clause)
		}
	}
	if report.Conformant() {
		t.Error("a liar is reported as conformant")
	}
}

// lie calls every binding ready, at once and whatever it is.
func lie(ctx context.Context, config *rest.Config, about schema.GroupVersionResource) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	all := client.Resource(about)
	claim := func(kind string) map[string]any {
		return map[string]any{
			"type": kind, "status": "True", "reason": "Said", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}
	}
	_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		list, err := all.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // asked again
		}
		for i := range list.Items {
			o := &list.Items[i]
			data, _ := json.Marshal(map[string]any{"status": map[string]any{
				"observedGeneration": o.GetGeneration(), "conditions": []any{claim("Ready"), claim("ServiceAvailable")},
			}})
			_, _ = all.Namespace(o.GetNamespace()).
				Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{}, "status")
		}
		return false, nil
	})
	return nil
}
