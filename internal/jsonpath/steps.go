package jsonpath

import (
	"fmt"
	"strconv"
	"strings"
)

// A step goes from one node to those it selects below it, and follows the rest of the way from each.
type step interface {
	fmt.Stringer
	apply(e *evaluation, n node, rest route) error
}

type (
	fieldStep     string
	indexStep     int
	sliceStep     struct{ start, end, by *int }
	wildcardStep  struct{}
	recursiveStep struct{}
	unionStep     []step
)

func (s fieldStep) String() string { return fieldText(string(s)) }

func (s fieldStep) apply(e *evaluation, n node, rest route) error {
	object, ok := n.value.(map[string]any)
	if !ok {
		if !n.definite {
			return nil
		}
		return e.cannot(n, "field "+strconv.Quote(string(s)))
	}
	value, ok := object[string(s)]
	if !ok {
		return nil
	}
	return e.walk(e.key(n, string(s), value), rest)
}

func (s indexStep) String() string { return "[" + strconv.Itoa(int(s)) + "]" }

func (s indexStep) apply(e *evaluation, n node, rest route) error {
	list, ok := n.value.([]any)
	if !ok {
		if !n.definite {
			return nil
		}
		return e.cannot(n, "element "+strconv.Itoa(int(s)))
	}
	i := int(s)
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil
	}
	return e.walk(e.index(n, i, list[i]), rest)
}

func (s sliceStep) String() string {
	text := "[" + optional(s.start) + ":" + optional(s.end)
	if s.by != nil {
		text += ":" + optional(s.by)
	}
	return text + "]"
}

func (s sliceStep) apply(e *evaluation, n node, rest route) error {
	list, ok := n.value.([]any)
	if !ok {
		return e.cannot(n, "elements")
	}
	by := 1
	if s.by != nil {
		by = *s.by
	}
	n.definite = false
	end := bound(s.end, len(list), len(list))
	for i := bound(s.start, 0, len(list)); i < end; i += by {
		if err := e.walk(e.index(n, i, list[i]), rest); err != nil {
			return err
		}
	}
	return nil
}

// bound turns an end of a slice, which may be missing, negative or beyond the list, into one within it.
func bound(given *int, missing, length int) int {
	if given == nil {
		return missing
	}
	i := *given
	if i < 0 {
		i += length
	}
	return min(max(i, 0), length)
}

func (wildcardStep) String() string { return "[*]" }

func (wildcardStep) apply(e *evaluation, n node, rest route) error {
	if !isParent(n.value) {
		return e.cannot(n, "elements")
	}
	return e.children(n, func(child node) error { return e.walk(child, rest) })
}

func (recursiveStep) String() string { return ".." }

func (s recursiveStep) apply(e *evaluation, n node, rest route) error {
	n.definite = false
	if err := e.walk(n, rest); err != nil {
		return err
	}
	return e.children(n, func(child node) error {
		if err := e.visit(child); err != nil || !isParent(child.value) {
			return err
		}
		return s.apply(e, child, rest)
	})
}

func (s unionStep) String() string {
	parts := make([]string, 0, len(s))
	for _, member := range s {
		text := member.String()
		if field, ok := member.(fieldStep); ok {
			text = "[" + quoted(string(field)) + "]"
		}
		parts = append(parts, strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func (s unionStep) apply(e *evaluation, n node, rest route) error {
	if !isParent(n.value) {
		return e.cannot(n, "elements")
	}
	n.definite = false
	for _, member := range s {
		if err := e.spend(1); err != nil {
			return err
		}
		if err := member.apply(e, n, rest); err != nil {
			return err
		}
	}
	return nil
}

func isParent(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}
