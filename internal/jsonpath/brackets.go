package jsonpath

import (
	"math"
	"strconv"
	"strings"
)

// bracket reads what follows an opening bracket, up to and including the closing one.
func (p *parser) bracket() (step, error) {
	p.spaces()
	if p.accept("?") {
		return p.filter()
	}
	var members unionStep
	for {
		p.spaces()
		member, err := p.member()
		if err != nil {
			return nil, err
		}
		members = append(members, member)
		p.spaces()
		if !p.accept(",") {
			break
		}
		if err := p.counted(); err != nil {
			return nil, err
		}
	}
	if !p.accept("]") {
		return nil, p.fail("a closing bracket is expected")
	}
	if len(members) == 1 {
		return members[0], nil
	}
	return members, nil
}

func (p *parser) member() (step, error) {
	switch p.peek() {
	case '*':
		p.pos++
		return wildcardStep{}, nil
	case '\'', '"':
		name, err := p.quotedText()
		return fieldStep(name), err
	default:
		return p.indexOrSlice()
	}
}

func (p *parser) indexOrSlice() (step, error) {
	start, err := p.integer()
	if err != nil {
		return nil, err
	}
	if !p.accept(":") {
		if start == nil {
			return nil, p.fail("a quoted name, a number, a slice, * or a filter is expected")
		}
		return indexStep(*start), nil
	}
	end, err := p.integer()
	if err != nil || !p.accept(":") {
		return sliceStep{start: start, end: end}, err
	}
	position := p.pos
	by, err := p.integer()
	if err != nil {
		return nil, err
	}
	if by != nil && *by < 1 {
		p.pos = position
		return nil, p.fail("the step of a slice is at least 1")
	}
	return sliceStep{start: start, end: end, by: by}, nil
}

// filter reads what follows the question mark.
func (p *parser) filter() (step, error) {
	p.nesting++
	defer func() { p.nesting-- }()
	if p.nesting > maxNesting {
		return nil, p.fail("at most %d filters may stand inside each other", maxNesting)
	}
	p.spaces()
	if !p.accept("(") {
		return nil, p.fail("a filter is written [?(...)]")
	}
	s, err := p.condition()
	if err != nil {
		return nil, err
	}
	if !p.accept(")") {
		return nil, p.fail("a closing parenthesis is expected")
	}
	p.spaces()
	if !p.accept("]") {
		return nil, p.fail("a closing bracket is expected")
	}
	return s, nil
}

func (p *parser) condition() (step, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	operator := p.operator()
	if operator == "" {
		if left.steps == nil {
			return nil, p.fail("a comparison is expected: ==, !=, <, <=, > or >=")
		}
		return filterStep{left: left}, nil
	}
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	return filterStep{left: left, operator: operator, right: right}, nil
}

func (p *parser) operator() string {
	for _, operator := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if p.accept(operator) {
			return operator
		}
	}
	return ""
}

func (p *parser) operand() (operand, error) {
	p.spaces()
	defer p.spaces()
	switch c := p.peek(); {
	case c == '@':
		p.pos++
		steps, _, err := p.steps()
		return operand{steps: steps, text: "@" + textOf(steps)}, err
	case c == '\'' || c == '"':
		text, err := p.quotedText()
		return operand{literal: text, text: quoted(text)}, err
	case p.accept("true"):
		return operand{literal: true, text: "true"}, nil
	case p.accept("false"):
		return operand{literal: false, text: "false"}, nil
	default:
		return p.numberOperand()
	}
}

func (p *parser) numberOperand() (operand, error) {
	start := p.pos
	for p.pos < p.end && strings.IndexByte("+-.0123456789eE", p.peek()) >= 0 {
		p.pos++
	}
	text := p.source[start:p.pos]
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(n, 0) {
		p.pos = start
		return operand{}, p.fail("@, a quoted text, a number, true or false is expected")
	}
	return operand{literal: n, text: text}, nil
}
