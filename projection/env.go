package projection

import "slices"

// positions in a list, in any order.
type positions []int

func (p positions) has(i int) bool {
	return slices.Contains(p, i)
}

func (p positions) but(drop func(i int) bool) positions {
	return slices.DeleteFunc(slices.Clone(p), drop)
}

// ownership tells which bindings the items of a list of variables belong to, as of one version of the scene.
type ownership struct {
	version int
	own     map[string]positions
	holders [][]string // by position
}

// others are the owners of variables but for one binding.
type others struct {
	*ownership
	uid string
}

func (o others) has(i int) bool {
	_, ok := o.holder(i)
	return ok
}

// holder of a variable; the first of several.
func (o others) holder(i int) (string, bool) {
	first, found := "", false
	for _, uid := range o.holders[i] {
		if uid != o.uid && (!found || uid < first) {
			first, found = uid, true
		}
	}
	return first, found
}

func (s *scene) ownership(e *variables) *ownership {
	if e.owners != nil && e.owners.version == s.version {
		return e.owners
	}
	o := &ownership{version: s.version, own: make(map[string]positions, len(s.projected)), holders: make([][]string, len(e.items))}
	for uid := range s.projected {
		o.own[uid] = s.findOwned(e, uid)
		for _, i := range o.own[uid] {
			o.holders[i] = append(o.holders[i], uid)
		}
	}
	e.owners = o
	return o
}

// ownedByOthers gives the variables that belong to any other binding.
func (s *scene) ownedByOthers(e *variables, uid string) others {
	return others{ownership: s.ownership(e), uid: uid}
}

// owned gives the positions of the variables that belong to the projection of a binding.
func (s *scene) owned(e *variables, uid string) positions {
	if own, ok := s.ownership(e).own[uid]; ok {
		return own
	}
	return s.findOwned(e, uid)
}

// findOwned finds the variables that the record names and that still are what was written. Where the record does not
// speak of the binding, another runtime projected it: then it is every variable that this runtime could have written,
// where the mount is as well, and that the binding asks for, where that is known.
func (s *scene) findOwned(e *variables, uid string) positions {
	recorded := s.recorded[uid]
	if recorded && len(e.env[uid]) == 0 || !recorded && !s.bound(e, uid) {
		return nil
	}
	var found positions
	for _, i := range slices.Backward(e.candidates()) {
		shape := e.shapes[i]
		if !s.wrote(uid, shape) || !s.expects(e, uid, shape) {
			continue
		}
		sameName := func(at int) bool { return e.shapeAt(at).name == shape.name }
		if recorded && slices.ContainsFunc(found, sameName) {
			continue
		}
		found = append(found, i)
	}
	return found
}

// wrote says whether a variable looks like one that the projection of a binding writes.
func (s *scene) wrote(uid string, shape envShape) bool {
	if shape.field != "" {
		return shape.field == annotationField(typeMark, uid) || shape.field == annotationField(providerMark, uid)
	}
	return shape.secret != "" && slices.Contains(s.secrets[uid], shape.secret)
}

// expects says whether a list should have a variable for the sake of a binding.
func (s *scene) expects(e *variables, uid string, shape envShape) bool {
	if s.recorded[uid] {
		origin, noted := e.env[uid][shape.name]
		return noted && origin == shape.origin(uid)
	}
	names, known := s.asked[uid]
	return !known || names[shape.name]
}

// envChange is what a list of variables needs so that it holds those of one binding.
type envChange struct {
	missing   []envShape
	removable positions
	// claims are the variables that are the binding's and not a person's.
	claims []envShape
}

func (c envChange) none() bool {
	return len(c.missing) == 0 && len(c.removable) == 0
}

// compareEnv finds out what to change so that the wanted variables of a binding are there, and none but those.
func (s *scene) compareEnv(e *variables, uid string, want []envShape) envChange {
	own, others := s.owned(e, uid), s.ownedByOthers(e, uid)
	change := envChange{removable: own.but(others.has)}
	for _, w := range want {
		switch held := e.find(w, own, others); held.holder {
		case nobody:
			change.missing = append(change.missing, w)
			change.claims = append(change.claims, w)
		case another, itself:
			change.removable = change.removable.but(func(i int) bool { return i == held.at })
			change.claims = append(change.claims, w)
		case person:
		}
	}
	if !s.recorded[uid] {
		change.removable = change.removable.but(func(i int) bool { return slices.Contains(want, e.shapeAt(i)) })
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
func (e *variables) find(w envShape, own positions, others others) held {
	best := held{at: -1}
	for _, i := range e.candidates() {
		if e.shapes[i] != w {
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
func (s *scene) applyEnv(e *variables, uid string, change envChange) {
	if change.none() {
		return
	}
	items := slices.Clone(e.items)
	var added []envShape
	for _, w := range change.missing {
		sameName := func(i int) bool { return e.shapeAt(i).name == w.name }
		at := slices.IndexFunc(change.removable, sameName)
		if at < 0 {
			added = append(added, w)
			continue
		}
		items[change.removable[at]] = w.item()
		change.removable = slices.Delete(change.removable, at, at+1)
	}
	e.set(without(items, change.removable))
	for _, w := range added {
		e.set(insert(e.items, s.envTail(e, uid, change.claims), w.item()))
	}
}

// envTail is the position from which on every variable is one of ours.
func (s *scene) envTail(e *variables, uid string, claims []envShape) int {
	others := s.ownedByOthers(e, uid)
	return tailOf(e.items, func(i int) bool {
		return others.has(i) || slices.Contains(claims, e.shapeAt(i))
	})
}
