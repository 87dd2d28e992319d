package projection

import (
	"errors"
	"maps"
	"slices"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// scene is a workload while it is changed: a copy of it, every place where projections are or may go, and the record.
type scene struct {
	root Workload
	// projected has each binding with a mark on the workload, and the mapping it was projected with.
	projected map[string]*Mapping
	// recorded has the bindings that the record speaks of.
	recorded map[string]bool
	// pending are bindings to be projected anew, so that nothing they hold now is in anyone's way.
	pending map[string]bool
	// asked has the names of the variables that bindings to be projected ask for.
	asked map[string]map[string]bool
	// secrets are the Secrets that a binding's variables may refer to, as far as the workload tells.
	secrets map[string][]string

	views      map[string]*view
	containers map[string]*container
	order      []*container
	lists      map[string]*list
	variables  map[string]*variables
	objects    map[string]*object

	annotations *object // of the workload itself
	gaps        gaps
	before      string // the record as found
	dirty       bool
	version     int // counts the changes that may give a variable to another owner
}

// view is the workload as one mapping sees it.
type view struct {
	mapping     *Mapping
	targets     []target
	strays      []target // what the mapping has found before and finds no more
	found       map[*slot]bool
	volumes     *list
	annotations *object
	// problem says why nothing can be projected with this mapping. What could be found nevertheless is there.
	problem error
}

// target is a container as one mapping sees it.
type target struct {
	*slot
	name  string
	named bool // the mapping says where names are
	// position counts the containers that the mapping finds, in its order, without init containers, which have -1.
	position int
}

// enter copies a workload and finds everything that projections have to do with, now and with the mapping m, which
// may be nil.
func enter(w Workload, m *Mapping) *scene {
	root, _ := clone(w).(map[string]any)
	if root == nil {
		root = map[string]any{}
	}
	s := &scene{
		root: root, projected: marks(root, m), recorded: map[string]bool{}, pending: map[string]bool{},
		asked: map[string]map[string]bool{}, secrets: map[string][]string{}, views: map[string]*view{},
		containers: map[string]*container{}, lists: map[string]*list{}, variables: map[string]*variables{},
		objects: map[string]*object{},
	}
	annotations := workloadAnnotations(root)
	s.before, _ = annotations[recordAnnotation].(string)
	r := decodeRecord(s.before)
	s.gaps = r.gaps()
	for _, uid := range r.Bindings {
		if _, marked := s.projected[uid]; marked {
			s.recorded[uid] = true
		}
	}
	own := &view{}
	s.annotations = s.object(own, s.seat(jsonpath.FixedOf("metadata", "annotations")))
	if m != nil {
		s.load(m)
	}
	s.loadProjected(m)
	for _, v := range s.views {
		if v.problem == nil {
			v.problem = own.problem
		}
	}
	notes := r.notes(s.recorded)
	s.strays(notes)
	for uid := range s.projected {
		s.learnSecrets(uid)
	}
	s.attach(notes)
	return s
}

// loadProjected loads what bindings were projected with. A mapping that costs more than it may is taken for spoiled, since
// whoever may write the annotation could keep a projection from being removed with it: that of the workload's kind stands in.
func (s *scene) loadProjected(m *Mapping) {
	for _, uid := range slices.Sorted(maps.Keys(s.projected)) {
		if costs(s.load(s.projected[uid])) && m != nil && !costs(s.load(m)) {
			s.projected[uid] = m
		}
	}
}

// costs says that following a mapping was given up, since it costs more than it may.
func costs(v *view) bool {
	_, limited := errors.AsType[*jsonpath.LimitError](v.problem)
	return limited
}

func (s *scene) seat(path *jsonpath.Fixed) seat {
	return seat{node: s.root, path: path, gaps: s.gaps}
}

func (s *scene) list(v *view, at seat) *list {
	pointer := at.pointer()
	if known, ok := s.lists[pointer]; ok {
		return known
	}
	value, err := at.get()
	items, ok := value.([]any)
	if err == nil && value != nil && !ok {
		err = at.mismatch(value, "a list")
	}
	if err != nil {
		v.fail(err)
		return nil
	}
	l := &list{seat: at, at: pointer, before: items, items: items}
	s.lists[pointer] = l
	return l
}

func (s *scene) object(v *view, at seat) *object {
	pointer := at.pointer()
	if known, ok := s.objects[pointer]; ok {
		return known
	}
	value, err := at.get()
	entries, ok := value.(map[string]any)
	if err == nil && value != nil && !ok {
		err = at.mismatch(value, "an object")
	}
	if err != nil {
		v.fail(err)
		return nil
	}
	o := &object{seat: at, at: pointer, entries: entries}
	s.objects[pointer] = o
	return o
}

func (v *view) fail(err error) {
	if v.problem == nil {
		v.problem = err
	}
}

// learnSecrets takes down which Secrets the projection of a binding names on this workload.
func (s *scene) learnSecrets(uid string) {
	var found []string
	for _, o := range s.objects {
		if secret, ok := o.text(annotationKey(secretMark, uid)); ok {
			found = append(found, secret)
		}
	}
	for _, v := range s.views {
		if v.volumes == nil {
			continue
		}
		for _, i := range v.volumes.named(volumeName(uid)) {
			if secret, ok := projectedSecret(v.volumes.items[i]); ok {
				found = append(found, secret)
			}
		}
	}
	if !slices.Equal(s.secrets[uid], found) {
		s.secrets[uid] = found
		s.version++
	}
}

// isOurs says whether a volume or a mount belongs to a binding that is projected.
func (s *scene) isOurs(item any) bool {
	uid, ok := volumeUID(nameOf(item))
	if !ok {
		return false
	}
	_, ok = s.projected[uid]
	return ok
}

// leave writes everything into the copy of the workload and gives it back.
func (s *scene) leave() Workload {
	for _, l := range s.lists {
		s.dirty = s.dirty || l.changed
		l.flush()
	}
	for _, o := range s.objects {
		s.dirty = s.dirty || o.changed
		if o != s.annotations {
			o.flush()
		}
	}
	if len(s.projected) == 0 && s.before != "" {
		s.dirty = true
	}
	if s.dirty && s.annotations != nil {
		s.settleRecord()
	}
	return s.root
}

func (s *scene) settleRecord() {
	s.nameContainers()
	s.annotations.set(recordAnnotation, "")
	s.fill()
	if len(s.projected) == 0 {
		return
	}
	// The annotations come into being with the record, so that the record says whether they were there.
	if s.write().encode() != "" || len(s.annotations.entries) > 0 {
		s.annotations.changed = true
		if s.annotations.entries == nil {
			s.annotations.entries = map[string]any{}
		}
		s.annotations.put(s.annotations.entries)
	}
	s.annotations.set(recordAnnotation, s.write().encode())
}
