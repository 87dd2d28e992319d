package projection

import "slices"

// container is an object that is bound like a container of a pod.
type container struct {
	pointer string
	tokens  []string
	node    map[string]any
	name    string // empty where no mapping says how it is named
	// key names it in the record; suffix is the part of it that tells apart mappings with lists of their own.
	key, suffix string
	byName      bool // the key is a name, not a position
	env, mounts *list
	note        *note
	shapes      []envShape // of env.items, filled on demand
}

// live are the places within the container where something of ours is.
func (c *container) live(s *scene) []string {
	var pointers []string
	if slices.ContainsFunc(c.mounts.items, s.isOurs) {
		pointers = append(pointers, c.mounts.path.Pointer())
	}
	if c.note.root || len(c.note.env) > 0 {
		pointers = append(pointers, c.env.path.Pointer())
	}
	return pointers
}

func (c *container) setEnv(items []any) {
	c.env.set(items)
	c.shapes = nil
}

// shapeAt gives the shape of a variable; the zero shape where it has none.
func (c *container) shapeAt(i int) envShape {
	if c.shapes == nil {
		c.shapes = make([]envShape, len(c.env.items))
		for j, item := range c.env.items {
			if shape, ok := envShapeOf(item); ok {
				c.shapes[j] = shape
			}
		}
	}
	return c.shapes[i]
}

// carries says whether the container mounts the volume of a binding.
func (c *container) carries(uid string) bool {
	name := volumeName(uid)
	return slices.ContainsFunc(c.mounts.items, func(item any) bool { return nameOf(item) == name })
}

// wrote says whether a variable looks like one that the projection of a binding writes.
func (s *scene) wrote(uid string, shape envShape) bool {
	if shape.field != "" {
		return shape.field == annotationField(typeMark, uid) || shape.field == annotationField(providerMark, uid)
	}
	return shape.secret != "" && slices.Contains(s.secrets[uid], shape.secret)
}

// owned gives the positions of the variables that belong to the projection of a binding: those that the record names
// and that still are what was written. Where the record does not speak of the binding, another runtime projected it:
// then it is every variable that this runtime could have written, in a container that has the mount as well, and that
// the binding asks for, where that is known.
func (s *scene) owned(c *container, uid string) positions {
	recorded := s.recorded[uid]
	if recorded && len(c.note.env[uid]) == 0 || !recorded && !c.carries(uid) {
		return nil
	}
	var found positions
	for i := range slices.Backward(c.env.items) {
		shape := c.shapeAt(i)
		if !s.wrote(uid, shape) || !s.expects(c, uid, shape) {
			continue
		}
		sameName := func(at int) bool { return c.shapeAt(at).name == shape.name }
		if recorded && slices.ContainsFunc(found, sameName) {
			continue
		}
		found = append(found, i)
	}
	return found
}

// expects says whether a container should have a variable for the sake of a binding.
func (s *scene) expects(c *container, uid string, shape envShape) bool {
	if s.recorded[uid] {
		origin, noted := c.note.env[uid][shape.name]
		return noted && origin == shape.origin(uid)
	}
	names, known := s.asked[uid]
	return !known || names[shape.name]
}

// positions in a list, in any order.
type positions []int

func (p positions) has(i int) bool {
	return slices.Contains(p, i)
}

func (p positions) but(drop func(i int) bool) positions {
	return slices.DeleteFunc(slices.Clone(p), drop)
}

// owners are the bindings that variables belong to, by position.
type owners map[int]string

func (o owners) has(i int) bool {
	_, ok := o[i]
	return ok
}

// ownedByOthers gives the variables that belong to any other binding.
func (s *scene) ownedByOthers(c *container, uid string) owners {
	var found owners
	for other := range s.projected {
		if other == uid {
			continue
		}
		for _, i := range s.owned(c, other) {
			if found == nil {
				found = owners{}
			}
			if held, ok := found[i]; !ok || other < held {
				found[i] = other
			}
		}
	}
	return found
}

// envChange is what a container's list of variables needs so that it holds those of one binding.
type envChange struct {
	missing   []envShape
	removable positions
	// claims are the variables that are the binding's and not a person's.
	claims map[string]envShape
}

func (c envChange) none() bool {
	return len(c.missing) == 0 && len(c.removable) == 0
}

// compareEnv finds out what to change so that the wanted variables of a binding are there, and none but those.
func (s *scene) compareEnv(c *container, uid string, want []envShape) envChange {
	own, others := s.owned(c, uid), s.ownedByOthers(c, uid)
	change := envChange{removable: own.but(others.has), claims: map[string]envShape{}}
	for _, w := range want {
		switch held := c.find(w, own, others); held.holder {
		case nobody:
			change.missing = append(change.missing, w)
			change.claims[w.name] = w
		case another, itself:
			change.removable = change.removable.but(func(i int) bool { return i == held.at })
			change.claims[w.name] = w
		case person:
		}
	}
	if !s.recorded[uid] {
		change.removable = change.removable.but(func(i int) bool { return slices.Contains(want, c.shapeAt(i)) })
	}
	return change
}

// holder is whose a variable is, from the view of one binding.
type holder int

const (
	nobody holder = iota
	person
	another // binding
	itself
)

// held is a variable that is there.
type held struct {
	at     int
	holder holder
}

// find looks for a variable: the binding's own before that of another binding before a person's.
func (c *container) find(w envShape, own positions, others owners) held {
	best := held{at: -1}
	for i := range c.env.items {
		if c.shapeAt(i) != w {
			continue
		}
		found := held{at: i, holder: person}
		switch {
		case own.has(i):
			found.holder = itself
		case others.has(i):
			found.holder = another
		}
		if found.holder > best.holder {
			best = found
		}
	}
	return best
}

// applyEnv makes the change: in place where the name stays, else after everything that is a person's.
func (s *scene) applyEnv(c *container, uid string, change envChange) {
	if change.none() {
		return
	}
	items := slices.Clone(c.env.items)
	var added []envShape
	for _, w := range change.missing {
		sameName := func(i int) bool { return c.shapeAt(i).name == w.name }
		at := slices.IndexFunc(change.removable, sameName)
		if at < 0 {
			added = append(added, w)
			continue
		}
		items[change.removable[at]] = w.item()
		change.removable = slices.Delete(change.removable, at, at+1)
	}
	c.setEnv(without(items, change.removable))
	for _, w := range added {
		c.setEnv(insert(c.env.items, s.envTail(c, uid, change.claims), w.item()))
	}
}

// envTail is the position from which on every variable is one of ours.
func (s *scene) envTail(c *container, uid string, claims map[string]envShape) int {
	others := s.ownedByOthers(c, uid)
	return tailOf(c.env.items, func(i int) bool {
		shape := c.shapeAt(i)
		claimed, ok := claims[shape.name]
		return ok && claimed == shape || others.has(i)
	})
}

// strip takes a binding out of a container, and SERVICE_BINDING_ROOT with the last one if it was added.
func (s *scene) strip(c *container, uid string) bool {
	own := s.owned(c, uid).but(s.ownedByOthers(c, uid).has)
	if len(own) > 0 {
		c.setEnv(without(c.env.items, own))
	}
	delete(c.note.env, uid)
	mounts := c.mounts.named(volumeName(uid))
	c.mounts.remove(mounts)
	if c.note.root && !slices.ContainsFunc(c.mounts.items, s.isOurs) {
		if i := c.ownRoot(); i >= 0 {
			c.setEnv(without(c.env.items, positions{i}))
		}
		c.note.root = false
		return true
	}
	return len(own) > 0 || len(mounts) > 0
}

// ownRoot is the position of the SERVICE_BINDING_ROOT that was added, or -1 if someone has changed it since.
func (c *container) ownRoot() int {
	if !c.note.root {
		return -1
	}
	return slices.IndexFunc(c.env.items, isDefaultRoot)
}
