package conformance

import (
	"maps"
	"slices"
	"strings"
)

// find gives what lies at a path of fields with a slash between them. "*" stands for each item of a list or map, those of
// a map in the order of their keys; "~" in a step stands for a slash. What is not there is left out.
func find(from any, at string) []any {
	found := []any{from}
	for step := range strings.SplitSeq(at, "/") {
		var next []any
		for _, value := range found {
			next = append(next, walk(value, strings.ReplaceAll(step, "~", "/"))...)
		}
		found = next
	}
	return found
}

func walk(value any, step string) []any {
	switch v := value.(type) {
	case map[string]any:
		if step != "*" {
			if item, ok := v[step]; ok {
				return []any{item}
			}
			return nil
		}
		var items []any
		for _, key := range slices.Sorted(maps.Keys(v)) {
			items = append(items, v[key])
		}
		return items
	case []any:
		if step == "*" {
			return v
		}
	}
	return nil
}
