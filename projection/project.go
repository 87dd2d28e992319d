package projection

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// Project gives the workload with the bindings projected into it by the mapping. What was projected of them before is
// brought up to date, and made anew where it was made with another mapping; other bindings stay as they are, and so
// does the workload that was given. The error is a *Refusal if one of the bindings cannot be projected.
func Project(w Workload, m *Mapping, bs []Binding) (Workload, error) {
	after, refusals, err := Settle(w, m, bs, nil)
	if err != nil {
		return nil, err
	}
	if len(refusals) > 0 {
		return nil, refusals[0]
	}
	return after, nil
}

// Unproject gives the workload without these bindings, as if they never had been projected, each removed with the
// mapping that it was projected with. What people have changed since stays.
func Unproject(w Workload, uids ...string) (Workload, error) {
	s := enter(w, nil)
	for _, uid := range uids {
		if err := s.drop(uid); err != nil {
			return nil, err
		}
	}
	return s.leave(), nil
}

// Settle removes the bindings to drop and projects those wanted. A binding that cannot be projected is answered with a
// refusal, is removed if it was projected before, and never is in the way of others: where two want one place, it goes
// to the one that has it already, else to the earlier one.
func Settle(w Workload, m *Mapping, want []Binding, drop []string) (Workload, []*Refusal, error) {
	if m == nil {
		m = Default()
	}
	if err := unique(want); err != nil {
		return nil, nil, err
	}
	s := enter(w, m)
	for _, uid := range drop {
		if err := s.drop(uid); err != nil {
			return nil, nil, err
		}
	}
	refusals, err := s.projectAll(m, want)
	if err != nil {
		return nil, nil, err
	}
	after := s.leave()
	if m.simple() || len(refusals) == len(want) || sameContainers(s.views[m.fingerprint], after) {
		return after, refusals, nil
	}
	return settleUnstable(w, want, drop)
}

// settleUnstable refuses all bindings for a mapping that would find other containers once they are projected.
func settleUnstable(w Workload, want []Binding, drop []string) (Workload, []*Refusal, error) {
	refusals := make([]*Refusal, 0, len(want))
	gone := slices.Clone(drop)
	for _, b := range want {
		gone = append(gone, b.UID)
		refusals = append(refusals, mismatch(b.UID, errUnstable))
	}
	after, err := Unproject(w, gone...)
	return after, refusals, err
}

var errUnstable = errors.New("the path of its containers finds other containers once something is projected")

func mismatch(uid string, problem error) *Refusal {
	return refuse(uid, MappingMismatch,
		"the mapping does not fit the workload: %v; correct the workload, or its ClusterWorkloadResourceMapping", problem)
}

func sameContainers(v *view, after Workload) bool {
	var before, now []string
	for _, t := range v.targets {
		before = append(before, t.pointer)
	}
	for _, cm := range v.mapping.containers {
		matches, err := cm.path.Find(after)
		if err != nil {
			return false
		}
		for _, match := range matches {
			now = append(now, match.Pointer())
		}
	}
	return maps.Equal(setOf(before), setOf(now))
}

func setOf[T comparable](items []T) map[T]bool {
	set := make(map[T]bool, len(items))
	for _, item := range items {
		set[item] = true
	}
	return set
}

func unique(bs []Binding) error {
	seen := map[string]bool{}
	for _, b := range bs {
		if seen[b.UID] {
			return fmt.Errorf("projecting binding %q: its uid %q is given twice", b.Name, b.UID)
		}
		seen[b.UID] = true
	}
	return nil
}

// drop removes every trace of a binding.
func (s *scene) drop(uid string) error {
	m, ok := s.projected[uid]
	if !ok {
		return nil
	}
	if limit, ok := errors.AsType[*jsonpath.LimitError](s.load(m).problem); ok {
		return fmt.Errorf("removing the projection of binding %s: %w", uid, limit)
	}
	asked, wanted := s.asked[uid]
	delete(s.asked, uid) // what another runtime has projected is all to go, wanted or not
	s.version++
	s.erase(uid)
	if wanted {
		s.asked[uid] = asked
	}
	// As long as a binding was known, what belongs to it was recognised.
	delete(s.projected, uid)
	delete(s.recorded, uid)
	delete(s.secrets, uid)
	s.version++
	s.dirty = true
	return nil
}

// erase takes a binding out of every place.
func (s *scene) erase(uid string) {
	for _, e := range s.variables {
		s.stripEnv(e, uid)
	}
	for _, c := range s.order {
		for _, sl := range c.slots {
			s.stripMounts(sl.mounts, uid)
		}
	}
	for _, e := range s.variables {
		s.stripRoot(e, uid)
	}
	for _, v := range s.views {
		if v.volumes != nil {
			v.volumes.remove(v.volumes.named(volumeName(uid)))
		}
	}
	for _, o := range s.objects {
		for _, mark := range []string{mappingMark, secretMark, typeMark, providerMark} {
			o.set(annotationKey(mark, uid), "")
		}
	}
}

// projectAll projects what fits. Everything wanted counts as not yet there; then those whose places would not change
// come first, those that were projected at other places second, and new ones last.
func (s *scene) projectAll(m *Mapping, want []Binding) ([]*Refusal, error) {
	v := s.load(m)
	for _, b := range want {
		s.pending[b.UID] = true
		s.asked[b.UID] = map[string]bool{}
		for _, env := range b.Env {
			s.asked[b.UID][env.Name] = true
		}
	}
	s.version++
	ranks := map[string]int{}
	for _, b := range want {
		rank, err := s.rank(v, b)
		if err != nil {
			return nil, err
		}
		ranks[b.UID] = rank
	}
	ordered := slices.Clone(want)
	slices.SortStableFunc(ordered, func(a, b Binding) int { return ranks[a.UID] - ranks[b.UID] })
	refused := map[string]*Refusal{}
	for _, b := range ordered {
		refusal, err := s.project(v, b)
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			refused[b.UID] = refusal
		}
	}
	var refusals []*Refusal
	for _, b := range want {
		if r := refused[b.UID]; r != nil {
			refusals = append(refusals, r)
		}
	}
	return refusals, nil
}

// rank says how firmly a binding holds its places. What was projected with another mapping is removed.
func (s *scene) rank(v *view, b Binding) (int, error) {
	with, known := s.projected[b.UID]
	switch {
	case !known:
		return 2, nil
	case with.fingerprint != v.mapping.fingerprint:
		return 1, s.drop(b.UID)
	}
	if s.stands(v, b) {
		return 0, nil
	}
	return 1, nil
}

// stands says whether a binding is, and may be, at its places already.
func (s *scene) stands(v *view, b Binding) bool {
	if v.problem != nil || check(b) != nil {
		return false
	}
	shares, refusal := s.plan(v, b)
	return refusal == nil && !slices.ContainsFunc(shares, func(planned share) bool { return !s.holds(planned, b.UID) })
}

func (s *scene) project(v *view, b Binding) (*Refusal, error) {
	refusal := check(b)
	if refusal == nil && v.problem != nil {
		refusal = mismatch(b.UID, v.problem)
	}
	var shares []share
	if refusal == nil {
		shares, refusal = s.plan(v, b)
	}
	delete(s.pending, b.UID)
	if refusal != nil {
		return refusal, s.drop(b.UID)
	}
	s.apply(v, b, shares)
	return nil, nil //nolint:nilnil // neither refused nor failed
}

// check tells what a binding lacks by itself.
func check(b Binding) *Refusal {
	if b.UID == "" || b.Secret == "" {
		return refuse(b.UID, InvalidBinding, "binding %q has no uid or no Secret yet", b.Name)
	}
	if b.Name == "" || b.Name == "." || b.Name == ".." || strings.ContainsRune(b.Name, '/') {
		return refuse(b.UID, InvalidBinding, "%q cannot be the name of a directory; set spec.name", b.Name)
	}
	for _, env := range b.Env {
		if env.Name == RootVariable {
			return refuse(b.UID, InvalidBinding, "binding %q sets %s, which says where bindings are; remove it from spec.env",
				b.Name, RootVariable)
		}
	}
	return nil
}
