package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// The elements of the format that continuous integration reads.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitReason `xml:"failure,omitempty"`
		Skipped *junitReason `xml:"skipped,omitempty"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report in JUnit's XML. A clause is a test case, the section its class. What was not run, and a
// permission that is not made use of, counts as skipped, with the reason.
func (r Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{
		Name: r.Specification, Tests: len(r.Results),
		Failures: r.Count(Failed), Skipped: r.Count(NotRun) + r.Count(NotOffered),
		Time: seconds(r.Seconds), Timestamp: r.Started.UTC().Format(time.RFC3339),
	}
	for _, result := range r.Results {
		suite.Cases = append(suite.Cases, junitOf(result))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func junitOf(result Result) junitCase {
	c := junitCase{Class: result.SpecRef, Name: result.Clause, Time: seconds(result.Seconds)}
	switch result.Outcome {
	case Failed:
		c.Failure = &junitReason{
			Message: string(result.Level) + ": " + result.Text,
			Text:    result.Message,
		}
	case NotRun, NotOffered:
		c.Skipped = &junitReason{Message: string(result.Outcome), Text: result.Message}
	case Passed:
	}
	return c
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
