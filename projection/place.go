package projection

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// share is what one container gets of one binding.
type share struct {
	*slot
	bound bool
	mount mountShape
	env   []envShape
}

// plan finds out what each container is to get, and whether it can have it.
func (s *scene) plan(v *view, b Binding) ([]share, *Refusal) {
	shares := make([]share, 0, len(v.targets))
	env := wantedEnv(b)
	for _, t := range v.targets {
		planned := share{slot: t.slot, bound: t.selectedBy(b)}
		if planned.bound {
			root, refusal := t.bindingRoot(b)
			if refusal != nil {
				return nil, refusal
			}
			planned.mount = mountShape{name: volumeName(b.UID), path: path.Join(root, b.Name)}
			planned.env = env
			if refusal := s.collision(planned, b); refusal != nil {
				return nil, refusal
			}
		}
		shares = append(shares, planned)
	}
	return shares, nil
}

func (t target) selectedBy(b Binding) bool {
	if len(b.Containers)+len(b.ContainerIndexes) == 0 {
		return true
	}
	if t.position >= 0 && slices.Contains(b.ContainerIndexes, t.position) {
		return true
	}
	return len(b.Containers) > 0 && (!t.named || t.name != "" && slices.Contains(b.Containers, t.name))
}

// wantedEnv gives the variables of a binding; the last one of a name counts.
func wantedEnv(b Binding) []envShape {
	var shapes []envShape
	for i, env := range b.Env {
		if slices.ContainsFunc(b.Env[i+1:], func(later Env) bool { return later.Name == env.Name }) {
			continue
		}
		shape := envShape{name: env.Name, secret: b.Secret, key: env.Key}
		switch {
		case env.Key == typeMark && b.Type != "":
			shape = envShape{name: env.Name, field: annotationField(typeMark, b.UID)}
		case env.Key == providerMark && b.Provider != "":
			shape = envShape{name: env.Name, field: annotationField(providerMark, b.UID)}
		}
		shapes = append(shapes, shape)
	}
	return shapes
}

// bindingRoot is the container's own SERVICE_BINDING_ROOT, or the default.
func (sl *slot) bindingRoot(b Binding) (string, *Refusal) {
	for _, item := range slices.Backward(sl.env.items) {
		if nameOf(item) != RootVariable {
			continue
		}
		entry, _ := item.(map[string]any)
		problem := rootProblem(entry)
		if problem == "" {
			return text(entry, "value"), nil
		}
		return "", refuse(b.UID, BindingRootNotLiteral,
			"%s of %s %s, so that nobody can tell where to mount binding %q; give it a literal absolute path, or remove it",
			RootVariable, sl.title(), problem, b.Name)
	}
	return DefaultRoot, nil
}

// rootProblem tells why a SERVICE_BINDING_ROOT says nothing about where to mount; nothing if it does.
func rootProblem(entry map[string]any) string {
	value := text(entry, "value")
	switch {
	case entry["valueFrom"] != nil:
		return "is taken from elsewhere"
	case value == "":
		return "is empty"
	case strings.Contains(value, "$("):
		return "refers to another variable"
	case !path.IsAbs(value):
		return "is no absolute path"
	default:
		return ""
	}
}

// collision tells who has the place that a container's share of a binding needs.
func (s *scene) collision(wanted share, b Binding) *Refusal {
	for _, item := range wanted.mounts.items {
		uid, ours := volumeUID(nameOf(item))
		ours = ours && s.isOurs(item)
		if ours && (uid == b.UID || s.pending[uid]) {
			continue
		}
		mount, _ := item.(map[string]any)
		at := text(mount, "mountPath")
		if at == "" || path.Clean(at) != wanted.mount.path {
			continue
		}
		if ours {
			return refuse(b.UID, NameCollision,
				"%s has another binding with the directory %q at %s already; give one of the two another spec.name",
				wanted.title(), path.Base(at), at)
		}
		return refuse(b.UID, NameCollision,
			"%s mounts volume %q at %s, where binding %q belongs; give the binding another spec.name, or move the mount",
			wanted.title(), nameOf(item), at, b.Name)
	}
	return s.envCollision(wanted, b)
}

func (s *scene) envCollision(wanted share, b Binding) *Refusal {
	if len(wanted.env) == 0 {
		return nil
	}
	e := wanted.slot.env
	own, others := s.owned(e, b.UID), s.ownedByOthers(e, b.UID)
	for _, i := range e.candidates() {
		uid, owned := others.holder(i)
		held := e.shapes[i]
		differs := func(w envShape) bool {
			// What a person has given already is not the binding's to give, and so in nobody's way.
			return w.name == held.name && w != held && e.find(w, own, others).holder != person
		}
		if !owned || s.pending[uid] || !slices.ContainsFunc(wanted.env, differs) {
			continue
		}
		return refuse(b.UID, NameCollision,
			"%s has the variable %s from the binding with the directory %q already; "+
				"remove it from spec.env of one of the two, or name it otherwise",
			wanted.title(), held.name, wanted.directoryOf(uid))
	}
	return nil
}

// directoryOf is where a container has a binding mounted.
func (c *container) directoryOf(uid string) string {
	for _, sl := range c.slots {
		for _, i := range sl.mounts.named(volumeName(uid)) {
			mount, _ := sl.mounts.items[i].(map[string]any)
			return path.Base(text(mount, "mountPath"))
		}
	}
	return uid
}

// holds says whether a container already has exactly its share.
func (s *scene) holds(planned share, uid string) bool {
	sl := planned.slot
	if !planned.bound {
		return !sl.carries(uid) && len(s.owned(sl.env, uid)) == 0
	}
	at := sl.mounts.named(planned.mount.name)
	if len(at) != 1 || !s.compareEnv(sl.env, uid, planned.env).none() {
		return false
	}
	shape, ok := mountShapeOf(sl.mounts.items[at[0]])
	return ok && shape == planned.mount
}

// apply writes a binding into the workload, and into the record if there was anything to write.
func (s *scene) apply(v *view, b Binding, shares []share) {
	_, known := s.projected[b.UID]
	s.projected[b.UID] = v.mapping
	if !known {
		s.version++
	}
	claims, changed := s.applyShares(shares, b.UID)
	changed = changed || !known
	shape, volume := volumeOf(b)
	changed = s.place(v.volumes, volume, func(item any) bool {
		held, ok := volumeShapeOf(item)
		return ok && held == shape
	}) || changed
	changed = s.annotate(v, b) || changed
	if changed || s.recorded[b.UID] {
		s.remember(b.UID, shares, claims)
	}
	s.learnSecrets(b.UID)
}

// applyShares writes into all containers, and tells which variables of each are the binding's and whether anything
// changed.
func (s *scene) applyShares(shares []share, uid string) (claims [][]envShape, changed bool) {
	claims = make([][]envShape, len(shares))
	for i, planned := range shares {
		var written bool
		if planned.bound {
			claims[i], written = s.applyShare(planned, uid)
		} else {
			written = s.strip(planned.slot, uid)
		}
		changed = changed || written
	}
	return claims, changed
}

// applyShare writes into one container, and tells which variables are the binding's and whether anything changed.
func (s *scene) applyShare(planned share, uid string) ([]envShape, bool) {
	e := planned.slot.env
	change := s.compareEnv(e, uid, planned.env)
	if s.addRoot(e, uid, change.claims) {
		s.applyEnv(e, uid, s.compareEnv(e, uid, planned.env))
	} else {
		s.applyEnv(e, uid, change)
	}
	placed := s.place(planned.mounts, planned.mount.item(), func(item any) bool {
		held, ok := mountShapeOf(item)
		return ok && held == planned.mount
	})
	return change.claims, placed || !change.none()
}

// remember puts into the record which variables are the binding's.
func (s *scene) remember(uid string, shares []share, claims [][]envShape) {
	if !s.recorded[uid] {
		s.recorded[uid] = true
		s.version++
	}
	for i, planned := range shares {
		origins := make(map[string]string, len(claims[i]))
		for _, shape := range claims[i] {
			origins[shape.name] = shape.origin(uid)
		}
		e := planned.slot.env
		if maps.Equal(e.env[uid], origins) {
			continue
		}
		s.version++
		if len(origins) == 0 {
			delete(e.env, uid)
		} else {
			e.env[uid] = origins
		}
	}
}

// annotate writes the annotations of the pod template and of the workload.
func (s *scene) annotate(v *view, b Binding) bool {
	changed := v.annotations.set(annotationKey(secretMark, b.UID), b.Secret)
	changed = v.annotations.set(annotationKey(typeMark, b.UID), b.Type) || changed
	changed = v.annotations.set(annotationKey(providerMark, b.UID), b.Provider) || changed
	key := annotationKey(mappingMark, b.UID)
	encoded, _ := s.annotations.text(key)
	if encoded == v.mapping.encoded {
		return changed
	}
	if held, err := decodeMapping(encoded); err == nil && held.fingerprint == v.mapping.fingerprint {
		return changed
	}
	return s.annotations.set(key, v.mapping.encoded) || changed
}

// addRoot sets SERVICE_BINDING_ROOT where a container has none, directly before the variables of bindings, and tells
// whether it did.
func (s *scene) addRoot(e *variables, uid string, claims []envShape) bool {
	if e.root && e.ownRoot() < 0 {
		e.root = false // someone has made it their own
	}
	if slices.ContainsFunc(e.items, func(item any) bool { return nameOf(item) == RootVariable }) {
		return false
	}
	root := map[string]any{"name": RootVariable, "value": DefaultRoot}
	tail := s.envTail(e, uid, claims)
	e.set(slices.Insert(slices.Clone(e.items), tail, any(root)))
	e.root = true
	return true
}

// place sees to it that a list has one item of a name, and that it is the one wanted: where the name was, else among
// the last, sorted.
func (s *scene) place(l *list, want map[string]any, isWanted func(any) bool) bool {
	at := l.named(nameOf(want))
	if len(at) == 0 {
		s.version++
		tail := tailOf(l.items, func(i int) bool { return s.isOurs(l.items[i]) })
		l.set(insert(l.items, tail, want))
		return true
	}
	keep := slices.IndexFunc(at, func(i int) bool { return isWanted(l.items[i]) })
	if keep >= 0 && len(at) == 1 {
		return false
	}
	s.version++
	items := slices.Clone(l.items)
	if keep < 0 {
		keep = 0
		items[at[0]] = want
	}
	l.items = items
	l.remove(slices.Delete(slices.Clone(at), keep, keep+1))
	l.changed = true
	return true
}
