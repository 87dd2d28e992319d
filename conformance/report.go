package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Outcome is what came of testing a clause.
type Outcome string

// The outcomes.
const (
	// Passed means that the clause is kept.
	Passed Outcome = "passed"
	// Failed means that it is not, or that its test did not come to an end.
	Failed Outcome = "failed"
	// NotOffered means that a permission is not made use of, which is right too.
	NotOffered Outcome = "not offered"
	// NotRun means that the cluster lacks what the test needs. Nothing is known then.
	NotRun Outcome = "not run"
)

// Result is what came of one clause.
type Result struct {
	// Clause is the name of the clause.
	Clause string `json:"clause"`
	// SpecRef, Level and Text are those of the clause.
	SpecRef string `json:"specRef"`
	Level   Level  `json:"level"`
	Text    string `json:"text"`
	// Outcome is what came of it.
	Outcome Outcome `json:"outcome"`
	// Message says why, where it did not pass.
	Message string `json:"message,omitempty"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// Report is what came of a run.
type Report struct {
	// Specification is the API version that was tested.
	Specification string `json:"specification"`
	// Kubernetes is the version of the API server.
	Kubernetes string `json:"kubernetes"`
	// Started is when the first clause began, in UTC.
	Started time.Time `json:"started"`
	// Seconds is how long all took together.
	Seconds float64 `json:"seconds"`
	// LeftOut is how many clauses were not asked for.
	LeftOut int `json:"leftOut,omitempty"`
	// Results are in the order of Clauses.
	Results []Result `json:"results"`
}

// Count tells how many clauses had an outcome.
func (r Report) Count(outcome Outcome) int {
	n := 0
	for _, result := range r.Results {
		if result.Outcome == outcome {
			n++
		}
	}
	return n
}

// Conformant says whether no MUST and no MUST NOT that was tested is broken; Complete, whether all were tested.
func (r Report) Conformant() bool {
	for _, result := range r.Results {
		if result.Outcome == Failed && result.Level.Binding() {
			return false
		}
	}
	return true
}

// Complete says whether every clause was tested: none was left out, by choice or for want of something in the cluster.
func (r Report) Complete() bool { return r.LeftOut+r.Count(NotRun) == 0 }

// Summary is one line.
func (r Report) Summary() string {
	verdict := "conformant"
	switch {
	case !r.Conformant():
		verdict = "not conformant"
	case !r.Complete():
		verdict = "conformant as far as tested"
	}
	counts := make([]string, 0, len(outcomes))
	for _, o := range outcomes {
		if n := r.Count(o); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, o))
		}
	}
	if r.LeftOut > 0 {
		counts = append(counts, fmt.Sprintf("%d left out", r.LeftOut))
	}
	all := len(r.Results) + r.LeftOut
	return fmt.Sprintf("%s: %d clauses, %s, in %.1f s", verdict, all, strings.Join(counts, ", "), r.Seconds)
}

var outcomes = []Outcome{Passed, Failed, NotOffered, NotRun}

// WriteText writes the report for people: a line for each clause, what went wrong, and a summary.
func (r Report) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "CLAUSE\tLEVEL\tSECTION\tOUTCOME\n")
	for _, result := range r.Results {
		outcome := string(result.Outcome)
		if result.Outcome == NotRun {
			outcome += ": " + result.Message
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", result.Clause, result.Level, result.SpecRef, outcome)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	var rest strings.Builder
	for _, result := range r.Results {
		if result.Outcome == Failed || result.Outcome == NotOffered {
			fmt.Fprintf(&rest, "\n%s %s: %s\n  %s\n", result.Clause, result.Outcome, result.Text,
				strings.ReplaceAll(result.Message, "\n", "\n  "))
		}
	}
	fmt.Fprintf(&rest, "\n%s, Kubernetes %s\n%s\n", r.Specification, cmp.Or(r.Kubernetes, "of unknown version"), r.Summary())
	if _, err := io.WriteString(w, rest.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// WriteJSON writes the report as one JSON object: the fields of Report, and conformant, complete and summary.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(struct {
		Conformant bool   `json:"conformant"`
		Complete   bool   `json:"complete"`
		Summary    string `json:"summary"`
		Report
	}{r.Conformant(), r.Complete(), r.Summary(), r})
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
