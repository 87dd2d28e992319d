package projection

import (
	"slices"
	"strconv"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// container is an object that is bound like a container of a pod. It is one and the same for all mappings that find
// it, and so is what was missing in it before.
type container struct {
	pointer string
	tokens  []string
	node    map[string]any
	name    string // for people; empty where no mapping says how it is named
	key     string // of what the record says of it
	byName  bool   // the key is a name, not a position
	gaps    gaps
	// variables are its lists of variables, by JSON pointer from the container.
	variables map[string]*variables
	slots     []*slot
}

// slot is what one mapping, or several, use of a container: a list of variables and a list of mounts.
type slot struct {
	*container
	suffix string // tells it from other slots of the container
	env    *variables
	mounts *list
}

// variables is a list of variables and what was added to it, by whichever mapping.
type variables struct {
	*list
	added
	slots  []*slot    // those that use it
	shapes []envShape // of the items, filled on demand
	shaped positions  // of the items that have one
	owners *ownership // of the items, filled on demand
}

func (e *variables) set(items []any) {
	e.list.set(items)
	e.shapes, e.owners = nil, nil
}

// shapeAt gives the shape of a variable; the zero shape where it has none.
func (e *variables) shapeAt(i int) envShape {
	e.recognise()
	return e.shapes[i]
}

// candidates are the positions of the variables that have a shape, and so may be a binding's.
func (e *variables) candidates() positions {
	e.recognise()
	return e.shaped
}

func (e *variables) recognise() {
	if e.shapes != nil {
		return
	}
	e.shapes, e.shaped = make([]envShape, len(e.items)), nil
	for i, item := range e.items {
		if shape, ok := envShapeOf(item); ok {
			e.shapes[i] = shape
			e.shaped = append(e.shaped, i)
		}
	}
}

// ownRoot is the position of the SERVICE_BINDING_ROOT that was added, or -1 if someone has changed it since.
func (e *variables) ownRoot() int {
	if !e.root {
		return -1
	}
	return slices.IndexFunc(e.items, isDefaultRoot)
}

// carries says whether the slot mounts the volume of a binding.
func (sl *slot) carries(uid string) bool {
	name := volumeName(uid)
	return slices.ContainsFunc(sl.mounts.items, func(item any) bool { return nameOf(item) == name })
}

// carries says whether any mapping finds the volume of a binding mounted in the container.
func (c *container) carries(uid string) bool {
	return slices.ContainsFunc(c.slots, func(sl *slot) bool { return sl.carries(uid) })
}

// title is the place of a container for people.
func (c *container) title() string {
	if c.name != "" {
		return "container " + strconv.Quote(c.name)
	}
	return "the container at " + jsonpath.Pointer(c.tokens)
}

// serves says whether a slot is one that the projection of a binding goes to: one that its mapping finds. Where the
// binding is mounted in none of those, since someone has changed the mapping, it is any.
func (s *scene) serves(sl *slot, uid string) bool {
	m, ok := s.projected[uid]
	if !ok {
		return true
	}
	found := s.load(m).found
	if found[sl] {
		return true
	}
	for other := range found {
		if other.carries(uid) {
			return false
		}
	}
	return true
}

// needsRoot says whether any other binding is mounted where a list of variables counts.
func (s *scene) needsRoot(e *variables, uid string) bool {
	for other := range s.projected {
		if other != uid && s.bound(e, other) {
			return true
		}
	}
	return false
}

// bound says whether a binding is mounted where a list of variables counts.
func (s *scene) bound(e *variables, uid string) bool {
	return slices.ContainsFunc(e.slots, func(sl *slot) bool { return sl.carries(uid) && s.serves(sl, uid) })
}

// strip takes a binding out of a slot, and SERVICE_BINDING_ROOT with the last one if it was added.
func (s *scene) strip(sl *slot, uid string) bool {
	variables := s.stripEnv(sl.env, uid)
	mounts := s.stripMounts(sl.mounts, uid)
	return s.stripRoot(sl.env, uid) || variables || mounts
}

func (s *scene) stripEnv(e *variables, uid string) bool {
	own := s.owned(e, uid).but(s.ownedByOthers(e, uid).has)
	if len(own) > 0 {
		e.set(without(e.items, own))
	}
	if _, noted := e.env[uid]; noted {
		delete(e.env, uid)
		s.version++
	}
	return len(own) > 0
}

func (s *scene) stripMounts(l *list, uid string) bool {
	at := l.named(volumeName(uid))
	if len(at) == 0 {
		return false
	}
	l.remove(at)
	s.version++
	return true
}

func (s *scene) stripRoot(e *variables, uid string) bool {
	if !e.root || s.needsRoot(e, uid) {
		return false
	}
	if i := e.ownRoot(); i >= 0 {
		e.set(without(e.items, positions{i}))
	}
	e.root = false
	return true
}
