package projection

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// load finds the places of a mapping in the workload, once.
func (s *scene) load(m *Mapping) *view {
	if known, ok := s.views[m.fingerprint]; ok {
		return known
	}
	v := &view{mapping: m}
	s.views[m.fingerprint] = v
	v.volumes = s.list(v, s.seat(m.volumes))
	v.annotations = s.object(v, s.seat(m.annotations))
	for _, cm := range m.containers {
		s.loadContainers(v, cm)
	}
	v.refuseOverlap(s.annotations)
	return v
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
	c := s.container(v, cm, at)
	if c == nil || slices.ContainsFunc(v.targets, func(t target) bool { return t.container == c }) {
		return
	}
	t := target{container: c, named: cm.name != nil}
	if t.named {
		value, _, err := cm.name.Get(at.node)
		if err != nil {
			v.fail(fmt.Errorf("below %s: %w", c.pointer, err))
		}
		t.name, _ = value.(string)
		if c.name == "" {
			c.name = t.name
		}
		if t.nameInside(cm) {
			v.fail(fmt.Errorf("the name of %s lies within what is projected", c.pointer))
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

// container is the same one for every mapping that sees the same lists in the same object.
func (s *scene) container(v *view, cm containerMapping, at place) *container {
	pointer := jsonpath.Pointer(at.tokens)
	identity := strings.Join([]string{pointer, cm.env.Pointer(), cm.mounts.Pointer()}, "|")
	if known, ok := s.containers[identity]; ok {
		return known
	}
	c := &container{pointer: pointer, tokens: at.tokens, node: at.node, note: newNote()}
	c.env = s.list(v, seat{base: pointer, node: at.node, path: cm.env, gaps: c.note.gaps})
	c.mounts = s.list(v, seat{base: pointer, node: at.node, path: cm.mounts, gaps: c.note.gaps})
	if c.env == nil || c.mounts == nil {
		return nil
	}
	if cm.env.String() != defaultEnv || cm.mounts.String() != defaultVolumeMounts {
		c.suffix = "|" + cm.env.Pointer() + "|" + cm.mounts.Pointer()
	}
	s.containers[identity] = c
	s.order = append(s.order, c)
	return c
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
		found = append(found, v.volumes.pointer())
	}
	if v.annotations != nil {
		found = append(found, v.annotations.pointer())
	}
	if own != nil && own != v.annotations {
		found = append(found, own.pointer())
	}
	for _, t := range v.targets {
		found = append(found, t.env.pointer(), t.mounts.pointer())
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

func parentOf(pointer string) string {
	return pointer[:max(strings.LastIndexByte(pointer, '/'), 0)]
}

// strays finds containers that a selective path no longer finds, since someone has changed them, but that still have
// mounts of ours: they lie beside containers that it finds, or beside those that the record speaks of.
func (s *scene) strays(recorded map[string]noteRecord) {
	parents := map[string]bool{}
	for _, c := range s.order {
		parents[parentOf(c.pointer)] = true
	}
	for key := range recorded {
		if end := strings.IndexAny(key, "=[|"); end > 0 {
			parents[key[:end]] = true
		}
	}
	for _, fingerprint := range slices.Sorted(maps.Keys(s.views)) {
		for _, cm := range s.views[fingerprint].mapping.containers {
			if cm.simple {
				continue
			}
			for _, parent := range slices.Sorted(maps.Keys(parents)) {
				s.loadStrays(cm, jsonpath.Tokens(parent))
			}
		}
	}
}

func (s *scene) loadStrays(cm containerMapping, parent []string) {
	for i, element := range listAt(s.root, parent) {
		node, ok := element.(map[string]any)
		if !ok {
			continue
		}
		tokens := append(slices.Clone(parent), strconv.Itoa(i))
		mounts, _, err := cm.mounts.Get(node)
		items, _ := mounts.([]any)
		if err == nil && slices.ContainsFunc(items, s.isOurs) {
			s.loadContainer(&view{}, cm, place{tokens: tokens, node: node})
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
