package conformance_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/conformance"
)

const page = "../docs/reference/conformance.md"

const pageHead = `# Conformance

What the Service Binding Specification for Kubernetes demands, clause by clause, and what came of testing Bowline. This page is
made from the clauses and from a run of them against a real API server: run
` + "`go test ./conformance -run TestBowlineConforms -update`" + ` after changing one.

Ask the same of any implementation with [bowline conformance](../guides/run-the-conformance-suite.md). One clause alone:
` + "`bowline conformance --run '^direct-secret$'`" + `, or ` + "`go test ./conformance -run 'TestBowlineConforms/direct-secret$' -clauses '^direct-secret$'`" + `.

The level is the specification's own word; *stated* marks what it says, or what follows, without one of these words. What came with
version 1.1 is marked so; the levels there are our reading. A clause that *needs a node* shows what only a kubelet can, and is run
where the cluster has a node that is ready.

%s

## Clauses

| clause | section | level | asks that | result |
|---|---|---|---|---|
`

const pageInventory = `
## The text, word by word

Every MUST, MUST NOT, SHOULD, SHOULD NOT, RECOMMENDED and MAY of version 1.0, by its line in the plain text, and what 1.1 added.
A word with neither a clause nor a reason fails a test.

| line | section | word | about | tested by |
|---|---|---|---|---|
`

// checkPage sees that the page says what the clauses are and what came of them.
func checkPage(t *testing.T, report conformance.Report) {
	t.Helper()
	want := pageOf(report)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not current; run: go test ./conformance -run TestBowlineConforms -update (-want +got):\n%s", page, diff)
	}
}

// TestPageIsCurrent sees, without running a clause, that the page names every clause and requirement as they are now, and
// claims no other results than those that it shows. That these are true is for TestBowlineConforms to see.
func TestPageIsCurrent(t *testing.T) {
	t.Parallel()
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for line := range strings.Lines(string(got)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if name, ok := strings.CutPrefix(cells[0], "| `"); ok && len(cells) > 1 {
			shown[strings.Trim(name, "`")] = strings.TrimSuffix(cells[len(cells)-1], " |")
		}
	}
	var report conformance.Report
	for _, c := range conformance.Clauses() {
		r := conformance.Result{Clause: c.Name, SpecRef: c.SpecRef, Level: c.Level, Text: c.Text, Outcome: conformance.Outcome(shown[c.Name])}
		if shown[c.Name] == "needs a node" {
			r.Outcome = conformance.NotRun
		}
		if (r.Outcome == conformance.NotRun) != c.NeedsNode {
			t.Errorf("clause %s: the page says %q", c.Name, shown[c.Name])
		}
		report.Results = append(report.Results, r)
	}
	if diff := cmp.Diff(pageOf(report), string(got)); diff != "" {
		t.Errorf("%s is not current; run: go test ./conformance -run TestBowlineConforms -update (-want +got):\n%s", page, diff)
	}
}

func pageOf(report conformance.Report) string {
	var out strings.Builder
	verdict := fmt.Sprintf("Bowline: %d of %d clauses passed, %d failed, %d need a node.",
		report.Count(conformance.Passed), len(report.Results), report.Count(conformance.Failed), report.Count(conformance.NotRun))
	fmt.Fprintf(&out, pageHead, verdict)
	for _, r := range report.Results {
		outcome := string(r.Outcome)
		if r.Outcome == conformance.NotRun {
			outcome = "needs a node"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", r.Clause, r.SpecRef, r.Level, cell(r.Text), outcome)
	}
	out.WriteString(pageInventory)
	for _, r := range conformance.Inventory() {
		line := strconv.Itoa(r.Line)
		if r.Line == 0 {
			line = "1.1"
		}
		by := make([]string, 0, len(r.Clauses)+1)
		for _, name := range r.Clauses {
			by = append(by, "`"+name+"`")
		}
		if r.Untestable != "" {
			by = append(by, "not testable from outside: "+r.Untestable)
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", line, r.SpecRef, r.Level, cell(r.Text), cell(strings.Join(by, ", ")))
	}
	return out.String()
}

// cell keeps a text from being taken for Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "\\<", "*", "\\*", "[", "\\[").Replace(text)
}
