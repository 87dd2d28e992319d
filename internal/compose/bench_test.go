package compose_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/compose"
)

// hostileTexts are the values of one mapping each, made to take long.
func hostileTexts() map[string]string {
	return map[string]string{
		"a MiB of text":      strings.Repeat("x", 1<<20),
		"10,000 tokens":      strings.Repeat("((s.a))", 10_000),
		"all tokens allowed": strings.Repeat("((s.a))", compose.MaxTokens),
		"no source":          strings.Repeat("((nope.a))", compose.MaxTokens),
		"long paths":         strings.Repeat("((s"+strings.Repeat("['a','b']", 6)+"))", compose.MaxTokens),
		"all nodes":          strings.Repeat("((s..*))", compose.MaxTokens),
		"large values":       strings.Repeat("((s.large))", compose.MaxTokens),
		"many keys":          "((s.flat))",
		"large JSON":         strings.Repeat("((s.list))", compose.MaxTokens),
	}
}

// largeObject is made once: it takes long.
var largeObject = sync.OnceValue(func() map[string]any {
	list := make([]any, 100_000)
	for i := range list {
		list[i] = map[string]any{"a": "<>\u2028", "b": int64(i)}
	}
	flat := make(map[string]any, 500_000)
	for i := range 500_000 {
		flat[strconv.Itoa(i)] = int64(i)
	}
	return map[string]any{"a": "x", "large": strings.Repeat("x", 1<<19), "list": list, "flat": flat}
})

// hostile is a synthetic service that takes from large resources.
func hostile(text string) compose.Synthetic {
	object := largeObject()
	s := compose.Synthetic{Type: "x", Mappings: []compose.Mapping{{Name: "a", Value: text}}}
	for i := range compose.MaxServices {
		s.Sources = append(s.Sources, compose.Source{APIVersion: "e/v1", Kind: "K", Name: fmt.Sprint("s.", i), Object: object})
	}
	s.Sources[0].Name = "s"
	return s
}

// Nothing costs more than some bytes, whatever it is asked for. Other tests must not run meanwhile.
func TestMemoryIsBounded(t *testing.T) {
	const most = 24 << 20
	for name, text := range hostileTexts() {
		s := hostile(text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := compose.Synthesize(s)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > most {
			t.Errorf("%s: %d bytes were allocated, %d are allowed: %.100v", name, got, most, err)
		}
	}
}

func BenchmarkSynthesize(b *testing.B) {
	for name, text := range hostileTexts() {
		b.Run(name, func(b *testing.B) {
			s := hostile(text)
			b.ReportAllocs()
			for b.Loop() {
				_ = compose.CheckSynthetic(s, field.NewPath("spec"))
				_, err := compose.Synthesize(s)
				_ = fmt.Sprint(err)
			}
		})
	}
}

func BenchmarkDerive(b *testing.B) {
	source := map[string][]byte{"x": make([]byte, 1<<19)}
	for i := range 50_000 {
		source[fmt.Sprint("key-", i)] = nil
	}
	all := compose.Templates{}
	for i := range compose.MaxMappings {
		all.Mappings = append(all.Mappings, compose.Mapping{Name: fmt.Sprint("m", i), Value: fmt.Sprintf("((m%d))((nope))", (i+1)%compose.MaxMappings)})
		all.Env = append(all.Env, compose.Variable{Name: fmt.Sprint("M-", i), Value: "-((m1))"})
	}
	for name, t := range map[string]compose.Templates{
		"10,000 tokens":      {Mappings: []compose.Mapping{{Name: "a", Value: strings.Repeat("((x))", 10_000)}}},
		"all tokens allowed": {Mappings: []compose.Mapping{{Name: "a", Value: strings.Repeat("((y))", compose.MaxTokens)}}},
		"one long circle":    all,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = compose.CheckTemplates(t, field.NewPath("spec"))
				_, err := compose.Derive(source, t)
				_ = fmt.Sprint(err)
			}
		})
	}
}
