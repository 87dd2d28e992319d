package projection

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// attach gives each container its note of the record. Notes go by name; but a note whose container someone has renamed
// goes to the container beside it that bears the mounts the note speaks of.
func (s *scene) attach(recorded map[string]noteRecord) {
	s.nameContainers()
	notes := s.notes(recorded)
	free := setOfContainers(s.order)
	give := func(c *container, key string) {
		c.take(notes[key])
		delete(notes, key)
		delete(free, c)
	}
	for _, c := range s.order {
		if n := notes[c.key]; n != nil && s.surely(c, n) {
			give(c, c.key)
		}
	}
	for _, pair := range s.pairs(free, notes) {
		if free[pair.container] && notes[pair.key] != nil {
			give(pair.container, pair.key)
		}
	}
	for _, c := range s.order {
		if notes[c.key] != nil && free[c] {
			give(c, c.key)
		}
	}
}

// surely says whether a note of a container's own key cannot be about another one.
func (s *scene) surely(c *container, n *note) bool {
	return c.bears(s, n) && (c.byName || s.likeness(c, n) == n.size())
}

// notes of the record, without what they say of bindings that have left no other mark.
func (s *scene) notes(recorded map[string]noteRecord) map[string]*note {
	notes := make(map[string]*note, len(recorded))
	for key, r := range recorded {
		notes[key] = r.note()
		maps.DeleteFunc(notes[key].env, func(uid string, _ map[string]string) bool { return !s.recorded[uid] })
	}
	return notes
}

func setOfContainers(containers []*container) map[*container]bool {
	set := make(map[*container]bool, len(containers))
	for _, c := range containers {
		set[c] = true
	}
	return set
}

// pair is a note and a container that it may be about.
type pair struct {
	*container
	key   string
	score int
}

// pairs gives what may belong together, the likeliest first.
func (s *scene) pairs(free map[*container]bool, notes map[string]*note) []pair {
	var found []pair
	for _, key := range slices.Sorted(maps.Keys(notes)) {
		for _, c := range s.order {
			if !free[c] || !c.isBeside(key) || !c.bears(s, notes[key]) {
				continue
			}
			score := 2 * s.likeness(c, notes[key])
			if key == c.key {
				score++
			}
			found = append(found, pair{container: c, key: key, score: score})
		}
	}
	slices.SortStableFunc(found, func(a, b pair) int { return b.score - a.score })
	return found
}

// isBeside says whether a key is that of a container in the same list.
func (c *container) isBeside(key string) bool {
	parent := parentOf(c.pointer)
	return strings.HasPrefix(key, parent) && len(key) > len(parent) && strings.IndexByte("=[/", key[len(parent)]) >= 0 &&
		strings.HasSuffix(key, c.suffix)
}

// nameContainers gives each container the key it has in the record: the list it is in and its name, or its position
// where it has no name of its own; or its place, where containers are not in a list.
func (s *scene) nameContainers() {
	taken := map[string]bool{}
	for _, c := range s.order {
		parent := parentOf(c.pointer)
		last := len(c.tokens) - 1
		switch {
		case last < 0 || listAt(s.root, c.tokens[:last]) == nil:
			c.key, c.byName = c.pointer+c.suffix, true
			continue
		case c.name != "" && !taken[parent+"="+c.name+c.suffix]:
			c.key, c.byName = parent+"="+c.name+c.suffix, true
		default:
			c.key = parent + "[" + c.tokens[last] + "]" + c.suffix
		}
		taken[c.key] = true
	}
}

// take copies a note into the container's own, which its lists already refer to.
func (c *container) take(n *note) {
	c.note.root = n.root
	maps.Copy(c.note.env, n.env)
	maps.Copy(c.note.gaps, n.gaps)
}

// bears says whether a container mounts anything that a note speaks of.
func (c *container) bears(s *scene, n *note) bool {
	if len(n.env) == 0 {
		return slices.ContainsFunc(c.mounts.items, s.isOurs)
	}
	for uid := range n.env {
		if c.carries(uid) {
			return true
		}
	}
	return false
}

// likeness counts what a note speaks of that is in the container.
func (s *scene) likeness(c *container, n *note) int {
	count := 0
	for uid, names := range n.env {
		seen := map[string]bool{}
		for i := range c.env.items {
			shape := c.shapeAt(i)
			origin, noted := names[shape.name]
			if noted && origin == shape.origin(uid) && !seen[shape.name] && s.wrote(uid, shape) {
				seen[shape.name] = true
				count++
			}
		}
	}
	if n.root && slices.ContainsFunc(c.env.items, isDefaultRoot) {
		count++
	}
	return count
}

// size is the likeness of a container that has all that the note speaks of.
func (n *note) size() int {
	count := 0
	for _, names := range n.env {
		count += len(names)
	}
	if n.root {
		count++
	}
	return count
}

// title is the place of a container for people.
func (c *container) title() string {
	if c.name != "" {
		return "container " + strconv.Quote(c.name)
	}
	return "the container at " + jsonpath.Pointer(c.tokens)
}
