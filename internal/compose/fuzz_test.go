package compose_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/compose"
)

// hidden is in each value of a Secret, and in no text that a fuzz target begins with.
const hidden = "\xffhidden-value\x00"

// script reads a line an item: "s key", "m name=template", "v name=template", "t type", "p provider".
func script(text string) (map[string][]byte, compose.Templates) {
	source := map[string][]byte{}
	var t compose.Templates
	for i, line := range strings.Split(text, "\n") {
		what, rest, _ := strings.Cut(line, " ")
		name, value, _ := strings.Cut(rest, "=")
		switch what {
		case "s":
			source[rest] = []byte(fmt.Sprint(hidden, i))
		case "m":
			t.Mappings = append(t.Mappings, compose.Mapping{Name: name, Value: value})
		case "v":
			t.Env = append(t.Env, compose.Variable{Name: name, Value: value})
		case "t":
			t.Type = rest
		case "p":
			t.Provider = rest
		}
	}
	return source, t
}

func FuzzDerive(f *testing.F) {
	for _, seed := range []string{
		"s host\ns port\nm uri=db://((host)):((port))\nv URI=((uri))\nv HOST=<((host))>",
		"s uri\nm uri=((uri))?x\nm a=((b))\nm b=((c))\nm c=((a))", "t redis\nm type=x\np y\nm what=((type)) ((provider))",
		"s a\nm b=((nope)) ((a\nv =x\nv SERVICE_BINDING_ROOT=\nm b=((a))\nv X={((a))}\nv x=((a)) ", `m a=\((b)) \\((c))` + "\nm c=",
		"s env-a\nv A=-\nv a=--\nv =\ns type",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source, templates := script(text)
		before := copyOf(source)
		got, err := compose.Derive(source, templates)
		again, errAgain := compose.Derive(source, templates)
		if diff := cmp.Diff(got, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("the same input gave something else: %v, then %v\n%s", err, errAgain, diff)
		}
		if !maps.EqualFunc(before, source, bytes.Equal) {
			t.Fatal("the source was changed")
		}
		refused := compose.CheckTemplates(templates, field.NewPath("spec"))
		if err != nil {
			checkFaults(t, err)
			return
		}
		if len(refused) > 0 {
			t.Fatalf("admission refuses what works: %v", refused)
		}
		checkDerived(t, source, templates, got)
	})
}

// checkFaults sees that an error is Faults, tells where, and tells no value.
func checkFaults(t *testing.T, err error) {
	t.Helper()
	if strings.Contains(err.Error(), "hidden-value") {
		t.Fatalf("a value was told: %q", err)
	}
	faults, ok := errors.AsType[compose.Faults](err)
	if !ok || len(faults) == 0 {
		t.Fatalf("got %v, want Faults", err)
	}
	for _, fault := range faults {
		if !strings.HasPrefix(fault.Field, "spec") || fault.Problem == "" {
			t.Fatalf("got %+v", *fault)
		}
	}
}

func checkDerived(t *testing.T, source map[string][]byte, templates compose.Templates, got *compose.Derived) {
	t.Helper()
	made := slices.Collect(maps.Keys(got.Data))
	for key := range source {
		if !slices.Contains(made, key) {
			t.Fatalf("entry %q is gone", key)
		}
	}
	if strings.Contains(got.SecretType, "hidden-value") {
		t.Fatalf("the Secret's type tells a value: %q", got.SecretType)
	}
	if len(got.Env) != len(templates.Env) {
		t.Fatalf("%d variables of %d", len(got.Env), len(templates.Env))
	}
	for i, env := range got.Env {
		if _, ok := got.Data[env.Key]; !ok || env.Name != templates.Env[i].Name {
			t.Fatalf("variable %+v, entries %q", env, made)
		}
	}
}

func copyOf(data map[string][]byte) map[string][]byte {
	copied := make(map[string][]byte, len(data))
	for key, value := range data {
		copied[key] = bytes.Clone(value)
	}
	return copied
}
