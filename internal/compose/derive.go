package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/template"
	"github.com/bowline-dev/bowline/projection"
)

// Derived is what a binding's derived Secret holds, and which of it becomes environment variables.
type Derived struct {
	// Data is the entries of the source, with type and provider replaced, those that mappings made, and those that environment
	// variables need. Values that were not made are those of the source, not copies of them.
	Data map[string][]byte
	// SecretType is servicebinding.io/<type>, or Opaque without an entry "type" that can be part of a name. The API server lets
	// no Secret change its type.
	SecretType string
	// Env are the variables, in the order in which they were written.
	Env []projection.Env
}

// Derive makes the entries of a binding's derived Secret from those of its service's. The error is of type Faults.
//
// A token in a mapping names an entry of the source, type and provider replaced, and where the source has none, another mapping.
// A token in an environment variable names an entry with the mappings applied. A variable that is one token and nothing else
// refers to that entry; any other gets an entry for itself, called env-<name>.
func Derive(source map[string][]byte, t Templates) (*Derived, error) {
	spec := field.NewPath("spec")
	faults, p := compile(t, spec)
	d := &deriver{
		program: p, report: report{faults}, left: MaxSize,
		entries: overridden(source, t), results: make([][]byte, len(p.mappings)), states: make([]state, len(p.mappings)),
	}
	data := maps.Clone(d.entries)
	for i, m := range p.mappings {
		d.resolve(i)
		data[m.name] = d.results[i]
	}
	env := d.env(data)
	if size(data) > MaxSize && !d.full {
		d.tooLarge(spec)
	}
	if err := d.faults.err(); err != nil {
		return nil, err
	}
	return &Derived{Data: data, SecretType: secretType(data), Env: env}, nil
}

// overridden is the source with type and provider replaced.
func overridden(source map[string][]byte, t Templates) map[string][]byte {
	entries := make(map[string][]byte, len(source)+2)
	maps.Copy(entries, source)
	if t.Type != "" {
		entries[typeEntry] = []byte(t.Type)
	}
	if t.Provider != "" {
		entries[providerEntry] = []byte(t.Provider)
	}
	return entries
}

func size(data map[string][]byte) int {
	total := 0
	for _, value := range data {
		total += len(value)
	}
	return total
}

// secretType is the type of a Secret with these entries. What is no plain word stays out of it: a Secret's type is no secret.
func secretType(data map[string][]byte) string {
	const most = 253
	name := strings.TrimSpace(string(data[typeEntry]))
	odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if name == "" || len(name) > most || strings.ContainsFunc(name, odd) {
		return "Opaque"
	}
	return "servicebinding.io/" + name
}

// state says how far a mapping is.
type state int

const (
	unseen state = iota
	open         // being resolved: who meets it again goes round
	done
	spoiled // at fault, or in need of one that is; told already
)

// deriver resolves mappings, each once.
type deriver struct {
	program
	report

	entries map[string][]byte
	results [][]byte
	states  []state
	chain   []int // the open mappings, in the order in which they need each other
	left    int   // how many bytes may still be made
	full    bool
	// available are the names to choose from, for people; made when needed.
	available string
}

// resolve makes the value of a mapping and says whether there is one.
func (d *deriver) resolve(i int) bool {
	if d.states[i] != unseen {
		return d.states[i] == done
	}
	d.states[i] = open
	d.chain = append(d.chain, i)
	m := d.mappings[i]
	value, ok := d.expand(m, func(token template.Token) ([]byte, bool) { return d.forMapping(m, token) })
	d.chain = d.chain[:len(d.chain)-1]
	d.results[i], d.states[i] = value, spoiled
	if ok {
		d.states[i] = done
	}
	return ok
}

// expand makes a template's value. Of several tokens that are at fault each is told.
func (d *deriver) expand(one compiled, lookup func(template.Token) ([]byte, bool)) ([]byte, bool) {
	if one.parsed == nil {
		return nil, false
	}
	ok := true
	values := make(map[int][]byte, len(one.parsed.Tokens()))
	for _, token := range one.parsed.Tokens() {
		value, found := lookup(token)
		values[token.Offset] = value
		ok = ok && found
	}
	if !ok || d.full {
		return nil, false
	}
	result, err := one.parsed.Expand(func(token template.Token) ([]byte, error) { return values[token.Offset], nil })
	d.left -= len(result)
	if err != nil || d.left < 0 {
		d.full = true
		d.tooLarge(one.at)
		return nil, false
	}
	return result, true
}

// forMapping is what a token in a mapping stands for.
func (d *deriver) forMapping(m compiled, token template.Token) ([]byte, bool) {
	if value, ok := d.entries[token.Name]; ok {
		return value, true
	}
	i, ok := d.byName[token.Name]
	switch {
	case !ok:
		d.unknown(m, token)
		return nil, false
	case d.states[i] == open:
		d.within(placeOf(m.at, token), "the Secret has no entry of this name, and the mapping of this name needs itself: "+d.circle(i),
			"let one of these mappings do without the others")
		return nil, false
	}
	ok = d.resolve(i)
	return d.results[i], ok
}

// circle names the mappings that need each other, from the one that is met again.
func (d *deriver) circle(again int) string {
	round := d.chain[slices.Index(d.chain, again):]
	text := make([]string, 0, len(round)+1)
	for _, i := range round[:min(len(round), mostNames)] {
		text = append(text, d.mappings[i].name)
	}
	if len(round) > mostNames {
		text = append(text, fmt.Sprintf("(%d more)", len(round)-mostNames))
	}
	return strings.Join(append(text, d.mappings[again].name), " -> ")
}

func (d *deriver) unknown(one compiled, token template.Token) {
	if d.available == "" {
		d.available = names(d.nameable())
	}
	d.within(placeOf(one.at, token), fmt.Sprintf("there is no entry %q", brief(token.Name)), "entries to name are: "+d.available)
}

// nameable are the names that a token may be.
func (d *deriver) nameable() []string {
	all := slices.Collect(maps.Keys(d.entries))
	for name := range d.byName {
		if _, ok := d.entries[name]; !ok && name != "" {
			all = append(all, name)
		}
	}
	return all
}

// env makes the variables, and adds the entries that they need to the data.
func (d *deriver) env(data map[string][]byte) []projection.Env {
	made := make(map[string][]byte)
	env := make([]projection.Env, 0, len(d.program.env))
	for _, variable := range d.program.env {
		lookup := func(token template.Token) ([]byte, bool) { return d.forVariable(variable, token, data) }
		if token, ok := whole(variable); ok {
			if _, found := lookup(token); found {
				env = append(env, projection.Env{Name: variable.name, Key: token.Name})
			}
			continue
		}
		value, ok := d.expand(variable, lookup)
		if !ok {
			continue
		}
		key := freeKey(variable.name, func(key string) bool { return has(data, key) || has(made, key) })
		made[key] = value
		env = append(env, projection.Env{Name: variable.name, Key: key})
	}
	maps.Copy(data, made)
	if len(env) == 0 {
		return nil
	}
	return env
}

// forVariable is what a token in an environment variable stands for.
func (d *deriver) forVariable(variable compiled, token template.Token, data map[string][]byte) ([]byte, bool) {
	value, ok := data[token.Name] // empty where a mapping is at fault, which was told
	if !ok {
		d.unknown(variable, token)
	}
	return value, ok
}

func whole(one compiled) (template.Token, bool) {
	if one.parsed == nil {
		return template.Token{}, false
	}
	return one.parsed.Whole()
}

func has(data map[string][]byte, key string) bool {
	_, ok := data[key]
	return ok
}

// freeKey is the key of the entry that a variable gets for itself: if it is taken, with a number after it.
func freeKey(variable string, taken func(string) bool) string {
	const most = 240 // a key has at most 253 bytes, and a number may follow
	plain := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}
	base := "env-" + strings.Map(plain, strings.ToLower(variable))
	base = base[:min(len(base), most)]
	key := base
	for n := 2; taken(key); n++ {
		key = fmt.Sprintf("%s-%d", base, n)
	}
	return key
}
