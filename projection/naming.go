package projection

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// nameContainers gives each container the key it has in the record: the list it is in and its name, or its position
// where it has no name of its own; or its place, where containers are not in a list. The name is what the mappings in
// use call it, whichever mapping else is looked at: the record must be found again without that one.
func (s *scene) nameContainers() {
	names := s.names()
	rank := func(c *container) int {
		_, used := names[c]
		return order(used)
	}
	slices.SortStableFunc(s.order, func(a, b *container) int {
		return cmp.Or(rank(a)-rank(b), slices.CompareFunc(a.tokens, b.tokens, compareTokens))
	})
	taken := map[string]bool{}
	for _, c := range s.order {
		name, used := names[c]
		if !used {
			name = c.name
		}
		parent := escape(parentOf(c.pointer))
		named := parent + "=" + escape(strings.ReplaceAll(name, "~", "~0"))
		last := len(c.tokens) - 1
		switch {
		case last < 0 || listAt(s.root, c.tokens[:last]) == nil:
			c.key, c.byName = escape(c.pointer), true
		case name != "" && !taken[named]:
			c.key, c.byName = named, true
		default:
			c.key, c.byName = parent+"["+c.tokens[last]+"]", false
		}
		taken[c.key] = true
	}
}

// names gives the containers that the mappings in use find, and what these call them.
func (s *scene) names() map[*container]string {
	names := map[*container]string{}
	for _, v := range s.inUse() {
		for _, targets := range [][]target{v.targets, v.strays} {
			for _, t := range targets {
				if names[t.container] == "" {
					names[t.container] = t.name
				}
			}
		}
	}
	return names
}

// inUse gives the views of the mappings that bindings are projected with.
func (s *scene) inUse() []*view {
	used := map[string]*view{}
	for _, m := range s.projected {
		used[m.fingerprint] = s.load(m)
	}
	views := make([]*view, 0, len(used))
	for _, fingerprint := range slices.Sorted(maps.Keys(used)) {
		views = append(views, used[fingerprint])
	}
	return views
}

// used are the slots that the mappings in use find.
func (s *scene) used() map[*slot]bool {
	used := map[*slot]bool{}
	for _, v := range s.inUse() {
		maps.Copy(used, v.found)
	}
	return used
}

func compareTokens(a, b string) int {
	i, err := strconv.Atoi(a)
	j, err2 := strconv.Atoi(b)
	if err == nil && err2 == nil {
		return i - j
	}
	return strings.Compare(a, b)
}
