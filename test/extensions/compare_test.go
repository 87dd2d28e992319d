package extensions_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	eventKind  = schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}
)

// decode writes the entries of a Secret as they are, all under "entries".
func decode(object *unstructured.Unstructured) {
	if object.GroupVersionKind() != secretKind {
		return
	}
	plain, given, _ := unstructured.NestedStringMap(object.Object, "stringData")
	encoded, also, _ := unstructured.NestedStringMap(object.Object, "data")
	delete(object.Object, "stringData")
	delete(object.Object, "data")
	if !given && !also {
		return
	}
	entries := map[string]any{}
	for key, value := range plain {
		entries[key] = value
	}
	for key, value := range encoded {
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			raw = []byte("no base64: " + value)
		}
		entries[key] = string(raw)
	}
	object.Object["entries"] = entries
}

// within says where a value is not what is wanted of it.
func within(at string, want, got any) error {
	switch want := want.(type) {
	case map[string]any:
		if have, ok := got.(map[string]any); ok {
			return fieldsWithin(at, want, have)
		}
	case []any:
		have, ok := got.([]any)
		if ok && strings.HasSuffix(at, ".conditions") {
			return conditionsWithin(at, want, have)
		}
		if ok && len(have) == len(want) {
			return itemsWithin(at, want, have)
		}
	default:
		if reflect.DeepEqual(want, got) {
			return nil
		}
	}
	return fmt.Errorf("%s is\n\t%v\nand must be\n\t%v", at, got, want)
}

func fieldsWithin(at string, want, have map[string]any) error {
	if at == ".entries" {
		if diff := cmp.Diff(want, have); diff != "" {
			return fmt.Errorf("the entries are others (-want +got):\n%s", diff)
		}
		return nil
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(want)) {
		errs = append(errs, within(at+"."+key, want[key], have[key]))
	}
	return errors.Join(errs...)
}

func itemsWithin(at string, want, have []any) error {
	var errs []error
	for i := range want {
		errs = append(errs, within(fmt.Sprintf("%s[%d]", at, i), want[i], have[i]))
	}
	return errors.Join(errs...)
}

func conditionsWithin(at string, want, have []any) error {
	var errs []error
	for _, one := range want {
		kind := one.(map[string]any)["type"]
		found := slices.IndexFunc(have, func(c any) bool { return c.(map[string]any)["type"] == kind })
		if found < 0 {
			errs = append(errs, fmt.Errorf("%s has no %v", at, kind))
			continue
		}
		errs = append(errs, within(fmt.Sprintf("%s[%v]", at, kind), one, have[found]))
	}
	return errors.Join(errs...)
}
