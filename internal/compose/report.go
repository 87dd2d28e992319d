package compose

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/template"
)

// report gathers faults.
type report struct {
	faults Faults
}

// invalid adds that a field's value breaks a rule.
func (r *report) invalid(at *field.Path, got, problem, hint string) {
	r.faults = append(r.faults, &Fault{Field: at.String(), Problem: problem, Hint: hint, kind: field.ErrorTypeInvalid, got: brief(got)})
}

// required adds that a field is empty.
func (r *report) required(at *field.Path, problem string) {
	r.faults = append(r.faults, &Fault{Field: at.String(), Problem: problem, kind: field.ErrorTypeRequired})
}

// duplicate adds that a field says what another says.
func (r *report) duplicate(at *field.Path, got, problem, hint string) {
	r.faults = append(r.faults, &Fault{Field: at.String(), Problem: problem, Hint: hint, kind: field.ErrorTypeDuplicate, got: brief(got)})
}

// forbidden adds that a field goes too far.
func (r *report) forbidden(at *field.Path, problem, hint string) {
	r.faults = append(r.faults, &Fault{Field: at.String(), Problem: problem, Hint: hint, kind: field.ErrorTypeForbidden})
}

// tooMany adds that a list is too long.
func (r *report) tooMany(at *field.Path, got, most int) {
	r.forbidden(at, fmt.Sprintf("%d items, at most %d are allowed", got, most), "split it into several objects")
}

// tooLarge adds that the values are too large together.
func (r *report) tooLarge(at *field.Path) {
	r.forbidden(at, fmt.Sprintf("all values together have more than %d bytes, which is what a Secret holds", MaxSize),
		"take fewer or smaller values")
}

// unreadable adds that a template cannot be parsed.
func (r *report) unreadable(at *field.Path, text string, err error) {
	f := &Fault{Field: at.String(), Problem: err.Error(), kind: field.ErrorTypeInvalid}
	if syntax, ok := errors.AsType[*template.SyntaxError](err); ok {
		f.Position, f.Problem, f.Hint, f.got = &syntax.Position, syntax.Expected, syntax.Hint, brief(text[syntax.Offset:])
	}
	r.faults = append(r.faults, f)
}

// place is where in which field a fault lies, and what stands there.
type place struct {
	at       *field.Path
	position template.Position
	text     string
}

// within adds that something is wrong at a position of a template.
func (r *report) within(p place, problem, hint string) {
	r.faults = append(r.faults, &Fault{
		Field: p.at.String(), Position: &p.position, Problem: problem, Hint: hint, kind: field.ErrorTypeInvalid, got: brief(p.text),
	})
}
