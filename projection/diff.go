package projection

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// The operations of RFC 6902 that a difference consists of.
const (
	OpAdd     = "add"
	OpRemove  = "remove"
	OpReplace = "replace"
)

// Operation is one operation of a JSON patch.
type Operation struct {
	// Op is add, remove or replace.
	Op string
	// Path is the JSON pointer of the place.
	Path string
	// Value is what is put there. It may be null; a removal has none.
	Value any
}

// MarshalJSON writes the operation as RFC 6902 has it: with its value, null included, unless it is a removal.
func (o Operation) MarshalJSON() ([]byte, error) {
	fields := map[string]any{"op": o.Op, "path": o.Path}
	if o.Op != OpRemove {
		fields["value"] = o.Value
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encoding operation at %q: %w", o.Path, err)
	}
	return encoded, nil
}

// Diff gives the patch that makes before into after, and nothing if they are equal.
//
// Elements of a list that are the same before and after are never mentioned, but for their positions. So a patch made
// from two trimmed workloads fits the whole one.
func Diff(before, after any) []Operation {
	var d differ
	if !equal(before, after) {
		d.diff("", before, after)
	}
	return d.operations
}

type differ struct {
	operations []Operation
}

func (d *differ) add(op, path string, value any) {
	d.operations = append(d.operations, Operation{Op: op, Path: path, Value: value})
}

func (d *differ) diff(path string, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok && (a == nil) == (b == nil) {
			d.objects(path, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok && (a == nil) == (b == nil) {
			d.lists(path, b, a)
			return
		}
	}
	if !equal(before, after) {
		d.add(OpReplace, path, after)
	}
}

func (d *differ) objects(path string, before, after map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		at := path + jsonpath.Pointer([]string{key})
		if value, ok := after[key]; ok {
			d.diff(at, before[key], value)
		} else {
			d.add(OpRemove, at, nil)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[key]; !ok {
			d.add(OpAdd, path+jsonpath.Pointer([]string{key}), after[key])
		}
	}
}

func (d *differ) lists(path string, before, after []any) {
	if sameElements(before, after) {
		for i := range before {
			d.diff(element(path, i), before[i], after[i])
		}
		return
	}
	head, tail := commonEnds(before, after)
	position := head
	for _, gap := range align(before[head:len(before)-tail], after[head:len(after)-tail]) {
		position += gap.kept
		d.gap(path, position, gap)
		position += len(gap.after)
	}
}

// gap makes the elements of before into those of after, at one position of the list.
func (d *differ) gap(path string, position int, g gap) {
	common := 0
	for common < min(len(g.before), len(g.after)) && nameOf(g.before[common]) == nameOf(g.after[common]) {
		d.diff(element(path, position+common), g.before[common], g.after[common])
		common++
	}
	for range g.before[common:] {
		d.add(OpRemove, element(path, position+common), nil)
	}
	for i, value := range g.after[common:] {
		d.add(OpAdd, element(path, position+common+i), value)
	}
}

func element(path string, i int) string {
	return path + "/" + strconv.Itoa(i)
}

// sameElements says whether two lists consist of the same things at the same positions, some of them changed: as do
// the containers of a workload, where only lists within them change.
func sameElements(before, after []any) bool {
	if len(before) != len(after) {
		return false
	}
	for i := range before {
		if !onlyListsDiffer(before[i], after[i]) {
			return false
		}
	}
	return true
}

func onlyListsDiffer(before, after any) bool {
	if isListOrNone(before) && isListOrNone(after) {
		return true
	}
	b, isObject := objectOrNone(before)
	a, areObjects := objectOrNone(after)
	if !isObject || !areObjects {
		return equal(before, after)
	}
	for key, value := range b {
		if !onlyListsDiffer(value, a[key]) {
			return false
		}
	}
	for key, value := range a {
		if _, ok := b[key]; !ok && !onlyListsDiffer(nil, value) {
			return false
		}
	}
	return true
}

func objectOrNone(value any) (map[string]any, bool) {
	object, ok := value.(map[string]any)
	return object, ok || value == nil
}

func isListOrNone(value any) bool {
	_, ok := value.([]any)
	return ok || value == nil
}

// equal compares two JSON values, a map or list that is nil and one that is empty being different.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && (a == nil) == (b == nil) && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && (a == nil) == (b == nil) && slices.EqualFunc(a, b, equal)
	case string:
		b, ok := b.(string)
		return ok && a == b
	default:
		return reflect.DeepEqual(a, b)
	}
}
