package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// Read gives the entries of an object; of a ConfigMap, those of data and binaryData. It answers false when there is none.
type Read func(Reference) (map[string][]byte, bool)

// Made is what was made for a service.
type Made struct {
	// Data are the entries.
	Data map[string][]byte
	// SecretType is servicebinding.io/<type> where there is an entry of that name that is a plain word, and Opaque otherwise.
	SecretType string
	// Keys says where each entry comes from, sorted by name.
	Keys []Key
}

// Key says where an entry comes from.
type Key struct {
	// Name of the entry.
	Name string
	// Rule that made it.
	Rule *Rule
	// Reference is the object that holds the value; nil when that is the service, or the rule itself.
	Reference *Reference
	// Entry of the object.
	Entry string
}

// errEntries says that the bound on the number of entries was reached.
var errEntries = fmt.Errorf("there are more than %d entries", MaxEntries)

// Make makes the entries of a service. Nothing is made when a single one that is not optional cannot be; the error is
// Faults, and holds no value of any Secret or ConfigMap.
func (r *Recipe) Make(service map[string]any, read Read) (*Made, error) {
	made, faults := r.Examine(service, read)
	if err := faults.err(); err != nil {
		return nil, err
	}
	return made, nil
}

// Examine makes what can be made, and tells what cannot: to explain a description, not to use it.
func (r *Recipe) Examine(service map[string]any, read Read) (*Made, Faults) {
	m := &making{service: service, read: remembered(read), work: newWork(), made: map[string]entry{}}
	for _, rule := range r.rules {
		m.rule(rule)
	}
	return m.result(), m.faults
}

// remembered reads each object once.
func remembered(read Read) Read {
	type answer struct {
		data map[string][]byte
		ok   bool
	}
	answers := map[Reference]answer{}
	return func(ref Reference) (map[string][]byte, bool) {
		a, asked := answers[ref]
		if !asked {
			a.data, a.ok = read(ref)
			answers[ref] = a
		}
		return a.data, a.ok
	}
}

// entry is one that was made.
type entry struct {
	Key

	value []byte
}

// making is the state of one call.
type making struct {
	*work

	service map[string]any
	read    Read
	made    map[string]entry
	faults  Faults
}

// rule makes the entries of a rule.
func (m *making) rule(r *Rule) {
	entries, faults := m.entries(r)
	m.faults = append(m.faults, faults...)
	for _, e := range entries {
		if fault := m.put(e); fault != nil {
			m.faults = append(m.faults, fault)
			if len(m.made) >= MaxEntries || m.data > MaxData {
				return
			}
		}
	}
}

func (m *making) entries(r *Rule) ([]entry, Faults) {
	switch {
	case r.Constant != nil:
		return []entry{of(r, r.Name, *r.Constant)}, nil
	case r.refers():
		return m.fromObjects(r)
	case r.ElementType == ElementMap:
		return m.fromMap(r)
	case r.ElementType.isSlice():
		return m.fromSlice(r)
	}
	text, err := m.expand(r.Path, m.service)
	if err != nil {
		return nil, r.faults(err)
	}
	return []entry{of(r, r.base(), text)}, nil
}

func of(r *Rule, name, value string) entry {
	return entry{Key: Key{Name: name, Rule: r}, value: []byte(value)}
}

func (m *making) fromMap(r *Rule) ([]entry, Faults) {
	found, err := m.one(r.Path, m.service)
	if err != nil {
		return nil, r.faults(err)
	}
	object, ok := found.(map[string]any)
	if !ok {
		return nil, Faults{r.invalid(fmt.Sprintf("the path leads to %s, not to an object", jsonpath.Article(found)))}
	}
	var entries []entry
	for _, key := range sortedKeys(object) {
		if object[key] != nil {
			entries = append(entries, of(r, join(r.Name, key), textOf(object[key])))
		}
	}
	return entries, nil
}

func (m *making) fromSlice(r *Rule) ([]entry, Faults) {
	list, err := m.elements(r, m.service)
	if err != nil {
		return nil, r.faults(err)
	}
	var entries []entry
	var faults Faults
	for i, element := range list {
		e, err := r.element(i, element)
		if err != nil {
			faults = append(faults, r.faults(err)...)
			continue
		}
		entries = append(entries, e)
	}
	return entries, faults
}

func (r *Rule) element(i int, element any) (entry, error) {
	if r.ElementType == ElementSliceOfStrings {
		text, err := r.elementText(i, element)
		return of(r, join(r.base(), strconv.Itoa(i)), text), err
	}
	key, given, err := r.elementPair(i, element)
	if err != nil {
		return entry{}, err
	}
	return of(r, join(r.Name, key), textOf(given)), nil
}

// fromObjects makes the entries of a rule that points to Secrets or ConfigMaps.
func (m *making) fromObjects(r *Rule) ([]entry, Faults) {
	targets, faults := r.targets(m.service, m.work)
	var entries []entry
	for _, t := range targets {
		found, err := m.fromObject(r, t)
		if err != nil {
			faults = append(faults, r.faults(err)...)
		}
		entries = append(entries, found...)
		if len(entries) > MaxEntries {
			return nil, append(faults, r.invalid(errEntries.Error()))
		}
	}
	return entries, faults
}

func (m *making) fromObject(r *Rule, t target) ([]entry, error) {
	data, ok := m.read(t.Reference)
	if !ok {
		return nil, &Missing{Reference: t.Reference, Origin: r.Origin}
	}
	if t.entry != "" {
		if _, ok := data[t.entry]; !ok {
			return nil, r.noEntry(t, data)
		}
		return []entry{t.take(r, t.entry, t.name, data[t.entry])}, nil
	}
	entries := make([]entry, 0, len(data))
	for _, key := range sortedKeys(data) {
		entries = append(entries, t.take(r, key, join(t.name, key), data[key]))
	}
	return entries, nil
}

func (t target) take(r *Rule, from, name string, value []byte) entry {
	return entry{Key: Key{Name: name, Rule: r, Reference: &t.Reference, Entry: from}, value: value}
}

// noEntry names the entries that there are, which are no secret.
func (r *Rule) noEntry(t target, data map[string][]byte) error {
	const most = 20
	names := sortedKeys(data)
	hint := "there are: " + strings.Join(names[:min(most, len(names))], ", ")
	switch {
	case len(names) == 0:
		hint = "it has none"
	case len(names) > most:
		hint += " and " + strconv.Itoa(len(names)-most) + " more"
	}
	f := r.invalid(fmt.Sprintf("%s has no entry %s", t.Reference, bounded(t.entry)))
	f.Position, f.Hint, f.Reason = -1, hint, ReasonAbsent
	return f
}

// put adds an entry. Rules with a name take the place of entries that come from those without; of two others, the rule of
// the higher level holds.
func (m *making) put(e entry) error {
	if problems := validation.IsConfigMapKey(e.Name); len(problems) > 0 {
		return e.Rule.invalid(fmt.Sprintf("it makes an entry %s, which is no valid name: %s", bounded(e.Name), problems[0]))
	}
	if len(m.made) >= MaxEntries {
		return e.Rule.invalid(errEntries.Error())
	}
	other, taken := m.made[e.Name]
	if taken && other.Rule == e.Rule {
		return e.Rule.invalid(fmt.Sprintf("it makes the entry %q twice", e.Name))
	}
	if taken && (other.Rule.Name == "") == (e.Rule.Name == "") {
		switch {
		case other.Rule.Origin.Level == e.Rule.Origin.Level:
			return e.Rule.invalid(fmt.Sprintf("it makes the entry %q, which %s makes, too", e.Name, other.Rule.Origin))
		case other.Rule.Origin.Level > e.Rule.Origin.Level:
			return nil
		}
	}
	if err := m.take(len(e.Name) + len(e.value) - len(other.Name) - len(other.value)); err != nil {
		return e.Rule.invalid(err.Error())
	}
	e.value = slices.Clone(e.value)
	m.made[e.Name] = e
	return nil
}

func (m *making) result() *Made {
	made := &Made{Data: make(map[string][]byte, len(m.made)), SecretType: secretType(m.made["type"].value)}
	for _, name := range sortedKeys(m.made) {
		made.Data[name] = m.made[name].value
		made.Keys = append(made.Keys, m.made[name].Key)
	}
	return made
}

// secretType is the type of a Secret whose entry type is this. What is no plain word stays out of it: a Secret's type is no
// secret.
func secretType(entry []byte) string {
	name := strings.TrimSpace(string(entry))
	odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if name == "" || len(name) > validation.DNS1123SubdomainMaxLength || strings.ContainsFunc(name, odd) {
		return "Opaque"
	}
	return "servicebinding.io/" + name
}

func sortedKeys[V any](object map[string]V) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
