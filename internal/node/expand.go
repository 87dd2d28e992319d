package node

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// expand replaces $(NAME) by what lookup knows of it, and $$ by one $. A name that is not known stays as it is, and so
// does a reference that does not end.
func expand(text string, lookup func(name string) (string, bool)) string {
	var out strings.Builder
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at+1 == len(text) {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:at])
		text = text[at:]
		length, replacement := reference(text, lookup)
		out.WriteString(replacement)
		text = text[length:]
	}
}

// reference reads what stands at a $ and at least one byte more: how long it is and what replaces it.
func reference(text string, lookup func(name string) (string, bool)) (int, string) {
	switch text[1] {
	case '$':
		return len("$$"), "$"
	case '(':
		end := strings.IndexByte(text, ')')
		if end < 0 {
			return len("$("), "$("
		}
		if value, ok := lookup(text[len("$("):end]); ok {
			return end + 1, value
		}
		return end + 1, text[:end+1]
	default:
		return len("$x"), text[:len("$x")]
	}
}

// refersTo lists the names that a text refers to.
func refersTo(text string) []string {
	var names []string
	expand(text, func(name string) (string, bool) {
		names = append(names, name)
		return "", false
	})
	return names
}

// refuseCycles finds variables that refer to each other in a circle. References go to the nearest variable of the name
// before, those of envFrom included; only where there is none, to one that comes later or to the variable itself.
func refuseCycles(env []corev1.EnvVar, from map[string]Value) error {
	search := circles{env: env, from: from, state: make([]mark, len(env))}
	for i := range env {
		if circle := search.visit(i); circle != nil {
			return &CycleError{Where: fmt.Sprintf(".env[%d]", circle[0]), Names: search.names(circle)}
		}
	}
	return nil
}

type mark int

const (
	unseen mark = iota
	open
	done
)

// circles searches depth first; path is what is open, outermost first.
type circles struct {
	env   []corev1.EnvVar
	from  map[string]Value
	state []mark
	path  []int
}

// visit returns the variables of a circle that it reaches, or nil.
func (c *circles) visit(i int) []int {
	switch c.state[i] {
	case done:
		return nil
	case open:
		return c.path[slices.Index(c.path, i):]
	default:
	}
	c.state[i] = open
	c.path = append(c.path, i)
	for _, name := range refersTo(c.env[i].Value) {
		if next := c.meant(i, name); next >= 0 {
			if circle := c.visit(next); circle != nil {
				return circle
			}
		}
	}
	c.state[i] = done
	c.path = c.path[:len(c.path)-1]
	return nil
}

// meant is the position of the variable that a name in variable i stands for; -1 for none of env.
func (c *circles) meant(i int, name string) int {
	for j := i - 1; j >= 0; j-- {
		if c.env[j].Name == name {
			return j
		}
	}
	if _, known := c.from[name]; known {
		return -1
	}
	later := slices.IndexFunc(c.env[i:], func(e corev1.EnvVar) bool { return e.Name == name })
	if later < 0 {
		return -1
	}
	return i + later
}

func (c *circles) names(circle []int) []string {
	list := make([]string, 0, len(circle))
	for _, i := range circle {
		list = append(list, c.env[i].Name)
	}
	return list
}
