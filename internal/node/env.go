package node

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// env plans the environment: envFrom first, then env in its order, where the last of a name wins.
func (r resolver) env(c *corev1.Container) ([]Variable, error) {
	set := environment{values: map[string]Value{}}
	for i := range c.EnvFrom {
		if err := r.envFrom(&set, &c.EnvFrom[i], fmt.Sprintf(".envFrom[%d]", i)); err != nil {
			return nil, err
		}
	}
	for i := range c.Env {
		e := &c.Env[i]
		value, present, err := r.variable(e, set.values, fmt.Sprintf(".env[%d]", i))
		if err != nil {
			return nil, err
		}
		if present {
			set.put(e.Name, value)
		}
	}
	return set.list(), nil
}

// envFrom adds every entry of a Secret.
func (r resolver) envFrom(set *environment, from *corev1.EnvFromSource, where string) error {
	if from.SecretRef == nil {
		return &UnsupportedError{Where: where, What: "anything but a secretRef"}
	}
	data, err := r.secret(from.SecretRef.Name, where+".secretRef", from.SecretRef.Optional)
	if err != nil {
		return err
	}
	keys := make([]string, 0, len(data))
	for key := range data {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		set.put(from.Prefix+key, data[key])
	}
	return nil
}

// variable resolves one entry; one that refers to an optional thing that is absent is not present.
func (r resolver) variable(e *corev1.EnvVar, earlier map[string]Value, where string) (Value, bool, error) {
	from := e.ValueFrom
	switch {
	case from == nil:
		return NewValue([]byte(expand(e.Value, earlier))), true, nil
	case from.SecretKeyRef != nil:
		return r.secretKey(from.SecretKeyRef, where+".valueFrom.secretKeyRef")
	case from.FieldRef != nil:
		text, err := r.field(from.FieldRef.FieldPath, where+".valueFrom.fieldRef")
		return NewValue([]byte(text)), err == nil, err
	default:
		return Value{}, false, &UnsupportedError{Where: where + ".valueFrom", What: "this kind of source"}
	}
}

// secretKey resolves one entry of a Secret.
func (r resolver) secretKey(ref *corev1.SecretKeySelector, where string) (Value, bool, error) {
	data, err := r.secret(ref.Name, where, ref.Optional)
	if err != nil {
		return Value{}, false, err
	}
	value, ok := data[ref.Key]
	if !ok && !isTrue(ref.Optional) {
		return Value{}, false, &MissingError{Where: where, What: fmt.Sprintf("entry %q of Secret %q", ref.Key, ref.Name)}
	}
	return value, ok, nil
}

// field resolves the field paths that do not depend on a running pod. An absent annotation or label is empty, as it
// is for the kubelet.
func (r resolver) field(path, where string) (string, error) {
	if path == "metadata.namespace" {
		return r.pod.Namespace, nil
	}
	if key, ok := subscript(path, "metadata.annotations"); ok {
		return r.pod.Annotations[key], nil
	}
	if key, ok := subscript(path, "metadata.labels"); ok {
		return r.pod.Labels[key], nil
	}
	return "", &UnsupportedError{Where: where, What: fmt.Sprintf("field %q", path)}
}

// subscript returns k of a path such as prefix['k'].
func subscript(path, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(path, prefix+"['")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "']")
}

// expand replaces $(NAME) by the value of an earlier variable, and $$ by one $. A name that is not known stays as it is.
func expand(text string, earlier map[string]Value) string {
	var out strings.Builder
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at+1 == len(text) {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:at])
		text = text[at:]
		length, value := reference(text, earlier)
		out.WriteString(value)
		text = text[length:]
	}
}

// reference reads what stands at a $ and at least one byte more: how long it is and what replaces it.
func reference(text string, earlier map[string]Value) (int, string) {
	switch text[1] {
	case '$':
		return len("$$"), "$"
	case '(':
		end := strings.IndexByte(text, ')')
		if end < 0 {
			return len("$("), "$("
		}
		if value, ok := earlier[text[len("$("):end]]; ok {
			return end + 1, string(value.Reveal())
		}
		return end + 1, text[:end+1]
	default:
		return len("$x"), text[:len("$x")]
	}
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

func (e *environment) list() []Variable {
	list := make([]Variable, 0, len(e.names))
	for _, name := range e.names {
		list = append(list, Variable{Name: name, Value: e.values[name]})
	}
	return list
}
