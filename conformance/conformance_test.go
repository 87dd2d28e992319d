package conformance_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/textlogger"

	"github.com/bowline-dev/bowline/conformance"
	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

var (
	update = flag.Bool("update", false, "write docs/reference/conformance.md anew")
	only   = flag.String("clauses", "", "run the clauses whose names match only")
)

func installBowline(ctx context.Context, c *rest.Config, features feature.Set) error {
	return install.Apply(ctx, c, install.Options{External: true, Features: features}, func(string) {}) //nolint:wrapcheck // shown as it is
}

// runBowline runs the controller as it runs in a cluster: as its service account, with admission.
func runBowline(ctx context.Context, c *rest.Config, features feature.Set) error {
	port, err := localplane.FreePort(0)
	if err != nil {
		return fmt.Errorf("choosing a port: %w", err)
	}
	c = rest.CopyConfig(c)
	c.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:bowline-system:bowline-controller"}
	return controller.Run(ctx, c, controller.Options{ //nolint:wrapcheck // shown as it is
		Namespace:      install.DefaultNamespace,
		MetricsAddress: "0",
		ProbeAddress:   "0",
		WebhookHost:    "127.0.0.1",
		WebhookPort:    port,
		Endpoint:       admission.Endpoint{URL: fmt.Sprintf("https://127.0.0.1:%d", port)},
		Hosts:          []string{"127.0.0.1", "localhost"},
		CreateWebhooks: true,
		Features:       features,
		Gather:         controller.DefaultGather,
		// Several tests of this package run one, each for a control plane of its own.
		SkipNameValidation: true,
		Log:                textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr))),
	})
}

// TestBowlineConforms runs every clause against Bowline, each as a test of its own name. None may fail, and none may be
// left out but those that need a node.
func TestBowlineConforms(t *testing.T) { runClauses(t, specificationPage, feature.Set{}) }

// TestBowlineKeepsTheDraft does the same for the early draft, with all features.
func TestBowlineKeepsTheDraft(t *testing.T) { runClauses(t, draftPage, feature.Of(feature.All()...)) }

func runClauses(t *testing.T, p page, features feature.Set) {
	t.Helper()
	// Each test starts the control plane that it needs: those that look at the clauses alone run where there is none.
	config, err := planetest.Start(t, planetest.WithControllerManager()).RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	startBowline(t.Context(), t, config, features)
	report, err := conformance.Run(t.Context(), config, conformance.Options{API: p.api, Run: regexp.MustCompile(*only)})
	if err != nil {
		t.Fatal(err)
	}
	clauses, err := conformance.ClausesOf(p.api)
	if err != nil {
		t.Fatal(err)
	}
	needsNode := map[string]bool{}
	for _, c := range clauses {
		needsNode[c.Name] = c.NeedsNode
	}
	for _, r := range report.Results {
		t.Run(r.Clause, func(t *testing.T) {
			t.Logf("%.1f s: %s", r.Seconds, r.Outcome)
			if r.Outcome != conformance.Passed && (r.Outcome != conformance.NotRun || !needsNode[r.Clause]) {
				t.Errorf("%s %s: %s", r.Level, r.Outcome, r.Message)
			}
		})
	}
	t.Log(report.Summary())
	if *only == "" {
		t.Run("page", func(t *testing.T) { p.check(t, report) })
	}
}
