package template

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Position is a place in the text of a template.
type Position struct {
	// Offset counts bytes, from 0.
	Offset int
	// Line and Column count from 1, the column in characters.
	Line, Column int
}

// String is the position for people.
func (p Position) String() string {
	return fmt.Sprintf("line %d, column %d", p.Line, p.Column)
}

// After is the position once that text is passed.
func (p Position) After(text string) Position {
	p.Offset += len(text)
	if newline := strings.LastIndexByte(text, '\n'); newline >= 0 {
		p.Line += strings.Count(text, "\n")
		p.Column = 1
		text = text[newline+1:]
	}
	p.Column += utf8.RuneCountInString(text)
	return p
}

// SyntaxError says why a text is no template, and where. It quotes nothing of the text.
type SyntaxError struct {
	Position

	// Expected says what was expected there, and what was found.
	Expected string
	// Hint says what to do.
	Hint string
}

// Error names the position, what was expected and what to do.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.Position, e.Expected, e.Hint)
}

// LimitError says that a template, or its result, goes over one of the bounds.
type LimitError struct {
	// What was counted: "bytes", "tokens" or "bytes of the result".
	What string
	// Limit is the bound.
	Limit int
}

// Error names the bound.
func (e *LimitError) Error() string {
	return fmt.Sprintf("more than %d %s; make it smaller, or split it", e.Limit, e.What)
}
