package projection

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// load finds the places of a mapping in the workload, once.
func (s *scene) load(m *Mapping) *view {
	if known, ok := s.views[m.fingerprint]; ok {
		return known
	}
	v := &view{mapping: m, found: map[*slot]bool{}}
	s.views[m.fingerprint] = v
	v.volumes = s.list(v, s.seat(m.volumes))
	v.annotations = s.object(v, s.seat(m.annotations))
	for _, cm := range m.containers {
		s.loadContainers(v, cm)
	}
	v.number()
	v.refuseOverlap(s.annotations)
	return v
}

// number counts the containers. One that is found twice, with other lists each time, counts once.
func (v *view) number() {
	seen := map[*container]int{}
	next := 0
	for i := range v.targets {
		t := &v.targets[i]
		position, known := seen[t.container]
		switch {
		case known:
		case t.initial():
			position = -1
		default:
			position = next
			next++
		}
		seen[t.container], t.position = position, position
	}
}

// initial says whether a container is an init container, in whatever pod template.
func (c *container) initial() bool {
	return len(c.tokens) > 1 && c.tokens[len(c.tokens)-2] == "initContainers"
}

func (s *scene) loadContainers(v *view, cm containerMapping) {
	matches, err := cm.path.Find(s.root)
	if err != nil {
		v.fail(err)
		return
	}
	for _, match := range matches {
		node, ok := match.Value.(map[string]any)
		if !ok {
			v.fail(fmt.Errorf("%s is %s where a container is expected", match.Pointer(), jsonpath.Article(match.Value)))
			continue
		}
		s.loadContainer(v, cm, place{tokens: match.Path, node: node})
	}
}

// place is an object found in the workload.
type place struct {
	tokens []string
	node   map[string]any
}

func (s *scene) loadContainer(v *view, cm containerMapping, at place) {
	sl := s.slot(v, cm, at)
	if sl == nil || v.found[sl] {
		return
	}
	v.found[sl] = true
	t := target{slot: sl, named: cm.name != nil}
	if t.named {
		value, _, err := cm.name.Get(at.node)
		if err != nil {
			v.fail(fmt.Errorf("below %s: %w", sl.pointer, err))
		}
		t.name, _ = value.(string)
		if sl.name == "" {
			sl.name = t.name
		}
		if t.nameInside(cm) {
			v.fail(fmt.Errorf("the name of %s lies within what is projected", sl.pointer))
		}
	}
	v.targets = append(v.targets, t)
}

func (t target) nameInside(cm containerMapping) bool {
	name := cm.name.Pointer()
	return slices.ContainsFunc([]string{cm.env.Pointer(), cm.mounts.Pointer()}, func(at string) bool {
		return name == at || isBelow(name, at)
	})
}

// slot gives what a mapping uses of a container; the same one for every mapping that uses the same lists.
func (s *scene) slot(v *view, cm containerMapping, at place) *slot {
	pointer := jsonpath.Pointer(at.tokens)
	c, known := s.containers[pointer]
	if !known {
		c = &container{pointer: pointer, tokens: at.tokens, node: at.node, gaps: gaps{}, variables: map[string]*variables{}}
	}
	suffix := cm.suffix()
	for _, sl := range c.slots {
		if sl.suffix == suffix {
			return sl
		}
	}
	env := s.list(v, seat{base: pointer, node: at.node, path: cm.env, gaps: c.gaps})
	mounts := s.list(v, seat{base: pointer, node: at.node, path: cm.mounts, gaps: c.gaps})
	if env == nil || mounts == nil {
		return nil
	}
	sl := &slot{container: c, suffix: suffix, env: s.variablesIn(env), mounts: mounts}
	sl.env.slots = append(sl.env.slots, sl)
	c.slots = append(c.slots, sl)
	c.variables[cm.env.Pointer()] = sl.env
	if !known {
		s.containers[pointer] = c
		s.order = append(s.order, c)
	}
	return sl
}

func (s *scene) variablesIn(l *list) *variables {
	e, known := s.variables[l.at]
	if !known {
		e = &variables{list: l, added: added{env: map[string]map[string]string{}}}
		s.variables[l.at] = e
	}
	return e
}

// refuseOverlap sees to it that no place to write to lies within another one, nor a container within a place to write
// to: such a mapping would find other containers once something is projected.
func (v *view) refuseOverlap(own *object) {
	taken := map[string]bool{}
	for _, pointer := range v.pointers(own) {
		if taken[pointer] {
			v.fail(fmt.Errorf("two fields of the mapping lead to %s", pointer))
		}
		taken[pointer] = true
	}
	for _, pointer := range slices.Sorted(maps.Keys(taken)) {
		v.refuseInside(taken, parentOf(pointer))
	}
	for _, t := range v.targets {
		v.refuseInside(taken, t.pointer)
	}
	for _, cm := range v.mapping.containers {
		list := jsonpath.Pointer(cm.list)
		if cm.simple && (isBelow(v.mapping.volumes.Pointer(), list) || isBelow(v.mapping.annotations.Pointer(), list)) {
			v.fail(fmt.Errorf("a field of the mapping leads into %s, where containers are", list))
		}
	}
}

// pointers are the places to write to.
func (v *view) pointers(own *object) []string {
	var found []string
	if v.volumes != nil {
		found = append(found, v.volumes.at)
	}
	if v.annotations != nil {
		found = append(found, v.annotations.at)
	}
	if own != nil && own != v.annotations {
		found = append(found, own.at)
	}
	for _, t := range v.targets {
		found = append(found, t.env.at, t.mounts.at)
	}
	return found
}

func (v *view) refuseInside(taken map[string]bool, pointer string) {
	for ; pointer != ""; pointer = parentOf(pointer) {
		if taken[pointer] {
			v.fail(fmt.Errorf("a field of the mapping leads into %s, where another one leads to", pointer))
		}
	}
}

func listAt(root any, tokens []string) []any {
	for _, token := range tokens {
		switch value := root.(type) {
		case map[string]any:
			root = value[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(value) {
				return nil
			}
			root = value[i]
		default:
			return nil
		}
	}
	items, _ := root.([]any)
	return items
}
