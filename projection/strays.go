package projection

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// strays finds containers that a selective path no longer finds, since someone has changed them, but that still have
// mounts of ours: they lie beside containers that it finds, or beside those that the record speaks of.
func (s *scene) strays(notes map[string]*note) {
	parents := map[string]bool{}
	for _, c := range s.order {
		parents[parentOf(c.pointer)] = true
	}
	for key := range notes {
		if end := strings.IndexAny(key, "=["); end > 0 {
			parents[unescape(key[:end])] = true
		}
	}
	for _, fingerprint := range slices.Sorted(maps.Keys(s.views)) {
		v := s.views[fingerprint]
		for _, cm := range v.mapping.containers {
			if cm.simple {
				continue
			}
			for _, parent := range slices.Sorted(maps.Keys(parents)) {
				s.loadStrays(v, cm, jsonpath.Tokens(parent))
			}
		}
	}
}

func (s *scene) loadStrays(v *view, cm containerMapping, parent []string) {
	for i, element := range listAt(s.root, parent) {
		node, ok := element.(map[string]any)
		if !ok {
			continue
		}
		mounts, _, err := cm.mounts.Get(node)
		items, _ := mounts.([]any)
		if err != nil || !slices.ContainsFunc(items, s.isOurs) {
			continue
		}
		beside := &view{found: map[*slot]bool{}}
		s.loadContainer(beside, cm, place{tokens: append(slices.Clone(parent), strconv.Itoa(i)), node: node})
		for _, t := range beside.targets {
			if !v.found[t.slot] {
				v.found[t.slot] = true
				v.strays = append(v.strays, t)
			}
		}
	}
}
