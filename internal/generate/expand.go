package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// errAbsent says that a path found nothing.
var errAbsent = errors.New("nothing is there")

// absent names the expression that found nothing.
type absent struct {
	at         int
	expression string
}

func (a *absent) Error() string { return "the path " + bounded(a.expression) + " leads to nothing" }

func (a *absent) Is(target error) bool { return target == errAbsent }

// work is what all rules of a service may cost together.
type work struct {
	budget  *jsonpath.Budget
	data    int // bytes that became part of the Secret
	written int // bytes that paths gave, those that name objects included
	refs    map[Reference]bool
}

func newWork() *work { return &work{budget: jsonpath.NewBudget(MaxWork), refs: map[Reference]bool{}} }

// errData says that the bound on the size of a Secret was reached.
var errData = fmt.Errorf("the entries take more than %d bytes together, which is all that a Secret holds", MaxData)

// take accounts for bytes that become part of the Secret.
func (w *work) take(bytes int) error {
	w.data += bytes
	if w.data > MaxData {
		return errData
	}
	return nil
}

// values gives what the one expression of the template finds; null is nothing.
func (w *work) values(n *templateNode, root any) ([]any, error) {
	found, err := w.budget.Values(n.path, root)
	if err != nil {
		return nil, err
	}
	kept := found[:0]
	for _, v := range found {
		if v != nil {
			kept = append(kept, v)
		}
	}
	if len(kept) == 0 {
		return nil, &absent{at: n.at, expression: n.path.String()}
	}
	return kept, nil
}

// one gives what the expression of a template of one finds: the value, or the list of them where there are several.
func (w *work) one(t *Template, root any) (any, error) {
	found, err := w.values(&t.nodes[0], root)
	if err != nil {
		return nil, err
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return found, nil
}

// object gives the object that a template of one expression leads to; nil where it leads to something else.
func (w *work) object(t *Template, root any) (map[string]any, error) {
	if _, ok := t.single(); !ok {
		return nil, nil //nolint:nilnil // a text with several expressions is no object
	}
	found, err := w.one(t, root)
	object, _ := found.(map[string]any)
	return object, err
}

// elements gives the elements of the list that the path of a rule leads to; of a path such as {.items[*]}, what it finds.
func (w *work) elements(r *Rule, root any) ([]any, error) {
	found, err := w.one(r.Path, root)
	if err != nil {
		return nil, err
	}
	list, ok := found.([]any)
	if !ok {
		if r.Path.isFixed() {
			return nil, r.invalid(fmt.Sprintf("the path leads to %s, not to a list", jsonpath.Article(found)))
		}
		list = []any{found}
	}
	if len(list) > MaxEntries {
		return nil, r.invalid(errEntries.Error())
	}
	return list, nil
}

// refer accounts for an object that must be read.
func (w *work) refer(ref Reference) error {
	w.refs[ref] = true
	if len(w.refs) > MaxReferences {
		return fmt.Errorf("there are more than %d objects to read", MaxReferences)
	}
	return nil
}

// expand gives the text that a template makes of a resource, as kubectl prints it, but for what is not there: that is an
// error.
func (w *work) expand(t *Template, root any) (string, error) {
	e := expansion{work: w}
	if err := e.nodes(t.nodes, root); err != nil {
		return "", err
	}
	return e.text.String(), nil
}

// expansion is the text so far.
type expansion struct {
	*work

	text strings.Builder
}

func (e *expansion) write(text string) error {
	e.written += len(text)
	if e.text.Len()+len(text) > MaxData || e.written > 2*MaxData {
		return errData
	}
	e.text.WriteString(text)
	return nil
}

func (e *expansion) nodes(nodes []templateNode, root any) error {
	for i := range nodes {
		if err := e.node(&nodes[i], root); err != nil {
			return err
		}
	}
	return nil
}

func (e *expansion) node(n *templateNode, root any) error {
	if n.path == nil {
		return e.write(n.text)
	}
	found, err := e.values(n, root)
	if err != nil {
		return err
	}
	for i, v := range found {
		switch {
		case n.loop:
			err = e.nodes(n.body, v)
		case i > 0:
			err = e.write(" " + textOf(v))
		default:
			err = e.write(textOf(v))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// textOf is a value as kubectl prints it: a text as it is, objects and lists as JSON. A whole number is one even where the
// resource was read as floating point.
func textOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case map[string]any, []any:
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			return fmt.Sprint(v) // only what never came from JSON
		}
		return strings.TrimSuffix(b.String(), "\n")
	case float64:
		const exact = 1 << 53
		if v == math.Trunc(v) && math.Abs(v) <= exact {
			return strconv.FormatInt(int64(v), 10)
		}
		return fmt.Sprint(v)
	default:
		return fmt.Sprint(v)
	}
}
