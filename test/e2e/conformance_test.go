package e2e_test

import (
	"testing"

	"github.com/bowline-dev/bowline/conformance"
	"github.com/bowline-dev/bowline/internal/localplane"
)

// TestConformance wants every clause of the specification to be tested on a cluster with a node, and none to be broken.
func TestConformance(t *testing.T) {
	report, err := conformance.Run(t.Context(), admin, conformance.Options{Image: localplane.ShellImage})
	if err != nil {
		t.Fatal(err)
	}
	needNode := 0
	for _, c := range conformance.Clauses() {
		if c.NeedsNode {
			needNode++
		}
	}
	if needNode == 0 || report.LeftOut > 0 {
		t.Errorf("%d clauses need a node, %d were left out", needNode, report.LeftOut)
	}
	for _, r := range report.Results {
		if r.Outcome != conformance.Passed {
			t.Errorf("clause %s: %s: %s", r.Clause, r.Outcome, r.Message)
		}
	}
	t.Log(report.Summary())
}
