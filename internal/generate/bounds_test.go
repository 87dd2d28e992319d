package generate_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/generate"
)

// refused makes something of a service, and wants an error.
func refused(t *testing.T, annotations map[string]string, service map[string]any, want string) {
	t.Helper()
	recipe, err := described(annotations)
	if err == nil {
		_, err = recipe.Make(service, func(generate.Reference) (map[string][]byte, bool) { return map[string][]byte{"a": []byte("a")}, true })
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %.300v, want %q", err, want)
	}
}

func TestLongListsAreRefused(t *testing.T) {
	t.Parallel()
	list := make([]any, generate.MaxEntries+1)
	for i := range list {
		list[i] = "a"
	}
	service := map[string]any{"list": list}
	for _, rest := range []string{"", ",objectType=Secret", ",sourceValue=x"} {
		refused(t, map[string]string{"service.binding/x": "path={.list},elementType=sliceOfStrings" + rest}, service, "position 5: there are more than 4096 entries")
	}
}

func TestManyEntriesOfManyRulesAreRefused(t *testing.T) {
	t.Parallel()
	object := map[string]any{}
	for i := range 3000 {
		object[strconv.Itoa(i)] = "a"
	}
	refused(t, map[string]string{
		"service.binding/a": "path={.object},elementType=map", "service.binding/b": "path={.object},elementType=map",
	}, map[string]any{"object": object}, "more than 4096 entries")
}

func TestLongNamesOfObjectsAreRefused(t *testing.T) {
	t.Parallel()
	service, annotations := map[string]any{"text": strings.Repeat("x", generate.MaxData-1)}, map[string]string{}
	for i := range 3 {
		annotations[fmt.Sprintf("service.binding/%d", i)] = "path={.text},objectType=Secret,optional=true"
	}
	refused(t, annotations, service, "take more than 1048576 bytes together")
}

func TestLongDescriptorsAreRefused(t *testing.T) {
	t.Parallel()
	d := generate.Descriptor{Root: "spec", Path: "a", XDescriptors: []string{"service.binding:x:sourceKey=" + strings.Repeat("y", generate.MaxLength)}}
	if _, err := generate.ParseDescriptor(d, origin); err == nil || !strings.Contains(err.Error(), "at most 4096 bytes") {
		t.Errorf("the error is %.200v", err)
	}
}

// BenchmarkHostile is a description that costs as much as one may.
func BenchmarkHostile(b *testing.B) {
	wide := make([]any, 1000)
	for i := range wide {
		wide[i] = map[string]any{"a": map[string]any{"b": strings.Repeat("x", 500)}, "c": "d"}
	}
	service, annotations := map[string]any{"list": wide}, map[string]string{}
	for i := range generate.MaxRules {
		annotations[fmt.Sprintf("service.binding/x%d", i)] = "path=" + strings.Repeat("{range .list[*]}{range ..*}{..*}{end}{end}", 12)
	}
	recipe, err := described(annotations)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := recipe.Make(service, nil); err == nil {
			b.Fatal("it was made")
		}
	}
}
