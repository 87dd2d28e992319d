package jsonpath_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

const document = `
kind: Thing
count: 3
nothing: null
items:
- {name: a, size: 1, active: true, tags: [x, y]}
- {name: b, size: 2.5, active: false, tags: [z]}
- {name: c, size: 3, limits: {name: deep}}
annotations:
  example.com/a.b: dotted
  plain: value
"it's": quoted
`

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	var root map[string]any
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestFind(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		expression string
		want       []string
	}{
		"root":                      {"$", []string{""}},
		"root as a dot":             {"{.}", []string{""}},
		"field":                     {".kind", []string{"/kind"}},
		"braces and dollar":         {"{ $.kind }", []string{"/kind"}},
		"null is a place":           {".nothing", []string{"/nothing"}},
		"below null is nothing":     {".nothing.a", nil},
		"missing":                   {".a.b.c", nil},
		"quoted":                    {".annotations['example.com/a.b']", []string{"/annotations/example.com~1a.b"}},
		"double quoted":             {`["it's"]`, []string{"/it's"}},
		"escaped dots":              {`.annotations.example\.com/a\.b`, []string{"/annotations/example.com~1a.b"}},
		"index":                     {".items[0].name", []string{"/items/0/name"}},
		"index from the end":        {".items[-1].name", []string{"/items/2/name"}},
		"index out of range":        {".items[7].name", nil},
		"slice":                     {".items[1:3].name", []string{"/items/1/name", "/items/2/name"}},
		"slice with step":           {".items[0:5:2].name", []string{"/items/0/name", "/items/2/name"}},
		"open slice":                {".items[-2:].name", []string{"/items/1/name", "/items/2/name"}},
		"union of numbers":          {".items[0,2].name", []string{"/items/0/name", "/items/2/name"}},
		"union of names":            {".items[0]['size','name']", []string{"/items/0/size", "/items/0/name"}},
		"union finds once":          {".items[0,0,-3].name", []string{"/items/0/name"}},
		"wildcard on a list":        {".items[*].name", []string{"/items/0/name", "/items/1/name", "/items/2/name"}},
		"wildcard on an object":     {".annotations.*", []string{"/annotations/example.com~1a.b", "/annotations/plain"}},
		"wildcard skips scalars":    {".*.plain", []string{"/annotations/plain"}},
		"recursive":                 {"..name", []string{"/items/0/name", "/items/1/name", "/items/2/name", "/items/2/limits/name"}},
		"recursive twice once each": {"..items..name", []string{"/items/0/name", "/items/1/name", "/items/2/name", "/items/2/limits/name"}},
		"filter by text":            {`.items[?(@.name=="b")].size`, []string{"/items/1/size"}},
		"filter by number":          {".items[?( @.size >= 2.5 )].name", []string{"/items/1/name", "/items/2/name"}},
		"filter not equal":          {".items[?(@.name!='a')].name", []string{"/items/1/name", "/items/2/name"}},
		"filter by boolean":         {".items[?(@.active==true)].name", []string{"/items/0/name"}},
		"filter by existence":       {".items[?(@.limits.name)].name", []string{"/items/2/name"}},
		"filter of filters":         {".items[?(@.tags[?(@=='z')])].name", []string{"/items/1/name"}},
		"filter on several values":  {".items[?(@.tags[*]=='x')].name", nil},
		"filter of unlike types":    {".items[?(@.name>1)].name", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := jsonpath.Parse(test.expression)
			if err != nil {
				t.Fatal(err)
			}
			matches, err := path.Find(tree(t, document))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, match := range matches {
				got = append(got, match.Pointer())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("places found by %s (-want +got):\n%s", test.expression, diff)
			}
		})
	}
}

func TestFindThroughScalars(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		expression string
		want       jsonpath.TypeError
	}{
		"field of a text":      {".kind.name", jsonpath.TypeError{At: "/kind", Step: `field "name"`, Found: "string"}},
		"elements of a number": {".count[*]", jsonpath.TypeError{At: "/count", Step: "elements", Found: "number"}},
		"field of a list":      {".items.name", jsonpath.TypeError{At: "/items", Step: `field "name"`, Found: "list"}},
		"element of an object": {".annotations[0]", jsonpath.TypeError{At: "/annotations", Step: "element 0", Found: "object"}},
		"filter of an object": {
			".annotations[?(@.a)]",
			jsonpath.TypeError{At: "/annotations", Step: "elements to filter", Found: "object"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := jsonpath.Parse(test.expression)
			if err != nil {
				t.Fatal(err)
			}
			_, err = path.Find(tree(t, document))
			var got *jsonpath.TypeError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a TypeError", err)
			}
			test.want.Expression = path.String()
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		expression string
		position   int
	}{
		"empty":                  {"", 0},
		"empty braces":           {"{}", 1},
		"open brace":             {"{.a", 0},
		"no dot":                 {"spec.a", 0},
		"no name":                {".a.", 3},
		"three dots":             {"...a", 2},
		"ends in descent":        {".a..", 4},
		"open bracket":           {".a[0", 4},
		"name without quotes":    {".a[name]", 3},
		"open quote":             {".a['b]", 6},
		"step of nought":         {".a[0:1:0]", 7},
		"number too large":       {".a[99999999999]", 3},
		"filter without brace":   {".a[?@.b]", 4},
		"filter without operand": {".a[?(@.b==)]", 10},
		"bare literal":           {".a[?('x')]", 8},
		"text after the path":    {".a b", 2},
		"open escape":            {`.a\`, 3},
		"too long":               {"." + strings.Repeat("a", 1024), 1024},
		"too many steps":         {strings.Repeat(".a", 65), 128},
		"not text":               {".\xff", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := jsonpath.Parse(test.expression)
			var syntax *jsonpath.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %v, want a SyntaxError", err)
			}
			if syntax.Position != test.position {
				t.Errorf("got position %d, want %d: %v", syntax.Position, test.position, err)
			}
		})
	}
}

func TestFindIsBounded(t *testing.T) {
	t.Parallel()
	wide := make([]any, 300)
	for i := range wide {
		wide[i] = map[string]any{"a": make([]any, 300)}
	}
	deep := any("end")
	for range 1000 {
		deep = map[string]any{"a": deep}
	}
	tests := map[string]struct {
		expression string
		root       any
		what       string
	}{
		"nodes":   {"..a[*].b", wide, "nodes"},
		"matches": {"[*].a[*]", wide, "matches"},
		"levels":  {"..b", deep, "levels"},
		"filters": {"[?(@..x==1)]", wide, "nodes"},
		"squared": {"..*..*..*..*..z", deepTree(12), "nodes"},
		// What takes long without visiting many nodes counts too.
		"texts":        {strings.Repeat("[0,0]", 10) + "[?(@.a<@.b)]", twoTexts(10, 1<<16), "nodes"},
		"members":      {"[*][" + strings.Repeat("'x',", 60) + "'x']", wide[:299], ""},
		"many members": {"[*].a[*][" + strings.Repeat("'x',", 59) + "'x']", []any{map[string]any{"a": objects(1000)}}, "nodes"},
		"keys":         {"[*].*.a", []any{manyKeys(16_000)}, "nodes"},
		"long keys":    {".*.a", map[string]any{strings.Repeat("k", 128*50_000): "x"}, "nodes"},
		"long places":  {".a.*[*]", map[string]any{"a": map[string]any{strings.Repeat("k", 1<<14): objects(100)}}, "nodes"},
		"deep places":  {strings.Repeat("[0]", 62) + "[*]", nested(62, objects(600)), "nodes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := jsonpath.Parse(test.expression)
			if err != nil {
				t.Fatal(err)
			}
			_, err = path.Find(test.root)
			var limit *jsonpath.LimitError
			if !errors.As(err, &limit) {
				limit = &jsonpath.LimitError{}
			}
			if limit.What != test.what {
				t.Errorf("got %v, want an end by %q", err, test.what)
			}
		})
	}
}

func objects(n int) any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{}
	}
	return list
}

func manyKeys(n int) any {
	object := map[string]any{}
	for i := range n {
		object[strconv.Itoa(i)] = nil
	}
	return object
}

func nested(levels int, end any) any {
	for range levels {
		end = []any{end}
	}
	return end
}

// twoTexts are an object of two long texts, deep in lists.
func twoTexts(levels, size int) any {
	text := strings.Repeat("x", size)
	return nested(levels, []any{map[string]any{"a": text + "a", "b": text + "b"}})
}

func deepTree(levels int) any {
	if levels == 0 {
		return "leaf"
	}
	below := deepTree(levels - 1)
	return map[string]any{"a": below, "b": below}
}

func TestFixed(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{"name", "$.a", "{.a}", ".a[0]", ".a[*]", "..a", ".a[?(@.b)]", ".a['b','c']", "."} {
		if _, err := jsonpath.ParseFixed(expression); err == nil {
			t.Errorf("ParseFixed(%q) gave no error", expression)
		}
	}
}

func TestFixedSet(t *testing.T) {
	t.Parallel()
	fixed, err := jsonpath.ParseFixed(`.spec['a.b'].c`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"spec", "a.b", "c"}, fixed.Steps()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	tests := map[string]struct {
		before, after string
		gaps          []jsonpath.Gap
	}{
		"all missing": {"{}", "spec: {a.b: {c: 1}}", []jsonpath.Gap{
			{Steps: []string{"spec"}}, {Steps: []string{"spec", "a.b"}}, {Steps: []string{"spec", "a.b", "c"}},
		}},
		"null parent": {"spec: {a.b: null, z: 2}", "spec: {a.b: {c: 1}, z: 2}", []jsonpath.Gap{
			{Steps: []string{"spec", "a.b"}, Null: true}, {Steps: []string{"spec", "a.b", "c"}},
		}},
		"there": {"spec: {a.b: {c: 0}}", "spec: {a.b: {c: 1}}", nil},
	}
	for name, test := range tests {
		root := tree(t, test.before)
		gaps, err := fixed.Set(root, float64(1))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.gaps, gaps); diff != "" {
			t.Errorf("%s: gaps (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tree(t, test.after), root); diff != "" {
			t.Errorf("%s: tree (-want +got):\n%s", name, diff)
		}
	}
	var blocked *jsonpath.TypeError
	if _, err := fixed.Set(tree(t, "spec: {a.b: text}"), 1); !errors.As(err, &blocked) || blocked.At != "/spec/a.b" {
		t.Errorf("setting through a text gave %v", err)
	}
}

func TestFixedList(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		".spec.containers[*]": {"spec", "containers"}, ".spec.a.*": {"spec", "a"}, "[*]": nil, ".spec": nil, ".a[*].b[*]": nil,
	}
	for expression, want := range tests {
		path, err := jsonpath.Parse(expression)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := path.FixedList()
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("list of %s, %v (-want +got):\n%s", expression, ok, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		".a.b", "['a.b']", `["x"]`, `.a\.b`, "[*]", ".*", "[0]", "[-1]", "[1:3]", "[0:5:2]", "[0,2]", "['a','b']", "..name",
		`[?(@.name=="x")]`, "[?(@.x)]", "{$.a}", "[?(@.a[?(@.b<=1e3)])]", `['it\'s']`, "$", "{.}", `.a\ `, "..*..*",
	} {
		f.Add(seed)
	}
	root := map[string]any{
		"a": map[string]any{"b": []any{int64(1), 2.5, "x", nil, true, map[string]any{"name": "x", "a": []any{}}}},
		"x": []any{map[string]any{"name": "x"}, []any{"a", []any{"b"}}}, "a.b": "c",
	}
	f.Fuzz(func(t *testing.T, expression string) {
		path, err := jsonpath.Parse(expression)
		if err != nil {
			return
		}
		again, err := jsonpath.Parse(path.String())
		if err != nil {
			t.Fatalf("%q: its normal form %q: %v", expression, path.String(), err)
		}
		if again.String() != path.String() {
			t.Fatalf("%q: normal form %q becomes %q", expression, path.String(), again.String())
		}
		matches, err := path.Find(root)
		same, errSame := again.Find(root)
		if (err == nil) != (errSame == nil) {
			t.Fatalf("%q: %v, its normal form: %v", expression, err, errSame)
		}
		if diff := cmp.Diff(matches, same); diff != "" {
			t.Fatalf("%q and its normal form differ:\n%s", expression, diff)
		}
		for _, match := range matches {
			if diff := cmp.Diff(match.Path, jsonpath.Tokens(match.Pointer()), cmp.Transformer("nil", nilled)); diff != "" {
				t.Fatalf("pointer of %v:\n%s", match.Path, diff)
			}
		}
	})
}

func nilled(s []string) string { return strings.Join(s, "\x00") }
