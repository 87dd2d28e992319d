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

// page is the one of a text.
type page struct {
	api conformance.API
	// file is where it lies, test what writes it.
	file, test, head, inventory string
	// added is what stands for a line where a word came later.
	added string
}

var (
	specificationPage = page{
		api: conformance.Specification, file: "../docs/reference/conformance.md", test: "TestBowlineConforms",
		head: pageHead, inventory: pageInventory, added: "1.1",
	}
	draftPage = page{
		api: conformance.EarlyDraft, file: "../docs/reference/conformance-draft.md", test: "TestBowlineKeepsTheDraft",
		head: draftHead, inventory: draftInventory,
	}
)

const draftHead = `# Conformance: the early draft

What the early draft of the Service Binding Specification demands of service.binding/v1alpha1, clause by clause, and what came of testing
Bowline with all of its features. This page is made from the clauses and from a run of them against a real API server: run
` + "`go test ./conformance -run TestBowlineKeepsTheDraft -update`" + ` after changing one. Secret generation is left out: the draft describes its
syntax and demands nothing.

Ask the same of any implementation: ` + "`bowline conformance --api draft`" + `; see [how to run the suite](../guides/run-the-conformance-suite.md). For
the specification itself there is [another page](conformance.md).

The level is the draft's own word; *stated* marks what it says, or what follows, without one of these words. An extension that an
implementation does not have at all is *not offered*, which is right.

%s

## Clauses

| clause | section | level | asks that | result |
|---|---|---|---|---|
`

const draftInventory = `
## The text, word by word

Every MUST, MUST NOT, SHOULD, SHOULD NOT, RECOMMENDED and MAY, by its line in the text as Markdown. A word with neither a clause nor a reason
fails a test.

| line | section | word | about | tested by |
|---|---|---|---|---|
`

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

// check sees that the page says what the clauses are and what came of them.
func (p page) check(t *testing.T, report conformance.Report) {
	t.Helper()
	want := p.of(t, report)
	if *update {
		if err := os.WriteFile(p.file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.compare(t, want)
}

func (p page) compare(t *testing.T, want string) {
	t.Helper()
	got, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not current; run: go test ./conformance -run %s -update (-want +got):\n%s", p.file, p.test, diff)
	}
}

// TestPageIsCurrent sees, without running a clause, that the pages name every clause and requirement as they are now, and
// claim no other results than those that they show. That these are true is for the tests that run the clauses to see.
func TestPageIsCurrent(t *testing.T) {
	t.Parallel()
	for _, p := range []page{specificationPage, draftPage} {
		got, err := os.ReadFile(p.file)
		if err != nil {
			t.Fatal(err)
		}
		p.compare(t, p.of(t, p.shown(t, string(got))))
	}
}

// shown is the report that a page shows.
func (p page) shown(t *testing.T, text string) conformance.Report {
	t.Helper()
	shown := map[string]string{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if name, ok := strings.CutPrefix(cells[0], "| `"); ok && len(cells) > 1 {
			shown[strings.Trim(name, "`")] = strings.TrimSuffix(cells[len(cells)-1], " |")
		}
	}
	clauses, err := conformance.ClausesOf(p.api)
	if err != nil {
		t.Fatal(err)
	}
	var report conformance.Report
	for _, c := range clauses {
		r := conformance.Result{Clause: c.Name, SpecRef: c.SpecRef, Level: c.Level, Text: c.Text, Outcome: conformance.Outcome(shown[c.Name])}
		if shown[c.Name] == "needs a node" {
			r.Outcome = conformance.NotRun
		}
		if (r.Outcome == conformance.NotRun) != c.NeedsNode {
			t.Errorf("clause %s: the page says %q", c.Name, shown[c.Name])
		}
		report.Results = append(report.Results, r)
	}
	return report
}

func (p page) of(t *testing.T, report conformance.Report) string {
	t.Helper()
	inventory, err := conformance.InventoryOf(p.api)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	verdict := fmt.Sprintf("Bowline: %d of %d clauses passed, %d failed, %d need a node.",
		report.Count(conformance.Passed), len(report.Results), report.Count(conformance.Failed), report.Count(conformance.NotRun))
	fmt.Fprintf(&out, p.head, verdict)
	for _, r := range report.Results {
		outcome := string(r.Outcome)
		if r.Outcome == conformance.NotRun {
			outcome = "needs a node"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", r.Clause, r.SpecRef, r.Level, cell(r.Text), outcome)
	}
	out.WriteString(p.inventory)
	for _, r := range inventory {
		line := strconv.Itoa(r.Line)
		if r.Line == 0 {
			line = p.added
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
