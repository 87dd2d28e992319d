package jsonpath_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

const (
	// maxBytes is what one expression may cost, parsed and evaluated once.
	maxBytes = 1 << 20
	// objectLimit is how much the API server reads of one object.
	objectLimit = 3 << 20
)

// hostileDocuments are trees as large as the API server lets an object be, each bad for something else.
func hostileDocuments() map[string]any {
	return map[string]any{
		"one flat object":    flatObject(objectLimit / 16),
		"a flat object":      flatObject(12_400),
		"large indices":      largeIndices(23, 1000),
		"one flat list":      flatList(objectLimit / 2),
		"objects in objects": bushy(9),
		"deep":               deepList(250, manyElements(2000)),
		"long keys":          longKeys(240, objectLimit/300),
		"large texts":        largeTexts(14),
		"objects in a list":  objectsInList(objectLimit / 64),
		"keys almost alike":  almostAlike(200, objectLimit/200),
	}
}

// hostileExpressions are paths that do as much as they can.
func hostileExpressions() []string {
	expressions := []string{
		"..*", "..a", "[*]", "..*..*..*..*..z", "..['a','b','c','d']", "..[0,-1,0,-1]", "..[?(@..*)]", "..[?(@.a==@.b)]",
		"..[?(@.a<@.b)]", "[?(@[?(@[?(@[?(@==1)])])])]", "..[::1]", "..[0:1000000:1]", ".*.*.*.*.*.*.*.*.*", "..a..b..c..d",
		"..[?(@[?(@..[?(@..[?(@..a==1)])])])]", "..[*][?(@>='a')]", ".*",
		strings.Repeat("[-1]", 23) + "[*]", strings.Repeat("[-1]", 23) + "[*,0]",
	}
	for _, member := range []string{"0", "'a'", "*", "0:", "-1"} {
		expressions = append(expressions,
			"["+strings.Repeat(member+",", 62)+member+"]",
			strings.Repeat("["+member+","+member+"]", 32),
			strings.Repeat("["+member+","+member+"]", 14)+"[?(@.a<=@.b)]",
			"..["+strings.Repeat(member+",", 50)+member+"]")
	}
	return append(expressions, strings.Repeat(".*", 64), strings.Repeat("..*", 32), strings.Repeat("..a", 32), strings.Repeat("[*]", 64))
}

func flatObject(n int) any {
	object := make(map[string]any, n)
	for i := range n {
		object[fmt.Sprintf("k%08x", uint32(i)*2654435761)] = int64(i)
	}
	return object
}

func flatList(n int) any {
	list := make([]any, n)
	for i := range list {
		list[i] = int64(1)
	}
	return list
}

func bushy(levels int) any {
	if levels == 0 {
		return "leaf"
	}
	return map[string]any{"a": bushy(levels - 1), "b": bushy(levels - 1), "c": bushy(levels - 1)}
}

func deepList(levels int, end any) any {
	for range levels {
		end = []any{end}
	}
	return end
}

func manyElements(n int) any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"a": "x", "b": "y"}
	}
	return list
}

// largeIndices is deep, and its indices have many digits.
func largeIndices(levels, n int) any {
	end := manyElements(n)
	for range levels {
		list := make([]any, 1200)
		list[len(list)-1] = end
		end = list
	}
	return end
}

func longKeys(levels, size int) any {
	end := manyElements(2000)
	for range levels {
		end = map[string]any{strings.Repeat("~", size): end}
	}
	return end
}

// largeTexts are two texts that differ at their ends, below lists that a union can walk through again and again.
func largeTexts(levels int) any {
	half := strings.Repeat("x", objectLimit/2)
	return deepList(levels, []any{map[string]any{"a": half + "a", "b": half + "b"}})
}

func objectsInList(n int) any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"a": int64(i), "b": fmt.Sprint("text ", i), "z": map[string]any{"y": nil}}
	}
	return list
}

func almostAlike(n, size int) any {
	object := map[string]any{}
	prefix := strings.Repeat("x", size)
	for i := range n {
		object[prefix+strconv.Itoa(i)] = flatList(1)
	}
	return []any{object, object}
}

// search parses and evaluates an expression as whoever uses it does, the text of each place included.
func search(expression string, root any) error {
	path, err := jsonpath.Parse(expression)
	if err != nil {
		return err
	}
	matches, err := path.Find(root)
	for _, match := range matches {
		_ = match.Pointer()
	}
	return err
}

// allocated is how many bytes a call allocates. Other goroutines must not run meanwhile.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// No expression costs more than a bounded number of bytes, whatever it is evaluated on. How long it takes is for the
// benchmark to say: no test depends on a clock.
func TestMemoryIsBounded(t *testing.T) {
	documents := hostileDocuments()
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		for _, expression := range hostileExpressions() {
			if _, err := jsonpath.Parse(expression); err != nil {
				t.Fatal(err)
			}
			least := uint64(1 << 62)
			for range 2 { // the least of two, since the runtime allocates too
				least = min(least, allocated(func() { _ = search(expression, documents[name]) }))
			}
			if least > maxBytes {
				t.Errorf("%s, %s: %d bytes were allocated, %d are allowed", name, expression, least, maxBytes)
			}
		}
	}
}

// BenchmarkWorstCase evaluates each hostile expression on each hostile document. The least time of all is told too: it is
// what the evaluation takes where nothing else runs.
func BenchmarkWorstCase(b *testing.B) {
	documents := hostileDocuments()
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		for _, expression := range hostileExpressions() {
			b.Run(name+"/"+expression[:min(len(expression), 24)], func(b *testing.B) {
				b.ReportAllocs()
				least := time.Hour
				for b.Loop() {
					began := time.Now()
					_ = search(expression, documents[name])
					least = min(least, time.Since(began))
				}
				b.ReportMetric(float64(least)/float64(time.Millisecond), "least-ms")
			})
		}
	}
}
