package jsonpath

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parse reads an expression. The error is a *SyntaxError.
func Parse(expression string) (*Path, error) {
	p := &parser{source: expression, end: len(expression)}
	if err := p.open(); err != nil {
		return nil, err
	}
	start := p.pos
	p.accept("$")
	steps, positions, err := p.steps()
	if err != nil {
		return nil, err
	}
	switch {
	case p.pos < p.end && p.pos == start:
		return nil, p.fail("a path begins with a dot or a bracket, such as .spec or ['spec']")
	case p.pos < p.end:
		return nil, p.fail("a dot or a bracket is expected")
	case start == p.end:
		return nil, p.fail("the path is empty")
	}
	text := textOf(steps)
	if text == "" {
		text = "$"
	}
	return &Path{steps: steps, positions: positions, text: text}, nil
}

type parser struct {
	source   string
	pos, end int
	count    int
	nesting  int
}

// open checks what can be checked without reading, and takes off spaces and braces.
func (p *parser) open() error {
	if len(p.source) > MaxLength {
		p.pos = MaxLength
		return p.fail("a path has at most %d bytes", MaxLength)
	}
	if !utf8.ValidString(p.source) {
		return p.fail("a path is UTF-8 text")
	}
	p.trim()
	if p.pos < p.end && p.source[p.pos] == '{' {
		if p.end-p.pos < 2 || p.source[p.end-1] != '}' {
			return p.fail("the brace is not closed")
		}
		p.pos++
		p.end--
		p.trim()
	}
	return nil
}

func (p *parser) trim() {
	for p.pos < p.end && p.source[p.pos] == ' ' {
		p.pos++
	}
	for p.end > p.pos && p.source[p.end-1] == ' ' && (p.end == p.pos+1 || p.source[p.end-2] != '\\') {
		p.end--
	}
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{Expression: p.source, Position: p.pos, Message: fmt.Sprintf(format, args...)}
}

func (p *parser) peek() byte {
	if p.pos >= p.end {
		return 0
	}
	return p.source[p.pos]
}

func (p *parser) accept(text string) bool {
	if !strings.HasPrefix(p.source[p.pos:p.end], text) {
		return false
	}
	p.pos += len(text)
	return true
}

func (p *parser) spaces() {
	for p.peek() == ' ' {
		p.pos++
	}
}

// steps reads as long as a dot or a bracket follows.
func (p *parser) steps() ([]step, []int, error) {
	steps, positions := []step{}, []int{}
	for p.pos < p.end && (p.peek() == '.' || p.peek() == '[') {
		position := p.pos
		read, err := p.step(len(steps) == 0)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range read {
			steps, positions = append(steps, s), append(positions, position)
		}
	}
	return steps, positions, nil
}

// step reads a step; a recursive descent comes with the step that follows it.
func (p *parser) step(first bool) ([]step, error) {
	if err := p.counted(); err != nil {
		return nil, err
	}
	if p.accept("..") {
		if p.pos == p.end || p.peek() == '.' {
			return nil, p.fail("a field or a bracket is expected after ..")
		}
		if err := p.counted(); err != nil {
			return nil, err
		}
		s, err := p.afterDot()
		return []step{recursiveStep{}, s}, err
	}
	if p.accept(".") && p.pos == p.end && first {
		return nil, nil
	}
	s, err := p.afterDot()
	return []step{s}, err
}

func (p *parser) counted() error {
	p.count++
	if p.count > MaxSteps {
		return p.fail("a path has at most %d steps", MaxSteps)
	}
	return nil
}

func (p *parser) afterDot() (step, error) {
	switch {
	case p.accept("*"):
		return wildcardStep{}, nil
	case p.accept("["):
		return p.bracket()
	default:
		name, err := p.identifier()
		return fieldStep(name), err
	}
}

// endsIdentifier says which characters a field written with a dot must escape with a backslash.
func endsIdentifier(r rune) bool {
	return strings.ContainsRune(".[](){}'\",*?=!<>&|", r) || unicode.IsSpace(r) || unicode.IsControl(r)
}

func (p *parser) identifier() (string, error) {
	var b strings.Builder
	for p.pos < p.end {
		r, size := utf8.DecodeRuneInString(p.source[p.pos:p.end])
		if r == '\\' {
			escaped, err := p.escaped()
			if err != nil {
				return "", err
			}
			b.WriteRune(escaped)
			continue
		}
		if endsIdentifier(r) {
			break
		}
		b.WriteRune(r)
		p.pos += size
	}
	if b.Len() == 0 {
		return "", p.fail("the name of a field is expected")
	}
	return b.String(), nil
}

// escaped reads a backslash and the character that it protects.
func (p *parser) escaped() (rune, error) {
	p.pos++
	if p.pos >= p.end {
		return 0, p.fail("a character is expected after the backslash")
	}
	r, size := utf8.DecodeRuneInString(p.source[p.pos:p.end])
	p.pos += size
	return r, nil
}

func (p *parser) quotedText() (string, error) {
	quote := rune(p.peek())
	p.pos++
	var b strings.Builder
	for p.pos < p.end {
		r, size := utf8.DecodeRuneInString(p.source[p.pos:p.end])
		switch r {
		case quote:
			p.pos += size
			return b.String(), nil
		case '\\':
			escaped, err := p.escaped()
			if err != nil {
				return "", err
			}
			b.WriteRune(escaped)
		default:
			b.WriteRune(r)
			p.pos += size
		}
	}
	return "", p.fail("the quote %c is not closed", quote)
}

func (p *parser) integer() (*int, error) {
	start := p.pos
	p.accept("-")
	for p.peek() >= '0' && p.peek() <= '9' {
		p.pos++
	}
	if p.pos == start {
		return nil, nil //nolint:nilnil // no number is an answer here: the ends of a slice are optional
	}
	n, err := strconv.ParseInt(p.source[start:p.pos], 10, 32)
	if err != nil {
		p.pos = start
		return nil, p.fail("a whole number is expected")
	}
	i := int(n)
	return &i, nil
}
