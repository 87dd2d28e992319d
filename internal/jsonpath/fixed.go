package jsonpath

import (
	"slices"
	"strconv"
	"strings"
)

// Fixed is the subset of JSONPath that the Service Binding Specification calls Fixed JSONPath: fields and nothing
// else, so that it leads to exactly one place. It is immutable and safe for concurrent use.
type Fixed struct {
	names []string
	text  string
}

// Gap is a place that held nothing, or null, before something was put there.
type Gap struct {
	// Steps lead to the place.
	Steps []string
	// Null tells a null from a missing field.
	Null bool
}

// ParseFixed reads a Fixed JSONPath. The error is a *SyntaxError.
func ParseFixed(expression string) (*Fixed, error) {
	path, err := Parse(expression)
	if err != nil {
		return nil, err
	}
	refuse := func(position int, message string) error {
		return &SyntaxError{Expression: expression, Position: position, Message: message}
	}
	if begin := strings.TrimLeft(expression, " "); begin[0] != '.' && begin[0] != '[' {
		return nil, refuse(len(expression)-len(begin), "a Fixed JSONPath begins with a dot or a bracket")
	}
	for i, s := range path.steps {
		if _, ok := s.(fieldStep); !ok {
			return nil, refuse(path.positions[i], "a Fixed JSONPath consists of fields only, such as .spec['template']")
		}
	}
	if len(path.steps) == 0 {
		return nil, refuse(0, "a Fixed JSONPath names at least one field")
	}
	names, _ := fieldNames(path.steps)
	return &Fixed{names: names, text: path.text}, nil
}

// String is the one normal form of the expression.
func (f *Fixed) String() string {
	return f.text
}

// Steps are the fields, outermost first.
func (f *Fixed) Steps() []string {
	return slices.Clone(f.names)
}

// Pointer is the place as an RFC 6901 JSON pointer.
func (f *Fixed) Pointer() string {
	return Pointer(f.names)
}

// Get gives the value at the place. Below a missing or null parent there is none. The error is a *TypeError.
func (f *Fixed) Get(root any) (value any, found bool, err error) {
	value = root
	for i, name := range f.names {
		if value == nil {
			return nil, false, nil
		}
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false, f.blocked(i, value)
		}
		if value, found = object[name]; !found {
			return nil, false, nil
		}
	}
	return value, true, nil
}

// Set puts a value at the place, creating objects where a parent is missing or null, and tells, outermost first, the
// places that held nothing before. Nothing is changed when there is an error; it is a *TypeError.
func (f *Fixed) Set(root map[string]any, value any) ([]Gap, error) {
	if _, _, err := f.Get(root); err != nil {
		return nil, err
	}
	var gaps []Gap
	last := len(f.names) - 1
	for i, name := range f.names {
		held, found := root[name]
		if held == nil {
			gaps = append(gaps, Gap{Steps: slices.Clone(f.names[:i+1]), Null: found})
		}
		if i == last {
			root[name] = value
			break
		}
		below, ok := held.(map[string]any)
		if !ok {
			below = map[string]any{}
			root[name] = below
		}
		root = below
	}
	return gaps, nil
}

func (f *Fixed) blocked(i int, value any) error {
	return &TypeError{
		Expression: f.text, At: Pointer(f.names[:i]), Step: "field " + strconv.Quote(f.names[i]), Found: Kind(value),
	}
}

// FixedOf is the path through these fields.
func FixedOf(names ...string) *Fixed {
	steps := make([]step, 0, len(names))
	for _, name := range names {
		steps = append(steps, fieldStep(name))
	}
	return &Fixed{names: slices.Clone(names), text: textOf(steps)}
}
