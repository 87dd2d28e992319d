package projection

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// gaps are the places that held nothing before a projection, by JSON pointer; true where they held null.
type gaps map[string]bool

func (r gapsRecord) gaps() gaps {
	g := gaps{}
	for _, pointer := range r.Made {
		g[pointer] = false
	}
	for _, pointer := range r.Null {
		g[pointer] = true
	}
	return g
}

func (g gaps) record() gapsRecord {
	var r gapsRecord
	for _, pointer := range slices.Sorted(maps.Keys(g)) {
		if g[pointer] {
			r.Null = append(r.Null, pointer)
		} else {
			r.Made = append(r.Made, pointer)
		}
	}
	return r
}

// hole is one gap, where it is noted and where it is.
type hole struct {
	noted   gaps
	root    map[string]any
	pointer string // from there
	at      string // from the root of the workload
}

func (s *scene) holes() []hole {
	var found []hole
	for pointer := range s.gaps {
		found = append(found, hole{noted: s.gaps, root: s.root, pointer: pointer, at: pointer})
	}
	for _, c := range s.order {
		for pointer := range c.gaps {
			found = append(found, hole{noted: c.gaps, root: c.node, pointer: pointer, at: c.pointer + pointer})
		}
	}
	slices.SortFunc(found, func(a, b hole) int {
		return cmp.Or(strings.Count(b.at, "/")-strings.Count(a.at, "/"), strings.Compare(a.at, b.at))
	})
	return found
}

// fill gives back what was there before to each gap that is empty again, the innermost first, and forgets those gaps
// that hold nothing of ours any more.
func (s *scene) fill() {
	live := s.live()
	for _, h := range s.holes() {
		if !live[h.at] {
			h.restore()
			delete(h.noted, h.pointer)
		}
	}
}

// live are the places where something of ours is, and all that these are in.
func (s *scene) live() map[string]bool {
	live := map[string]bool{}
	mark := func(pointer string) {
		for ; pointer != "" && !live[pointer]; pointer = parentOf(pointer) {
			live[pointer] = true
		}
	}
	for pointer, o := range s.objects {
		if o.bearsMarks() {
			mark(pointer)
		}
	}
	if len(s.projected) > 0 {
		mark(s.annotations.at)
	}
	for pointer, l := range s.lists {
		if e := s.variables[pointer]; e != nil && !e.none() || slices.ContainsFunc(l.items, s.isOurs) {
			mark(pointer)
		}
	}
	return live
}

// bearsMarks says whether any entry is ours; the record does not count.
func (o *object) bearsMarks() bool {
	for key := range o.entries {
		if isOurAnnotation(key) && key != recordAnnotation {
			return true
		}
	}
	return false
}

func (h hole) restore() {
	tokens := jsonpath.Tokens(h.pointer)
	if len(tokens) == 0 {
		return
	}
	root, last := h.root, len(tokens)-1
	for _, token := range tokens[:last] {
		below, ok := root[token].(map[string]any)
		if !ok {
			return
		}
		root = below
	}
	if value, ok := root[tokens[last]]; !ok || !isEmpty(value) {
		return
	}
	if h.noted[h.pointer] {
		root[tokens[last]] = nil
		return
	}
	delete(root, tokens[last])
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

func isBelow(pointer, parent string) bool {
	return len(pointer) > len(parent) && pointer[:len(parent)] == parent && pointer[len(parent)] == '/'
}

func parentOf(pointer string) string {
	return pointer[:max(strings.LastIndexByte(pointer, '/'), 0)]
}
