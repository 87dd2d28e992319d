package check

import (
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/internal/node"
)

// Severity says how bad a finding is.
type Severity string

// The severities there are, the worst first.
const (
	// Error breaks a MUST of the specification, or keeps a container from starting.
	Error Severity = "error"
	// Warning breaks a SHOULD, or leaves a library without what it looks for.
	Warning Severity = "warning"
	// Info is worth knowing.
	Info Severity = "info"
)

// Rules by which there are findings.
const (
	RuleBinding     = "binding"
	RuleService     = "service"
	RuleName        = "binding-name"
	RuleType        = "type"
	RuleProvider    = "provider"
	RuleSecretType  = "secret-type"
	RuleEntryName   = "entry-name"
	RuleWellKnown   = "well-known"
	RuleValue       = "value"
	RuleLineBreak   = "line-break"
	RuleEmpty       = "empty"
	RuleExpired     = "expired"
	RuleSize        = "size"
	RuleEnv         = "env"
	RuleRequired    = "required"
	RuleNeeds       = "library-needs"
	RuleSpelling    = "library-spelling"
	RuleUnread      = "library-unread"
	RuleUnknownType = "unknown-type"
)

// Finding is one thing worth saying.
type Finding struct {
	// Severity says how bad it is.
	Severity Severity `json:"severity"`
	// Rule names what decides it: one of this package's rules.
	Rule string `json:"rule"`
	// Entry is the entry that it is about; "" where it is about the whole.
	Entry string `json:"entry,omitempty"`
	// Library is the one that trips; "" where it is about all.
	Library string `json:"library,omitempty"`
	// Message says what is wrong and what to do. It holds no value.
	Message string `json:"message"`
}

// Subject is what is checked: one binding, or the Secret of one to be.
type Subject struct {
	// Name as a person calls it: secret/orders-db, servicebinding/orders, a directory.
	Name string
	// Origin is where it was found, file and line; "" for a cluster.
	Origin string
	// Directory is the name of the binding's directory; "" where it is not known yet.
	Directory string
	// Secret is the Secret's own type; nil where there is no Secret, or none is known.
	Secret *string
	// Entries are the Secret's data, or the directory's files.
	Entries map[string]node.Value
	// Type and Provider are what the ServiceBinding sets; "" for nothing.
	Type, Provider string
	// Env are the entries that the ServiceBinding maps to variables.
	Env []string
	// Bound says that the entries are those of a container: the entry type MUST be among them.
	Bound bool
	// Found are findings that were made on the way here.
	Found []Finding
	// Unknown says that the entries are not known, so that there is nothing more to be found.
	Unknown bool
}

// Report is what was found about a subject.
type Report struct {
	// Name and Origin are the subject's.
	Name   string `json:"name"`
	Origin string `json:"origin,omitempty"`
	// Type and Provider are those of the binding, as far as known.
	Type     string `json:"type,omitempty"`
	Provider string `json:"provider,omitempty"`
	// Findings are sorted: the worst first, then by entry.
	Findings []Finding `json:"findings"`
}

// Count is how many findings of a severity there are in some reports.
func Count(reports []Report, severity Severity) int {
	n := 0
	for i := range reports {
		for _, f := range reports[i].Findings {
			if f.Severity == severity {
				n++
			}
		}
	}
	return n
}

// Check says what is wrong with a subject, at a time.
func Check(s *Subject, now time.Time) Report {
	e := examination{subject: s, now: now, found: slices.Clone(s.Found)}
	e.directory()
	if !s.Unknown {
		e.classify()
		e.names()
		e.values()
		e.variables()
		e.libraries()
	}
	order := []Severity{Error, Warning, Info}
	slices.SortStableFunc(e.found, func(a, b Finding) int {
		if c := slices.Index(order, a.Severity) - slices.Index(order, b.Severity); c != 0 {
			return c
		}
		return strings.Compare(a.Entry+"\x00"+a.Library, b.Entry+"\x00"+b.Library)
	})
	return Report{Name: s.Name, Origin: s.Origin, Type: e.kind, Provider: e.provider, Findings: append([]Finding{}, e.found...)}
}
