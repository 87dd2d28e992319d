package compose

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/jsonpath"
	"github.com/bowline-dev/bowline/internal/template"
)

// extractor takes values from sources.
type extractor struct {
	report

	given  []Source
	views  []*view
	budget *jsonpath.Budget
	left   int // how many bytes may still be made
	full   bool
}

// entry makes the value of a mapping.
func (e *extractor) entry(r recipe) []byte {
	if e.full {
		return nil
	}
	values, ok := e.values(r)
	if !ok {
		return nil
	}
	result, err := r.parsed.Expand(func(token template.Token) ([]byte, error) { return values[token.Offset], nil })
	e.left -= len(result)
	if err != nil || e.left < 0 {
		e.overflow(r)
		return nil
	}
	if r.name == typeEntry && len(result) == 0 {
		e.invalid(r.at, "", `came out empty, but the entry "type" must say what the service is`, "take another value")
	}
	return result
}

// values are what the tokens of a mapping stand for, by their offset. Of several that are at fault each is told.
func (e *extractor) values(r recipe) (map[int][]byte, bool) {
	before := len(e.faults)
	values := make(map[int][]byte, len(r.targets))
	total := 0
	for _, t := range r.targets {
		value, err := e.value(t)
		total += len(value)
		switch {
		case errors.Is(err, errSize) || total > e.left:
			e.overflow(r)
			return nil, false
		case err != nil:
			e.unavailable(r, t, err)
		}
		values[t.token.Offset] = value
	}
	return values, len(e.faults) == before
}

// overflow ends all: there is no more room.
func (e *extractor) overflow(r recipe) {
	e.full = true
	e.tooLarge(r.at)
}

// unavailable adds that there is no value for a token.
func (e *extractor) unavailable(r recipe, t target, err error) {
	hint := "look at the resource with kubectl get -o yaml, and correct the path"
	if v := e.views[t.source]; v.entries != nil {
		if v.available == "" {
			v.available = names(slices.Collect(maps.Keys(v.entries)))
		}
		hint = "its entries are: " + v.available
	}
	if advice, ok := errors.AsType[*adviceError](err); ok {
		hint = advice.hint
	}
	e.within(placeOf(r.at, t.token), e.given[t.source].String()+": "+err.Error(), hint)
}

// adviceError is an error that knows better than others what to do.
type adviceError struct{ problem, hint string }

func (e *adviceError) Error() string { return e.problem }

// value is what a token stands for.
func (e *extractor) value(t target) ([]byte, error) {
	if e.views[t.source] == nil {
		e.views[t.source] = viewOf(e.given[t.source])
	}
	v := e.views[t.source]
	root, err := v.root(t.path)
	if err != nil {
		return nil, err
	}
	values, err := e.budget.Values(t.path, root)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the path, and what it is a path of is put before it
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("nothing is at %s", t.path)
	}
	return textOf(values, e.left)
}

// view is a resource as paths see it.
type view struct {
	object map[string]any
	// entries are the decoded data of a Secret or ConfigMap, nil for anything else.
	entries map[string]any
	err     error
	// available are the names of the entries, for people; made when needed.
	available string
}

// viewOf gives the view of a source, which it does not change.
func viewOf(s Source) *view {
	v := &view{object: s.Object}
	isSecret := strings.EqualFold(s.Kind, "Secret")
	if s.APIVersion != "v1" || !isSecret && !strings.EqualFold(s.Kind, "ConfigMap") {
		return v
	}
	v.entries = map[string]any{}
	v.object = maps.Clone(s.Object)
	v.add("data", isSecret)
	if !isSecret {
		v.add("binaryData", true)
	}
	if len(v.entries) > 0 {
		v.object["data"] = v.entries
	}
	return v
}

// add puts what is in a field to the entries.
func (v *view) add(name string, encoded bool) {
	data, ok := v.object[name].(map[string]any)
	if !ok {
		return
	}
	added := make(map[string]any, len(data))
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text, ok := data[key].(string)
		if !encoded || !ok {
			added[key] = data[key]
			continue
		}
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			v.err = &adviceError{problem: fmt.Sprintf("%s[%q] is not base64", name, brief(key)), hint: "correct the resource"}
			return
		}
		added[key] = string(value)
	}
	maps.Copy(v.entries, added)
	v.object[name] = added
}

// root is where a path begins.
func (v *view) root(path *jsonpath.Path) (any, error) {
	first, ok := path.FirstField()
	if v.err != nil || !ok || v.entries == nil {
		return v.object, v.err
	}
	_, isField := v.object[first]
	_, isEntry := v.entries[first]
	if isField && isEntry && path.String() == jsonpath.FixedOf(first).String() {
		return nil, &adviceError{
			problem: fmt.Sprintf("%q is the name of a field and of an entry", brief(first)), hint: "put .data before it to take the entry",
		}
	}
	if isEntry && !isField {
		return v.entries, nil
	}
	return v.object, nil
}
