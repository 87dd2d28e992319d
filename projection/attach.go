package projection

import (
	"maps"
	"slices"
	"strings"
)

// attach gives each container its note of the record. Notes go by name; but a note whose container someone has renamed
// goes to the container beside it that bears the mounts the note speaks of.
func (s *scene) attach(notes map[string]*note) {
	s.nameContainers()
	free := setOf(s.order)
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

// take copies a note to where it is kept up to date.
func (c *container) take(n *note) {
	maps.Copy(c.gaps, n.gaps)
	for list, noted := range n.added {
		if e := c.variables[list]; e != nil {
			e.root = e.root || noted.root
			maps.Copy(e.env, noted.env)
		}
	}
}

// surely says whether a note of a container's own key cannot be about another one.
func (s *scene) surely(c *container, n *note) bool {
	return s.bears(c, n) && (c.byName || s.likeness(c, n) == n.size())
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
			if !free[c] || !c.isBeside(key) || !s.bears(c, notes[key]) {
				continue
			}
			score := 2*s.likeness(c, notes[key]) - s.unlikeness(c, notes[key])
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
	parent := escape(parentOf(c.pointer))
	return strings.HasPrefix(key, parent) && len(key) > len(parent) && strings.IndexByte("=[/", key[len(parent)]) >= 0
}

// bears says whether a container mounts anything that a note speaks of.
func (s *scene) bears(c *container, n *note) bool {
	speaks := false
	for _, noted := range n.added {
		for uid := range noted.env {
			speaks = true
			if c.carries(uid) {
				return true
			}
		}
	}
	return !speaks && slices.ContainsFunc(c.slots, func(sl *slot) bool {
		return slices.ContainsFunc(sl.mounts.items, s.isOurs)
	})
}

// size is the likeness of a container that has all that the note speaks of.
func (n *note) size() int {
	count := 0
	for _, noted := range n.added {
		count += noted.size()
	}
	return count
}

// likeness counts what a note speaks of that is in the container.
func (s *scene) likeness(c *container, n *note) int {
	count := 0
	for list, noted := range n.added {
		if e := c.variables[list]; e != nil {
			count += s.likenessOf(e, noted)
		}
	}
	return count
}

func (s *scene) likenessOf(e *variables, noted added) int {
	count := 0
	for uid, names := range noted.env {
		seen := map[string]bool{}
		for _, i := range e.candidates() {
			shape := e.shapes[i]
			origin, ours := names[shape.name]
			if ours && origin == shape.origin(uid) && !seen[shape.name] && s.wrote(uid, shape) {
				seen[shape.name] = true
				count++
			}
		}
	}
	if noted.root && slices.ContainsFunc(e.items, isDefaultRoot) {
		count++
	}
	return count
}

// unlikeness weighs what a note speaks of that is not in the container, and what it should speak of but does not.
func (s *scene) unlikeness(c *container, n *note) int {
	count := 0
	for _, noted := range n.added {
		for uid := range noted.env {
			if !c.carries(uid) {
				count += 2
			}
		}
	}
	for list, e := range c.variables {
		if !n.added[list].root && slices.ContainsFunc(e.items, isDefaultRoot) {
			count++
		}
	}
	return count
}
