package conformance_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/conformance"
)

func result(name string, level conformance.Level, outcome conformance.Outcome, message string) conformance.Result {
	return conformance.Result{
		Clause: name, SpecRef: "Service Binding", Level: level, Text: "what <" + name + "> asks for",
		Outcome: outcome, Message: message, Seconds: 1.5,
	}
}

func report(results ...conformance.Result) conformance.Report {
	return conformance.Report{
		Specification: "servicebinding.io/v1", Kubernetes: "v1.36.3", Seconds: 3,
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Results: results,
	}
}

var mixed = report(
	result("kept", conformance.Must, conformance.Passed, ""),
	result("broken", conformance.Should, conformance.Failed, "waiting until it is:\nit is not"),
	result("extra", conformance.May, conformance.NotOffered, "it is not there"),
	result("node", conformance.Must, conformance.NotRun, "no node"),
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		report  conformance.Report
		want    bool
		summary string
	}{
		"all kept": {
			report(result("a", conformance.Must, conformance.Passed, "")), true,
			"conformant: 1 clauses, 1 passed, in 3.0 s",
		},
		"a SHOULD is broken, one is not run": {
			mixed, true,
			"conformant as far as tested: 4 clauses, 1 passed, 1 failed, 1 not offered, 1 not run, in 3.0 s",
		},
		"some are left out": {
			conformance.Report{LeftOut: 2, Results: []conformance.Result{result("a", conformance.Must, conformance.Passed, "")}}, true,
			"conformant as far as tested: 3 clauses, 1 passed, 2 left out, in 0.0 s",
		},
		"a MUST is broken": {
			report(result("a", conformance.Must, conformance.Failed, "no")), false,
			"not conformant: 1 clauses, 1 failed, in 3.0 s",
		},
		"a MUST NOT is broken": {
			report(result("a", conformance.MustNot, conformance.Failed, "no")), false,
			"not conformant: 1 clauses, 1 failed, in 3.0 s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.report.Conformant(); got != test.want {
				t.Errorf("conformant: %t, want %t", got, test.want)
			}
			if diff := cmp.Diff(test.summary, test.report.Summary()); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	const want = `CLAUSE  LEVEL   SECTION          OUTCOME
kept    MUST    Service Binding  passed
broken  SHOULD  Service Binding  failed
extra   MAY     Service Binding  not offered
node    MUST    Service Binding  not run: no node

broken failed: what <broken> asks for
  waiting until it is:
  it is not

extra not offered: what <extra> asks for
  it is not there

servicebinding.io/v1, Kubernetes v1.36.3
conformant as far as tested: 4 clauses, 1 passed, 1 failed, 1 not offered, 1 not run, in 3.0 s
`
	var got bytes.Buffer
	if err := mixed.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := mixed.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Conformant bool   `json:"conformant"`
		Complete   bool   `json:"complete"`
		Summary    string `json:"summary"`
		conformance.Report
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Conformant || got.Complete || got.Summary != mixed.Summary() {
		t.Errorf("verdict: %t, %t, %s", got.Conformant, got.Complete, got.Summary)
	}
	if diff := cmp.Diff(mixed, got.Report); diff != "" {
		t.Errorf("what was written and read again (-want +got):\n%s", diff)
	}
}

func TestWriteJUnit(t *testing.T) {
	t.Parallel()
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="servicebinding.io/v1" tests="4" failures="1" skipped="2" time="3.000" timestamp="2026-01-02T03:04:05Z">
    <testcase classname="Service Binding" name="kept" time="1.500"></testcase>
    <testcase classname="Service Binding" name="broken" time="1.500">
      <failure message="SHOULD: what &lt;broken&gt; asks for">waiting until it is:&#xA;it is not</failure>
    </testcase>
    <testcase classname="Service Binding" name="extra" time="1.500">
      <skipped message="not offered">it is not there</skipped>
    </testcase>
    <testcase classname="Service Binding" name="node" time="1.500">
      <skipped message="not run">no node</skipped>
    </testcase>
  </testsuite>
</testsuites>
`
	var got bytes.Buffer
	if err := mixed.WriteJUnit(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("XML (-want +got):\n%s", diff)
	}
	if err := xml.Unmarshal(got.Bytes(), new(struct{})); err != nil {
		t.Errorf("it is not XML: %v", err)
	}
}
