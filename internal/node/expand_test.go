package node

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// oracle says the same as expand in other words: at each place, from the left, two dollars or a whole reference.
func oracle(text string, lookup func(string) (string, bool)) string {
	return regexp.MustCompile(`\$\$|\$\([^)]*\)`).ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, ok := lookup(found[2 : len(found)-1]); ok {
			return value
		}
		return found
	})
}

func in(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	lookup := in(map[string]string{"A": "a", "B": "$(A)", "": "nameless", "E": ""})
	for text, want := range map[string]string{
		"":                "",
		"$":               "$",
		"$$":              "$",
		"$$$":             "$$",
		"$(A)":            "a",
		"$(A)$(A)":        "aa",
		"$$(A)":           "$(A)",
		"$$$(A)":          "$a",
		"$(B)":            "$(A)", // what is put in is not read again
		"$(E)|":           "|",
		"$()":             "nameless",
		"$(NONE)":         "$(NONE)",
		"$(A":             "$(A",
		"$($(A)":          "$($(A)",
		"$((A))":          "$((A))",
		"$A ${A} $[A]":    "$A ${A} $[A]",
		"x$(A)y$é$(A)":    "xay$éa",
		"$( A)":           "$( A)",
		"$(A))":           "a)",
		"p$(A)$":          "pa$",
		"$(N$(A)":         "$(N$(A)",
		"$$$$(A) $(\n) $": "$$(A) $(\n) $",
	} {
		if got := expand(text, lookup); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
		if got := oracle(text, lookup); got != want {
			t.Errorf("the oracle is wrong: %q gives %q, want %q", text, got, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, text := range []string{"$(A)", "$$(A)", "$($$(A)$", "$(N$(A))$$$", "é$é$(é)"} {
		f.Add(text, "A", "value")
	}
	f.Fuzz(func(t *testing.T, text, name, value string) {
		lookup := in(map[string]string{name: value})
		if got, want := expand(text, lookup), oracle(text, lookup); got != want {
			t.Errorf("%q with %q=%q gives %q, want %q", text, name, value, got, want)
		}
	})
}

func TestExpandKeepsEscapedText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("$()AB é"))).Draw(t, "text")
		lookup := in(map[string]string{"A": "a", "B": "b"})
		if got := expand(strings.ReplaceAll(text, "$", "$$"), lookup); got != text {
			t.Errorf("escaped %q gives %q", text, got)
		}
		if got, want := expand(text, lookup), oracle(text, lookup); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
		if strings.Count(text, "$") == 0 && expand(text, lookup) != text {
			t.Errorf("%q has changed", text)
		}
	})
}

// TestCyclesAreCircles draws variables and checks each answer: a circle leads back to where it begins, and without one the
// variables can be put in an order in which each comes after what it refers to.
func TestCyclesAreCircles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var env []corev1.EnvVar
		for range rapid.IntRange(0, 6).Draw(t, "variables") {
			references := rapid.SliceOfN(rapid.SampledFrom([]string{"$(A)", "$(B)", "$(C)", "$(D)"}), 0, 2).Draw(t, "references")
			name := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "name")
			env = append(env, corev1.EnvVar{Name: name, Value: strings.Join(references, "")})
		}
		search := circles{env: env, from: nil}
		err := refuseCycles(env, nil)
		var cycle *CycleError
		if got, want := errors.As(err, &cycle), !sortable(&search); got != want {
			t.Fatalf("%v: error %v, want one: %t", env, err, want)
		}
	})
}

// sortable removes variables that refer to none that is left, until nothing is left or nothing can be removed.
func sortable(c *circles) bool {
	left := map[int]bool{}
	for i := range c.env {
		left[i] = true
	}
	for removed := true; removed; {
		removed = false
		for i := range left {
			free := true
			for _, name := range refersTo(c.env[i].Value) {
				free = free && !left[c.meant(i, name)]
			}
			if free {
				delete(left, i)
				removed = true
			}
		}
	}
	return len(left) == 0
}

func BenchmarkExpand(b *testing.B) {
	lookup := in(map[string]string{"HOST": "db.example.com", "PORT": "5432"})
	text := "postgres://$(HOST):$(PORT)/" + strings.Repeat("x", 100)
	for b.Loop() {
		expand(text, lookup)
	}
}
