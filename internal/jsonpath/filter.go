package jsonpath

import (
	"cmp"
	"errors"
)

// filterStep keeps the elements of a list for which a condition holds.
type filterStep struct {
	left, right operand
	operator    string // empty: left exists
}

// operand is a path from the element, or a literal.
type operand struct {
	steps   []step
	literal any
	text    string
}

func (s filterStep) String() string {
	return "[?(" + s.left.text + s.operator + s.right.text + ")]"
}

func (s filterStep) apply(e *evaluation, n node, rest route) error {
	list, ok := n.value.([]any)
	if !ok {
		return e.cannot(n, "elements to filter")
	}
	n.definite = false
	for i, element := range list {
		child := e.index(n, i, element)
		if err := e.visit(child); err != nil {
			return err
		}
		holds, err := s.holds(e, child)
		if err != nil {
			return err
		}
		if !holds {
			continue
		}
		if err := e.walk(child, rest); err != nil {
			return err
		}
	}
	return nil
}

func (s filterStep) holds(e *evaluation, element node) (bool, error) {
	left, err := s.left.value(e, element)
	if err != nil || left == nil {
		return false, err
	}
	if s.operator == "" {
		return true, nil
	}
	right, err := s.right.value(e, element)
	if err != nil || right == nil {
		return false, err
	}
	if err := e.spend(compared(left, right) / textBytes); err != nil {
		return false, err
	}
	return compare(left, s.operator, right), nil
}

// compared is how many bytes a comparison looks at, at most.
func compared(left, right any) int {
	l, isText := left.(string)
	r, areTexts := right.(string)
	if !isText || !areTexts {
		return 0
	}
	return min(len(l), len(r))
}

// several stands for the value of an operand whose path finds more than one: it exists, and compares with nothing.
type several struct{}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// probe takes the value that an operand's path finds.
type probe struct {
	value any
	count int
}

func (p *probe) found(n node) error {
	if n.value == nil {
		return nil
	}
	p.value = n.value
	p.count++
	if p.count > 1 {
		return errEnough
	}
	return nil
}

// value of the operand: nil if there is none.
func (o operand) value(e *evaluation, element node) (any, error) {
	if o.steps == nil {
		return o.literal, nil
	}
	// A filter within this operand has a probe of its own; the parser sees that there are enough.
	p := &e.probes[e.nesting]
	*p = probe{}
	e.nesting++
	err := e.walk(node{value: element.value, depth: element.depth}, route{steps: o.steps, end: p})
	e.nesting--
	if errors.Is(err, errEnough) {
		return several{}, nil
	}
	return p.value, err
}

// compare holds only between values of one type: numbers, strings or booleans.
func compare(left any, operator string, right any) bool {
	switch l := left.(type) {
	case string:
		r, ok := right.(string)
		return ok && ordered(cmp.Compare(l, r), operator)
	case bool:
		r, ok := right.(bool)
		return ok && (operator == "==" && l == r || operator == "!=" && l != r)
	}
	l, ok := number(left)
	if !ok {
		return false
	}
	r, ok := number(right)
	return ok && ordered(cmp.Compare(l, r), operator)
}

func ordered(order int, operator string) bool {
	switch operator {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case int:
		return float64(n), true
	default:
		return 0, false
	}
}
