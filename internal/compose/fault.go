package compose

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/template"
)

// Fault is one thing that is wrong with what a user wrote, or with what it leads to. It holds no value of a Secret.
type Fault struct { //nolint:errname // what it is
	// Field is where it was written, such as spec.mappings[1].value.
	Field string
	// Position is the place within the field's text; nil where the field as a whole is meant.
	Position *template.Position
	// Problem says what is wrong.
	Problem string
	// Hint says what to do.
	Hint string

	kind field.ErrorType
	got  string
}

// Error names the field, the position, what is wrong and what to do.
func (f *Fault) Error() string {
	return f.Field + f.detail(", ")
}

func (f *Fault) detail(before string) string {
	text := f.Problem
	if f.Position != nil {
		text = before + f.Position.String() + ": " + text
	} else if before != "" {
		text = ": " + text
	}
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	return text
}

// Faults are all that is wrong, in the order in which it was written: first what is so whatever the values are. It is an error,
// and so is each of them.
type Faults []*Fault //nolint:errname // what they are

// Error tells the first ten.
func (fs Faults) Error() string {
	const most = 10
	texts := make([]string, 0, most)
	for _, f := range fs[:min(len(fs), most)] {
		texts = append(texts, f.Error())
	}
	text := strings.Join(texts, "; also ")
	if len(fs) > most {
		text += fmt.Sprintf("; and %d more", len(fs)-most)
	}
	return text
}

// Unwrap gives each fault as an error.
func (fs Faults) Unwrap() []error {
	errs := make([]error, 0, len(fs))
	for _, f := range fs {
		errs = append(errs, f)
	}
	return errs
}

// err is the faults as an error, nil for none.
func (fs Faults) err() error {
	if len(fs) == 0 {
		return nil
	}
	return fs
}

// List is the faults in the form of admission.
func (fs Faults) List() field.ErrorList {
	var errs field.ErrorList
	for _, f := range fs {
		errs = append(errs, &field.Error{Type: f.kind, Field: f.Field, BadValue: f.got, Detail: f.detail("")})
	}
	return errs
}

// brief is the beginning of a text that may be long.
func brief(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// names lists names, sorted, not all if there are many.
func names(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(all))
	text := strings.Join(sorted[:min(len(sorted), mostNames)], ", ")
	if len(sorted) > mostNames {
		text += fmt.Sprintf(" and %d more", len(sorted)-mostNames)
	}
	return text
}
