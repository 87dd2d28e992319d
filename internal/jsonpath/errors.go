package jsonpath

import "fmt"

// SyntaxError says why an expression is not understood, and where.
type SyntaxError struct {
	// Expression is the whole text.
	Expression string
	// Position is the byte, counted from 0, at which the text stops making sense.
	Position int
	// Message says what was expected.
	Message string
}

// Error names the expression, the position and what was expected.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("path %q, position %d: %s", e.Expression, e.Position, e.Message)
}

// LimitError says that an evaluation was given up because it went over one of the bounds.
type LimitError struct {
	// Expression is the path that was evaluated.
	Expression string
	// What was counted: "nodes", "matches" or "levels".
	What string
	// Limit is the bound.
	Limit int
}

// Error names the path and the bound.
func (e *LimitError) Error() string {
	return fmt.Sprintf("path %q: more than %d %s; write a narrower path", e.Expression, e.Limit, e.What)
}

// TypeError says that a path runs through a value that has nothing below it, or not what the path asks for.
type TypeError struct {
	// Expression is the path.
	Expression string
	// At is the JSON pointer of the value; empty for the root.
	At string
	// Step is the step that could not be taken.
	Step string
	// Found is what the value is: "string", "number", "boolean", "list" or "object".
	Found string
}

// Error names the path, the place and what was found there.
func (e *TypeError) Error() string {
	at := e.At
	if at == "" {
		at = "the root"
	}
	return fmt.Sprintf("path %q: %s is %s, which has no %s", e.Expression, at, article(e.Found), e.Step)
}

// Kind names the JSON type of a value for people.
func Kind(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case map[string]any:
		return "object"
	case []any:
		return "list"
	default:
		return "number"
	}
}

// Article names the JSON type of a value for people, with its article where it has one.
func Article(value any) string {
	return article(Kind(value))
}

func article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "object":
		return "an " + kind
	default:
		return "a " + kind
	}
}
