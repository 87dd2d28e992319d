package node

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime"
)

// TypeError says that a field of a workload is of another type than Kubernetes has it, such as a number where text is
// wanted. It holds no value.
type TypeError struct {
	// Path leads from the top of the workload to the field: names, and numbers of items.
	Path []string
	// Is is what stands there, in words.
	Is string
	// Wants is what should, in words.
	Wants string
}

const wantsText = "text"

// Error names the field and both types, and says what to do where that is known.
func (e *TypeError) Error() string {
	var text strings.Builder
	for _, name := range e.Path {
		if _, err := strconv.Atoi(name); err == nil {
			text.WriteString("[" + name + "]")
		} else {
			text.WriteString("." + name)
		}
	}
	text.WriteString(" is " + e.Is + " and has to be " + e.Wants)
	if e.Wants == wantsText && (e.Is == inWords("number") || e.Is == inWords("bool")) {
		text.WriteString(": put it in quotes")
	}
	return text.String()
}

// decode reads an object. Where that does not work it is tried with JSON, whose errors name the field.
func decode(object map[string]any, target any) error {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, target)
	if err == nil {
		return nil
	}
	if failure := decodeJSON(object, target); failure != nil {
		return failure
	}
	return err //nolint:wrapcheck // the caller says what was read
}

// decodeJSON reads a value as JSON. The error is a *TypeError where JSON says which field it is of.
func decodeJSON(value, target any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what was read
	}
	err = json.Unmarshal(encoded, target)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err //nolint:wrapcheck // the caller says what was read
	}
	// A part in upper case is the name of a Go type that is embedded, and stands nowhere in the object.
	fields := slices.DeleteFunc(strings.Split(wrong.Field, "."), func(f string) bool { return f == "" || unicode.IsUpper(rune(f[0])) })
	is, _, _ := strings.Cut(wrong.Value, " ") // what follows a number is the number
	path, found := locate(value, fields, is)
	if !found {
		path = fields
	}
	return &TypeError{Path: path, Is: inWords(is), Wants: typeInWords(wrong.Type.Kind())}
}

// locate finds the first value of a JSON type where a path leads that leaves out the items of lists and the keys of maps.
func locate(value any, fields []string, is string) ([]string, bool) {
	if len(fields) == 0 && is == jsonType(value) {
		return nil, true
	}
	switch v := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		if len(fields) > 0 {
			keys, fields = fields[:1], fields[1:]
		}
		return firstOf(keys, func(key string) any { return v[key] }, fields, is)
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i] = strconv.Itoa(i)
		}
		return firstOf(items, func(item string) any { i, _ := strconv.Atoi(item); return v[i] }, fields, is)
	}
	return nil, false
}

// firstOf locates within the first of several values where that succeeds.
func firstOf(names []string, get func(string) any, fields []string, is string) ([]string, bool) {
	for _, name := range names {
		if path, found := locate(get(name), fields, is); found {
			return append([]string{name}, path...), true
		}
	}
	return nil, false
}

// jsonType is how package json calls the type of a value.
func jsonType(value any) string {
	switch value.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "bool"
	case nil:
		return "null"
	}
	return "number"
}

// inWords says a type of JSON for people.
func inWords(jsonType string) string {
	switch jsonType {
	case "number":
		return "a number"
	case "bool":
		return "true or false"
	case "string":
		return wantsText
	case "array":
		return "a list"
	}
	return "an object"
}

func typeInWords(kind reflect.Kind) string {
	switch kind { //nolint:exhaustive // the fields of a pod have no other types
	case reflect.String:
		return wantsText
	case reflect.Bool:
		return inWords("bool")
	case reflect.Slice:
		return inWords("array")
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return inWords("object")
	}
	return "a whole number"
}

// inside puts what leads to a part of a workload before the path of an error that is about a field of that part.
func inside(err error, path ...string) error {
	wrong, ok := errors.AsType[*TypeError](err)
	if !ok {
		return err
	}
	return &TypeError{Path: append(slices.Clone(path), wrong.Path...), Is: wrong.Is, Wants: wrong.Wants}
}
