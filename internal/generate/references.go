package generate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// Need is an object that must be read to make the entries of a service. It is always one of the service's own namespace.
type Need struct {
	Reference

	// Origins are those of the rules that point to it.
	Origins []Origin
	// Optional says that each of these rules passes it over where it is missing.
	Optional bool
	// Entries are those that are taken of it by name, sorted.
	Entries []string
	// Whole says that a rule takes every entry.
	Whole bool
}

// add notes that a rule points to the object.
func (n *Need) add(r *Rule, entry string) {
	if !slices.Contains(n.Origins, r.Origin) {
		n.Origins = append(n.Origins, r.Origin)
	}
	n.Optional = n.Optional && r.Optional
	if entry == "" {
		n.Whole = true
	} else if at, found := slices.BinarySearch(n.Entries, entry); !found {
		n.Entries = slices.Insert(n.Entries, at, entry)
	}
}

// References lists what must be read, each object once, sorted. Those that could be found come beside the error, which is
// Faults.
func (r *Recipe) References(service map[string]any) ([]Need, error) {
	var needs []Need
	var faults Faults
	at := map[Reference]int{}
	w := newWork()
	for _, rule := range r.rules {
		if !rule.refers() {
			continue
		}
		targets, found := rule.targets(service, w)
		faults = append(faults, found...)
		for _, t := range targets {
			i, ok := at[t.Reference]
			if !ok {
				i = len(needs)
				at[t.Reference] = i
				needs = append(needs, Need{Reference: t.Reference, Optional: true})
			}
			needs[i].add(rule, t.entry)
		}
	}
	slices.SortFunc(needs, func(a, b Need) int { return compareReferences(a.Reference, b.Reference) })
	return needs, faults.err()
}

// target is an object that a rule points to, and what to take of it.
type target struct {
	Reference

	// entry to take; empty for all of them.
	entry string
	// name of the entry that is made, or what the names of all of them begin with.
	name string
}

// targets finds the objects that a rule points to.
func (r *Rule) targets(service map[string]any, w *work) ([]target, Faults) {
	switch r.ElementType {
	case ElementSliceOfStrings:
		return r.eachTarget(service, w, r.targetOfText)
	case ElementSliceOfMaps:
		return r.eachTarget(service, w, r.targetOfMap)
	default:
		t, err := r.target(service, w)
		if err != nil {
			return nil, r.faults(err)
		}
		return []target{t}, nil
	}
}

// target finds the one object that a rule points to, by its name or as name and key.
func (r *Rule) target(service map[string]any, w *work) (target, error) {
	t := target{entry: r.SourceKey, name: r.Name}
	reference, err := w.object(r.Path, service)
	if err == nil && reference != nil {
		err = r.pointAs(&t, service, reference)
	} else if err == nil {
		var name string
		if name, err = w.expand(r.Path, service); err == nil {
			err = r.point(&t, name)
		}
	}
	if err == nil {
		err = w.refer(t.Reference)
	}
	t.name = cmp.Or(t.name, t.entry)
	return t, err
}

// targetFinder finds the object that an element of a list points to.
type targetFinder func(service map[string]any, i int, element any) (target, error)

func (r *Rule) eachTarget(service map[string]any, w *work, find targetFinder) ([]target, Faults) {
	list, err := w.elements(r, service)
	if err != nil {
		return nil, r.faults(err)
	}
	var targets []target
	var faults Faults
	for i, element := range list {
		t, err := find(service, i, element)
		if err != nil {
			faults = append(faults, r.faults(err)...)
			continue
		}
		if err := w.refer(t.Reference); err != nil {
			return targets, append(faults, r.invalid(err.Error()))
		}
		targets = append(targets, t)
	}
	return targets, faults
}

// targetOfText is for lists of names, or of objects with a field that is one.
func (r *Rule) targetOfText(_ map[string]any, i int, element any) (target, error) {
	t := target{entry: r.SourceKey, name: join(r.base(), strconv.Itoa(i))}
	name, err := r.elementText(i, element)
	if err != nil {
		return t, err
	}
	return t, r.point(&t, name)
}

// targetOfMap is for lists of objects that tell the entry's name in one field and the object in another: by its name, or
// as name and key.
func (r *Rule) targetOfMap(service map[string]any, i int, element any) (target, error) {
	key, given, err := r.elementPair(i, element)
	if err != nil {
		return target{}, err
	}
	t := target{name: join(r.Name, key)}
	reference, ok := given.(map[string]any)
	if !ok {
		return t, r.point(&t, textOf(given))
	}
	return t, r.pointAs(&t, service, reference)
}

// pointAs completes a target by a reference as Kubernetes writes them: an object with a name and, where one entry is meant,
// its key.
func (r *Rule) pointAs(t *target, service, reference map[string]any) error {
	if namespace := text(reference, "namespace"); namespace != "" && namespace != text(service, "metadata", "namespace") {
		return r.invalid(fmt.Sprintf(
			"the path leads to an object in namespace %s; only those of the service's own namespace are read", bounded(namespace)))
	}
	t.entry = cmp.Or(t.entry, text(reference, "key"))
	return r.point(t, text(reference, "name"))
}

// point completes a target by the name of the object.
func (r *Rule) point(t *target, name string) error {
	if name == "" {
		return &absent{expression: r.Path.String()}
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return r.invalid(fmt.Sprintf("%s cannot be the name of a %s in the service's own namespace: %s", bounded(name), r.ObjectType, problems[0]))
	}
	t.Reference = Reference{Kind: string(r.ObjectType), Name: name}
	return nil
}

// elementText is the value that an element of a slice of strings gives.
func (r *Rule) elementText(i int, element any) (string, error) {
	if r.SourceValue == "" {
		switch element.(type) {
		case map[string]any, []any:
			f := r.invalid(fmt.Sprintf("element %d is %s, not a string", i, jsonpath.Article(element)))
			f.Hint = "add sourceValue=, the field of each element to take"
			return "", f
		case nil:
			return "", r.lacks(i, "value")
		}
		return textOf(element), nil
	}
	object, ok := element.(map[string]any)
	if !ok {
		return "", r.notAnObject(i, element)
	}
	v := object[r.SourceValue]
	if v == nil {
		return "", r.lacks(i, "field "+bounded(r.SourceValue))
	}
	return textOf(v), nil
}

// elementPair is the entry's name and value that an element of a slice of maps gives.
func (r *Rule) elementPair(i int, element any) (key string, given any, err error) {
	object, ok := element.(map[string]any)
	if !ok {
		return "", nil, r.notAnObject(i, element)
	}
	name, given := object[r.SourceKey], object[r.SourceValue]
	if name == nil {
		return "", nil, r.lacks(i, "field "+bounded(r.SourceKey))
	}
	if given == nil {
		return "", nil, r.lacks(i, "field "+bounded(r.SourceValue))
	}
	return textOf(name), given, nil
}

func (r *Rule) notAnObject(i int, element any) error {
	return r.invalid(fmt.Sprintf("element %d is %s, not an object with fields", i, jsonpath.Article(element)))
}

// lacks says that an element is not what the rule needs, which an optional rule passes over.
func (r *Rule) lacks(i int, what string) error {
	f := r.invalid(fmt.Sprintf("element %d has no %s", i, what))
	f.Reason, f.Hint = ReasonAbsent, "correct the rule, wait for the service to fill it in, or add optional=true"
	return f
}

// invalid is a fault of the rule where its path stands.
func (r *Rule) invalid(problem string) *Fault {
	return &Fault{Origin: r.Origin, Position: r.pathAt, Problem: problem, Reason: ReasonInvalid}
}

// faults turns what went wrong into faults of the rule: none where the rule is optional and something is not there.
func (r *Rule) faults(err error) Faults {
	var missing *Missing
	var fault *Fault
	var nothing *absent
	switch {
	case errors.As(err, &missing):
	case errors.As(err, &fault):
		if fault.Reason != ReasonAbsent {
			return Faults{fault}
		}
	case errors.As(err, &nothing):
		f := r.invalid(nothing.Error())
		f.Reason, f.Hint = ReasonAbsent, "correct it, wait for the service to fill it in, or add optional=true"
		if f.Position >= 0 {
			f.Position += nothing.at
		}
		err = f
	default:
		return Faults{r.invalid(err.Error())}
	}
	if r.Optional {
		return nil
	}
	return Faults{err}
}
