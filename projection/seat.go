package projection

import (
	"fmt"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// seat is a place below an object where a list or a map is, or will be.
type seat struct {
	// base is the JSON pointer of the object.
	base string
	node map[string]any
	path *jsonpath.Fixed
	// gaps takes down what had to be created on the way.
	gaps gaps
}

func (s seat) pointer() string {
	return s.base + s.path.Pointer()
}

func (s seat) mismatch(value any, wanted string) error {
	return fmt.Errorf("%s is %s where %s is expected", s.pointer(), jsonpath.Article(value), wanted)
}

func (s seat) get() (any, error) {
	value, _, err := s.path.Get(s.node)
	if err != nil && s.base != "" {
		return nil, fmt.Errorf("below %s: %w", s.base, err)
	}
	return value, err //nolint:wrapcheck // the path says it all when it starts at the root
}

// put cannot meet an error: whoever holds a seat has read it before.
func (s seat) put(value any) {
	made, err := s.path.Set(s.node, value)
	if err != nil {
		panic("projection: writing where reading was possible: " + err.Error())
	}
	for _, gap := range made {
		s.gaps[jsonpath.Pointer(gap.Steps)] = gap.Null
	}
}

// list is a list in the workload. Its items are replaced, never changed in place.
type list struct {
	seat
	at      string // its JSON pointer
	before  []any  // as found
	items   []any
	changed bool
}

func (l *list) set(items []any) {
	l.items = items
	l.changed = true
}

func (l *list) flush() {
	if !l.changed {
		return
	}
	l.changed = false
	l.put(unmoved(l.before, l.items))
}

// unmoved gives the items after a change with what was there before in the order it had: an item that was taken away
// and came back, such as a variable that one binding leaves to another, must not seem to pass a person's.
func unmoved(before, after []any) []any {
	head, tail := commonEnds(before, after)
	matched := make([]bool, len(before)-head-tail)
	ordered, last := true, -1
	var added []any
	for _, item := range after[head : len(after)-tail] {
		at := -1
		for i := range matched {
			if !matched[i] && equal(before[head+i], item) {
				at = i
				break
			}
		}
		if at < 0 {
			added = append(added, item)
			continue
		}
		matched[at] = true
		ordered = ordered && at > last
		last = at
	}
	if ordered {
		return append([]any{}, after...)
	}
	items := append([]any{}, after[:head]...)
	for i, kept := range matched {
		if kept {
			items = append(items, before[head+i])
		}
	}
	items = append(items, added...)
	return append(items, after[len(after)-tail:]...)
}

// commonEnds counts how many elements two lists have in common at their beginnings, and then at their ends.
func commonEnds(before, after []any) (head, tail int) {
	shorter := min(len(before), len(after))
	for head < shorter && equal(before[head], after[head]) {
		head++
	}
	for tail < shorter-head && equal(before[len(before)-1-tail], after[len(after)-1-tail]) {
		tail++
	}
	return head, tail
}

// named gives the positions of the items of this name.
func (l *list) named(name string) positions {
	var found positions
	for i, item := range l.items {
		if nameOf(item) == name {
			found = append(found, i)
		}
	}
	return found
}

// object is a map in the workload, such as annotations. Its entries are nil until there is one.
type object struct {
	seat
	at      string // its JSON pointer
	entries map[string]any
	changed bool
}

func (o *object) text(key string) (string, bool) {
	value, ok := o.entries[key].(string)
	return value, ok
}

// set puts a text under a key, or takes the key away if the text is empty, and tells whether anything changed.
func (o *object) set(key, text string) bool {
	held, found := o.entries[key]
	if text == "" && !found || text != "" && held == text {
		return false
	}
	o.changed = true
	if text == "" {
		delete(o.entries, key)
		return true
	}
	if o.entries == nil {
		o.entries = map[string]any{}
	}
	o.entries[key] = text
	return true
}

// flush writes what is new; entries that were there already have been changed where they are.
func (o *object) flush() {
	if o.changed && len(o.entries) > 0 {
		o.put(o.entries)
	}
	o.changed = false
}

// remove takes the items at these positions away.
func (l *list) remove(at positions) {
	if len(at) > 0 {
		l.set(without(l.items, at))
	}
}

// without gives the items but for those at the positions marked.
func without(items []any, marked positions) []any {
	kept := make([]any, 0, len(items))
	for i, item := range items {
		if !marked.has(i) {
			kept = append(kept, item)
		}
	}
	return kept
}

// insert gives the items with one more among the last ones, which begin at tail and are sorted by name.
func insert(items []any, tail int, item any) []any {
	at := tail
	for at < len(items) && nameOf(items[at]) <= nameOf(item) {
		at++
	}
	more := make([]any, 0, len(items)+1)
	more = append(more, items[:at]...)
	more = append(more, item)
	return append(more, items[at:]...)
}

// tailOf is the position from which on every item is ours.
func tailOf(items []any, ours func(i int) bool) int {
	tail := len(items)
	for tail > 0 && ours(tail-1) {
		tail--
	}
	return tail
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		copied := make(map[string]any, len(v))
		for key, below := range v {
			copied[key] = clone(below)
		}
		return copied
	case []any:
		if v == nil {
			return v
		}
		copied := make([]any, len(v))
		for i, below := range v {
			copied[i] = clone(below)
		}
		return copied
	default:
		return v
	}
}
