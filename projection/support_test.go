package projection_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/internal/jsonpath"
	"github.com/bowline-dev/bowline/projection"
)

func writeFile(name string, data []byte) error {
	return os.WriteFile(name, data, 0o600) //nolint:wrapcheck // the test shows it
}

func copied[T any](value T) T {
	return deepCopy(value).(T)
}

func deepCopy(value any) any {
	switch v := value.(type) {
	case map[string]any:
		into := map[string]any{}
		for key, below := range v {
			into[key] = deepCopy(below)
		}
		return into
	case []any:
		into := make([]any, len(v))
		for i, below := range v {
			into[i] = deepCopy(below)
		}
		return into
	default:
		return v
	}
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "not JSON: " + err.Error()
	}
	return string(text)
}

// patched applies a JSON patch, strictly.
func patched(root any, operations []projection.Operation) (any, error) {
	root = deepCopy(root)
	var err error
	for _, operation := range operations {
		root, err = applied(root, jsonpath.Tokens(operation.Path), operation)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", operation.Op, operation.Path, err)
		}
	}
	return root, nil
}

func applied(at any, tokens []string, operation projection.Operation) (any, error) {
	if len(tokens) == 0 {
		return deepCopy(operation.Value), nil
	}
	switch value := at.(type) {
	case map[string]any:
		return appliedToObject(value, tokens, operation)
	case []any:
		return appliedToList(value, tokens, operation)
	default:
		return nil, fmt.Errorf("%v is no place for %s", at, strings.Join(tokens, "/"))
	}
}

func appliedToObject(object map[string]any, tokens []string, operation projection.Operation) (any, error) {
	below, found := object[tokens[0]]
	if len(tokens) == 1 && operation.Op == projection.OpAdd {
		object[tokens[0]] = deepCopy(operation.Value)
		return object, nil
	}
	if !found {
		return nil, fmt.Errorf("there is no %s", tokens[0])
	}
	if len(tokens) == 1 && operation.Op == projection.OpRemove {
		delete(object, tokens[0])
		return object, nil
	}
	changed, err := applied(below, tokens[1:], operation)
	object[tokens[0]] = changed
	return object, err
}

func appliedToList(list []any, tokens []string, operation projection.Operation) (any, error) {
	i, err := strconv.Atoi(tokens[0])
	if err != nil || i < 0 || i > len(list) || i == len(list) && (len(tokens) > 1 || operation.Op != projection.OpAdd) {
		return nil, fmt.Errorf("there is no element %s", tokens[0])
	}
	if len(tokens) > 1 || operation.Op == projection.OpReplace {
		changed, err := applied(list[i], tokens[1:], operation)
		list[i] = changed
		return list, err
	}
	if operation.Op == projection.OpRemove {
		return slices.Delete(list, i, i+1), nil
	}
	return slices.Insert(list, i, deepCopy(operation.Value)), nil
}
