package compose_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/compose"
)

// hiddenObjects are resources whose every text is not to be told.
func hiddenObjects() []map[string]any {
	encoded := base64.StdEncoding.EncodeToString([]byte(hidden))
	return []map[string]any{
		nil,
		{"data": map[string]any{"a": encoded, "tls.crt": encoded, "type": encoded, "": encoded}, "type": hidden},
		{"data": map[string]any{"a": hidden, "b": int64(1)}, "binaryData": map[string]any{"c": encoded, "d": "%"}},
		{"a": hidden, "b": []any{hidden, int64(1), 2.5, true, nil, map[string]any{"c": hidden, "d": []any{}}}, "data": hidden},
		{"a": map[string]any{"b": map[string]any{"c": "plain hidden-value"}}, "kind": "hidden-value"},
	}
}

// syntheticScript reads a line an item: "o id apiVersion kind name object", where the object is a number and - an empty text,
// and what script reads.
func syntheticScript(text string) compose.Synthetic {
	_, t := script(text)
	objects := hiddenObjects()
	s := compose.Synthetic{Type: t.Type, Provider: t.Provider, Mappings: t.Mappings}
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Split(line, " ")
		if words[0] != "o" || len(words) != 6 {
			continue
		}
		for i, word := range words {
			if word == "-" {
				words[i] = ""
			}
		}
		n, err := strconv.Atoi(words[5])
		if err != nil || n < 0 {
			n = 0
		}
		s.Sources = append(s.Sources, compose.Source{
			ID: words[1], APIVersion: words[2], Kind: words[3], Name: words[4], Object: objects[n%len(objects)],
		})
	}
	return s
}

func FuzzSynthesize(f *testing.F) {
	for _, seed := range []string{
		"o - v1 Secret db 1\no x v1 ConfigMap db.c 2\nt y\nm a=((db.a)) ((db.data.a))\nm b=((x.c)) ((x.data))\nm c=((db['tls.crt']))",
		"o - e/v1 K k 3\nt y\np z\nm a=((k.b[*])) ((k.b[5].c)) ((k.b[?(@.c)]))\nm b=((k.a.b))", "o i e/v1 K k 4\nm type=((i.a.b.c))\nm b=((k.a))",
		"o a v1 Secret db 1\no a v1 Secret db 0\nt y\nm b=((db.a)) ((a)) ((a.)) ((c.x[", "o - v1 ConfigMap c 2\nm type=((c.b))\nm x=((c.kind))((c..*))",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, same := syntheticScript(text), syntheticScript(text)
		before := syntheticScript(text)
		got, err := compose.Synthesize(s)
		again, errAgain := compose.Synthesize(same)
		if diff := cmp.Diff(got, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("the same input gave something else: %v, then %v\n%s", err, errAgain, diff)
		}
		if diff := cmp.Diff(before, s); diff != "" {
			t.Fatalf("the input was changed:\n%s", diff)
		}
		checkSynthesized(t, s, got, err)
	})
}

func checkSynthesized(t *testing.T, s compose.Synthetic, got *compose.Synthesized, err error) {
	t.Helper()
	refused := compose.CheckSynthetic(s, field.NewPath("spec"))
	if missing, ok := errors.AsType[*compose.Missing](err); ok && len(refused) == 0 && len(missing.Sources) > 0 {
		return
	}
	if err != nil {
		checkFaults(t, err)
		return
	}
	if len(refused) > 0 || len(got.Data["type"]) == 0 {
		t.Fatalf("admission: %v; type %q", refused, got.Data["type"])
	}
	for _, m := range s.Mappings {
		if _, ok := got.Data[m.Name]; !ok {
			t.Fatalf("no entry %q", m.Name)
		}
	}
}
