package node

import (
	"bytes"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// env plans the environment: envFrom first, then env in its order, where the last of a name wins.
func (r resolver) env() (*environment, error) {
	set := &environment{values: map[string]Value{}}
	for i := range r.container.EnvFrom {
		if err := r.envFrom(set, &r.container.EnvFrom[i], fmt.Sprintf(".envFrom[%d]", i)); err != nil {
			return nil, err
		}
	}
	if err := refuseCycles(r.container.Env, set.values); err != nil {
		return nil, err
	}
	for i := range r.container.Env {
		e, where := &r.container.Env[i], fmt.Sprintf(".env[%d]", i)
		if problems := validation.IsRelaxedEnvVarName(e.Name); len(problems) > 0 {
			return nil, &InvalidError{Where: where + ".name", What: fmt.Sprintf("variable %q", e.Name), Rule: problems[0]}
		}
		value, present, err := r.variable(e, set, where)
		if err != nil {
			return nil, err
		}
		if present {
			set.put(e.Name, value)
		}
	}
	return set, set.refuseNUL()
}

// envFrom adds every entry of an object. Keys that no variable can be called are left out: no API server has any.
func (r resolver) envFrom(set *environment, from *corev1.EnvFromSource, where string) error {
	var entries Entries
	var err error
	switch {
	case from.ConfigMapRef != nil:
		entries, err = r.configMap(from.ConfigMapRef.Name, where+".configMapRef", from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		entries, err = r.secret(from.SecretRef.Name, where+".secretRef", from.SecretRef.Optional)
	}
	if err != nil {
		return err
	}
	for _, key := range sortedKeys(entries) {
		if name := from.Prefix + key; len(validation.IsRelaxedEnvVarName(name)) == 0 {
			set.put(name, entries[key])
		}
	}
	return nil
}

// variable resolves one entry; one that refers to an optional thing that is absent is not present.
func (r resolver) variable(e *corev1.EnvVar, earlier *environment, where string) (Value, bool, error) {
	from := e.ValueFrom
	if e.Value != "" || from == nil {
		return NewValue([]byte(expand(e.Value, earlier.lookup))), true, nil
	}
	where += ".valueFrom"
	switch {
	case from.FieldRef != nil:
		text, err := r.envField(from.FieldRef, where+".fieldRef")
		return NewValue([]byte(text)), err == nil, err
	case from.ResourceFieldRef != nil:
		text, err := r.resourceField(from.ResourceFieldRef, forVariable, where+".resourceFieldRef")
		return NewValue([]byte(text)), err == nil, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		entries, err := r.configMap(ref.Name, where+".configMapKeyRef", ref.Optional)
		if err != nil {
			return Value{}, false, err
		}
		return entry(entries, keyOf{"ConfigMap", ref.Name, ref.Key, ref.Optional}, where+".configMapKeyRef")
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		entries, err := r.secret(ref.Name, where+".secretKeyRef", ref.Optional)
		if err != nil {
			return Value{}, false, err
		}
		return entry(entries, keyOf{"Secret", ref.Name, ref.Key, ref.Optional}, where+".secretKeyRef")
	default:
		return Value{}, false, &UnsupportedError{Where: where, What: "this kind of source"}
	}
}

// keyOf is one entry of an object.
type keyOf struct {
	kind, name, key string
	optional        *bool
}

// entry finds one entry.
func entry(entries Entries, of keyOf, where string) (Value, bool, error) {
	value, ok := entries[of.key]
	if !ok && !isTrue(of.optional) {
		return Value{}, false, &MissingError{Where: where, What: fmt.Sprintf("entry %q of %s %q", of.key, of.kind, of.name)}
	}
	return value, ok, nil
}

// environment collects variables: the last value of a name, at the place of the first.
type environment struct {
	names  []string
	values map[string]Value
}

func (e *environment) put(name string, value Value) {
	if _, known := e.values[name]; !known {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

// lookup is for expand.
func (e *environment) lookup(name string) (string, bool) {
	value, ok := e.values[name]
	return string(value.Reveal()), ok
}

// refuseNUL finds what no process can have in its environment.
func (e *environment) refuseNUL() error {
	for _, name := range e.names {
		if bytes.IndexByte(e.values[name].Reveal(), 0) >= 0 {
			return &InvalidError{Where: ".env", What: fmt.Sprintf("variable %q", name),
				Rule: "its value holds a NUL byte, which no environment can: mount it as a file"}
		}
	}
	return nil
}

func (e *environment) list() []Variable {
	list := make([]Variable, 0, len(e.names))
	for _, name := range e.names {
		list = append(list, Variable{Name: name, Value: e.values[name]})
	}
	return list
}

// words replaces the variables in a command line.
func (e *environment) words(texts []string) []Word {
	var list []Word
	for _, text := range texts {
		list = append(list, Word{Text: text, Value: NewValue([]byte(expand(text, e.lookup)))})
	}
	return list
}

func sortedKeys(entries Entries) []string {
	keys := make([]string, 0, len(entries))
	for key := range entries {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
