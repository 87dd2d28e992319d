package generate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Reason says whom a fault waits for.
type Reason string

// The reasons.
const (
	// ReasonInvalid is the reason when the description itself is wrong: somebody has to correct it.
	ReasonInvalid Reason = "Invalid"
	// ReasonAbsent is the reason when the description points to something that is not there, or not yet.
	ReasonAbsent Reason = "Absent"
)

// Fault says what is wrong with one rule.
type Fault struct { //nolint:errname // a fault of the description; the error is that nothing is made
	// Origin is where the rule was written.
	Origin Origin
	// Position is the byte of the rule's text, counted from 0, at which it stops making sense; -1 where that is not the matter.
	Position int
	// Problem says what is wrong and what was expected.
	Problem string
	// Hint says what to do; it may be empty.
	Hint string
	// Reason says whom the fault waits for.
	Reason Reason
}

// Error names the place, what is wrong and what to do.
func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.Origin.String())
	if f.Position >= 0 {
		b.WriteString(", position " + strconv.Itoa(f.Position))
	}
	b.WriteString(": " + f.Problem)
	if f.Hint != "" {
		b.WriteString("; " + f.Hint)
	}
	return b.String()
}

// Missing says that a Secret or ConfigMap that a rule points to does not exist.
type Missing struct { //nolint:errname // what is missing is the news, not that it is an error
	// Reference is what is missing.
	Reference Reference
	// Origin is where the rule was written that points to it.
	Origin Origin
}

// Error names the object, the rule and what to do.
func (m *Missing) Error() string {
	return m.Origin.String() + ": " + m.Reference.String() + " does not exist in the namespace of the service; " +
		"create it, wait for it, or add optional=true"
}

// Faults are all that is wrong with a description, in an order that depends on nothing but the input. Each is a *Fault or a
// *Missing, which errors.As finds.
type Faults []error //nolint:errname // the plural of Fault

// Error tells every fault.
func (f Faults) Error() string {
	texts := make([]string, 0, len(f))
	for _, err := range f {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "\n")
}

// Unwrap gives the faults to errors.Is and errors.As.
func (f Faults) Unwrap() []error { return f }

// Missing lists the objects that do not exist, each once, sorted.
func (f Faults) Missing() []Reference {
	var missing []Reference
	for _, err := range f {
		if m, ok := err.(*Missing); ok { //nolint:errorlint // a fault wraps nothing
			missing = append(missing, m.Reference)
		}
	}
	slices.SortFunc(missing, compareReferences)
	return slices.Compact(missing)
}

// err is nil without faults.
func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Reference is a Secret or ConfigMap in the namespace of the service.
type Reference struct {
	// Kind is Secret or ConfigMap.
	Kind string
	// Name of the object.
	Name string
}

// String names the object for people.
func (r Reference) String() string { return r.Kind + " " + strconv.Quote(r.Name) }

func compareReferences(a, b Reference) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// wrong is what is wrong within a text, before it is known where that was written.
type wrong struct {
	at      int
	problem string
	hint    string
}

func (w *wrong) fault(origin Origin) *Fault {
	return &Fault{Origin: origin, Position: w.at, Problem: w.problem, Hint: w.hint, Reason: ReasonInvalid}
}

// bounded quotes text that came from outside, and cuts it where it is long.
func bounded(text string) string {
	const most = 80
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "…"
	}
	return strconv.Quote(text)
}
