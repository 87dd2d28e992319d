package jsonpath

import (
	"strconv"
	"strings"
)

// Path is a parsed expression. It is immutable and safe for concurrent use.
type Path struct {
	steps     []step
	positions []int
	text      string
}

// Match is one place that a path found.
type Match struct {
	// Path leads from the root to the place, one token a level: the key of an object or the index of a list.
	Path []string
	// Value is what lies there. It is not a copy.
	Value any
}

// Pointer is the place as an RFC 6901 JSON pointer.
func (m Match) Pointer() string {
	return Pointer(m.Path)
}

// Pointer joins tokens into an RFC 6901 JSON pointer.
func Pointer(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(escapeToken(token))
	}
	return b.String()
}

func escapeToken(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

// Tokens splits an RFC 6901 JSON pointer. Text that does not begin with a slash has no tokens.
func Tokens(pointer string) []string {
	if !strings.HasPrefix(pointer, "/") {
		return nil
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, token := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return tokens
}

// String is the one normal form of the expression: two paths of the same form find the same places, and parsing the
// form gives the path again.
func (p *Path) String() string {
	return p.text
}

// FixedList gives the fields before a last [*], if that is all the path consists of.
func (p *Path) FixedList() ([]string, bool) {
	last := len(p.steps) - 1
	if last < 1 {
		return nil, false
	}
	if _, ok := p.steps[last].(wildcardStep); !ok {
		return nil, false
	}
	return fieldNames(p.steps[:last])
}

// FirstField is the field of the root below which everything lies that the path can find, if there is one.
func (p *Path) FirstField() (string, bool) {
	if len(p.steps) == 0 {
		return "", false
	}
	first, ok := p.steps[0].(fieldStep)
	return string(first), ok
}

// LastField is the field that the path ends in, if it ends in one.
func (p *Path) LastField() (string, bool) {
	if len(p.steps) == 0 {
		return "", false
	}
	last, ok := p.steps[len(p.steps)-1].(fieldStep)
	return string(last), ok
}

func fieldNames(steps []step) ([]string, bool) {
	names := make([]string, 0, len(steps))
	for _, s := range steps {
		field, ok := s.(fieldStep)
		if !ok {
			return nil, false
		}
		names = append(names, string(field))
	}
	return names, true
}

func textOf(steps []step) string {
	var b strings.Builder
	for i, s := range steps {
		text := s.String()
		if i > 0 {
			if _, ok := steps[i-1].(recursiveStep); ok {
				text = strings.TrimPrefix(text, ".")
			}
		}
		b.WriteString(text)
	}
	return b.String()
}

// fieldText chooses the shorter of the two ways to write a field, so that the normal form is never longer than what
// was parsed and fits the same bounds.
func fieldText(name string) string {
	bracket := "[" + quoted(name) + "]"
	dotted, ok := dottedText(name)
	if ok && len(dotted) <= len(bracket) {
		return dotted
	}
	return bracket
}

func dottedText(name string) (string, bool) {
	var b strings.Builder
	b.WriteByte('.')
	for _, r := range name {
		if endsIdentifier(r) || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String(), name != ""
}

func quoted(text string) string {
	single, double := quotedWith(text, '\''), quotedWith(text, '"')
	if len(double) < len(single) {
		return double
	}
	return single
}

func quotedWith(text string, quote rune) string {
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range text {
		if r == quote || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteRune(quote)
	return b.String()
}

func optional(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}
