package jsonpath

import (
	"hash/maphash"
	"slices"
	"strconv"
)

// Find gives the places of the tree that the path leads to, each once, in document order (objects in the order of
// their keys). A missing or null parent leads nowhere. The error is a *TypeError or a *LimitError.
func (p *Path) Find(root any) ([]Match, error) {
	return p.find(&evaluation{expression: p.text}, root)
}

func (p *Path) find(e *evaluation, root any) ([]Match, error) {
	c := collector{e: e, repeats: mayRepeat(p.steps)}
	err := e.walk(node{value: root, definite: true}, route{steps: p.steps, end: &c})
	if err != nil {
		return nil, err
	}
	return c.matches, nil
}

// mayRepeat says whether steps may lead to one place twice.
func mayRepeat(steps []step) bool {
	descents := 0
	for _, s := range steps {
		switch s.(type) {
		case unionStep:
			return true
		case recursiveStep:
			descents++
		}
	}
	return descents > 1
}

// collector takes the places that a path leads to.
type collector struct {
	e       *evaluation
	matches []Match
	repeats bool
	seed    maphash.Seed
	seen    map[uint64][]int // matches by the hash of their path
}

func (c *collector) found(n node) error {
	tokens := c.e.tokens[:n.depth]
	// Callers turn places into text: what that takes is paid here.
	for _, t := range tokens {
		if err := c.e.spend(3 + len(t.key)/tokenBytes); err != nil {
			return err
		}
	}
	var hash uint64
	if c.repeats {
		hash = c.hash(tokens)
		if slices.ContainsFunc(c.seen[hash], func(i int) bool { return samePlace(c.matches[i].Path, tokens) }) {
			return nil
		}
	}
	if len(c.matches) == MaxMatches {
		return &LimitError{Expression: c.e.expression, What: "matches", Limit: MaxMatches}
	}
	if c.repeats {
		c.seen[hash] = append(c.seen[hash], len(c.matches))
	}
	c.matches = append(c.matches, Match{Path: texts(tokens), Value: n.value})
	return nil
}

func (c *collector) hash(tokens []token) uint64 {
	if c.seen == nil {
		c.seed, c.seen = maphash.MakeSeed(), map[uint64][]int{}
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	var digits [20]byte
	for _, t := range tokens {
		if t.isKey {
			_, _ = h.WriteString(t.key)
		} else {
			_, _ = h.Write(strconv.AppendInt(digits[:0], int64(t.index), 10))
		}
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

func samePlace(path []string, tokens []token) bool {
	return slices.EqualFunc(path, tokens, func(text string, t token) bool { return text == t.String() })
}

// token is one level of a place: the key of an object, or the index of a list, which becomes text only where it is told.
type token struct {
	key   string
	index int
	isKey bool
}

func (t token) String() string {
	if t.isKey {
		return t.key
	}
	return strconv.Itoa(t.index)
}

func texts(tokens []token) []string {
	path := make([]string, len(tokens))
	for i, t := range tokens {
		path[i] = t.String()
	}
	return path
}

// node is a value during an evaluation; the evaluation knows its place. It is definite while every step so far could
// lead to one place only: there a value of the wrong type is the user's mistake, whereas below a wildcard it is just one
// that does not match.
type node struct {
	value    any
	depth    int
	definite bool
}

// route is the rest of a way: the steps to go, and who waits at the end.
type route struct {
	steps []step
	end   interface{ found(n node) error }
}

// evaluation counts what one call has cost so far, filters included, and knows the place where it is: going depth first,
// the tokens above a node stay as they are until all below it was seen. Nothing is allocated on the way but the keys of
// objects, so that the bound on work is a bound on memory.
type evaluation struct {
	expression string
	spent      int
	tokens     []token
	probes     [maxNesting]probe
	nesting    int
}

// spend accounts for work: one for whatever takes about as long as looking at a node.
func (e *evaluation) spend(work int) error {
	e.spent += work
	if e.spent > MaxVisits {
		return &LimitError{Expression: e.expression, What: "nodes", Limit: MaxVisits}
	}
	return nil
}

// visit accounts for a node.
func (e *evaluation) visit(n node) error {
	if n.depth > MaxDepth {
		return &LimitError{Expression: e.expression, What: "levels", Limit: MaxDepth}
	}
	return e.spend(1)
}

// walk follows a route from a node.
func (e *evaluation) walk(n node, r route) error {
	if err := e.visit(n); err != nil {
		return err
	}
	if len(r.steps) == 0 {
		return r.end.found(n)
	}
	return r.steps[0].apply(e, n, route{steps: r.steps[1:], end: r.end})
}

// key goes to a field of a node.
func (e *evaluation) key(n node, key string, value any) node {
	return e.below(n, token{key: key, isKey: true}, value)
}

// index goes to an element of a node.
func (e *evaluation) index(n node, i int, value any) node {
	return e.below(n, token{index: i}, value)
}

func (e *evaluation) below(n node, t token, value any) node {
	e.tokens = append(e.tokens[:n.depth], t)
	return node{value: value, depth: n.depth + 1, definite: n.definite}
}

// children visits what lies directly below, lists in their order and objects in the order of their keys.
func (e *evaluation) children(n node, visit func(child node) error) error {
	n.definite = false
	switch value := n.value.(type) {
	case []any:
		for i, element := range value {
			if err := visit(e.index(n, i, element)); err != nil {
				return err
			}
		}
	case map[string]any:
		keys, err := e.keys(value)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := visit(e.key(n, key, value[key])); err != nil {
				return err
			}
		}
	}
	return nil
}

// keys sorts the keys of an object; what that takes is paid before.
func (e *evaluation) keys(object map[string]any) ([]string, error) {
	if err := e.spend(4 * len(object)); err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		if err := e.spend(len(key) / keyBytes); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

// cannot answers a step that the value does not offer.
func (e *evaluation) cannot(n node, what string) error {
	if n.value == nil || !n.definite {
		return nil
	}
	return &TypeError{Expression: e.expression, At: Pointer(texts(e.tokens[:n.depth])), Step: what, Found: Kind(n.value)}
}
