package jsonpath

import "slices"

// Find gives the places of the tree that the path leads to, each once, in document order (objects in the order of
// their keys). A missing or null parent leads nowhere. The error is a *TypeError or a *LimitError.
func (p *Path) Find(root any) ([]Match, error) {
	var matches []Match
	seen := map[string]bool{}
	e := &evaluation{expression: p.text}
	err := e.walk(&node{value: root, definite: true}, p.steps, func(n *node) error {
		match := Match{Path: n.tokens(), Value: n.value}
		pointer := match.Pointer()
		if seen[pointer] {
			return nil
		}
		if len(matches) == MaxMatches {
			return &LimitError{Expression: p.text, What: "matches", Limit: MaxMatches}
		}
		seen[pointer] = true
		matches = append(matches, match)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return matches, nil
}

// node is a place during an evaluation. It is definite while every step so far could lead to one place only: there a
// value of the wrong type is the user's mistake, whereas below a wildcard it is just one that does not match.
type node struct {
	value    any
	parent   *node
	token    string
	depth    int
	definite bool
}

func (n *node) child(token string, value any, definite bool) *node {
	return &node{value: value, parent: n, token: token, depth: n.depth + 1, definite: definite}
}

func (n *node) tokens() []string {
	tokens := make([]string, 0, n.depth)
	for at := n; at.parent != nil; at = at.parent {
		tokens = append(tokens, at.token)
	}
	slices.Reverse(tokens)
	return tokens
}

// evaluation counts what one call has cost so far, filters included.
type evaluation struct {
	expression string
	visits     int
}

func (e *evaluation) visit(n *node) error {
	e.visits++
	if e.visits > MaxVisits {
		return &LimitError{Expression: e.expression, What: "nodes", Limit: MaxVisits}
	}
	if n.depth > MaxDepth {
		return &LimitError{Expression: e.expression, What: "levels", Limit: MaxDepth}
	}
	return nil
}

func (e *evaluation) walk(n *node, steps []step, found func(*node) error) error {
	if err := e.visit(n); err != nil {
		return err
	}
	if len(steps) == 0 {
		return found(n)
	}
	return steps[0].apply(e, n, func(child *node) error {
		return e.walk(child, steps[1:], found)
	})
}

// cannot answers a step that the value does not offer.
func (e *evaluation) cannot(n *node, what string) error {
	if n.value == nil || !n.definite {
		return nil
	}
	return &TypeError{Expression: e.expression, At: Pointer(n.tokens()), Step: what, Found: Kind(n.value)}
}
