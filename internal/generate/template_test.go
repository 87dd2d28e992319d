package generate

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	kubectl "k8s.io/client-go/util/jsonpath"
	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

func someTree() map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": "orders", "labels": map[string]any{"a-b": "dashed", "a.b": "dotted"}},
		"spec":     map[string]any{"port": int64(5432), "ratio": 2.5, "tls": true, "empty": "", "none": nil, "nothing": []any{}},
		"status": map[string]any{
			"nodes": []any{
				map[string]any{"host": "a.example.com", "port": int64(1), "up": true},
				map[string]any{"host": "b.example.com", "port": int64(2), "up": false},
			},
			"names": []any{"x", "y", "z"},
		},
	}
}

func expanded(text string, root any) (string, error) {
	template, w := parseTemplate(text)
	if w != nil {
		return "", fmt.Errorf("position %d: %s", w.at, w.problem)
	}
	return newWork().expand(template, root)
}

func TestExpand(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ template, want, reason string }{
		"field":          {"{.metadata.name}", "orders", "a field"},
		"dollar":         {"{$.metadata.name}", "orders", "$ is the root"},
		"at":             {"{@.metadata.name}", "orders", "@ is the root outside ranges"},
		"text":           {"pg://{.metadata.name}:{.spec.port}/db", "pg://orders:5432/db", "text and several expressions"},
		"literal":        {"fixed", "fixed", "text alone"},
		"quoted":         {`{.metadata.name}{"\n"}{'\t"x'}{"\u00e9\xff"}`, "orders\n\t\"x\u00e9\xff", "quoted texts with escapes"},
		"quoted braces":  {`{"}{,"}`, "}{,", "a brace in quotes"},
		"numbers":        {"{.spec.port} {.spec.ratio} {.spec.tls}", "5432 2.5 true", "as kubectl prints them"},
		"empty":          {"<{.spec.empty}>", "<>", "an empty text is one"},
		"several":        {"{.status.nodes[*].host}", "a.example.com b.example.com", "joined by spaces"},
		"list":           {"{.status.names}", `["x","y","z"]`, "a list is JSON"},
		"object":         {"{.status.nodes[0]}", `{"host":"a.example.com","port":1,"up":true}`, "an object is JSON with its keys sorted"},
		"range":          {`{range .status.nodes[*]}{.host}:{.port},{end}`, "a.example.com:1,b.example.com:2,", "kubectl's range"},
		"range of texts": {`{range .status.names[*]}{@};{end}!`, "x;y;z;!", "@ is the element"},
		"tight range":    {`{range.status.names[*]}{.}{end}`, "xyz", "kubectl takes it without a space"},
		"nested range":   {`{range .status}{range .names[*]}{@}{end}-{range .nodes[*]}{.port}{end}{end}`, "xyz-12", "ranges in ranges"},
		"filter":         {`{.status.nodes[?(@.up==true)].host}`, "a.example.com", "a filter"},
		"spaces":         {"{ .metadata.name }", "orders", "spaces within braces"},
		"dashes":         {"{.metadata.labels.a-b}{.metadata.labels.a\\.b}", "dasheddotted", "odd keys"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := expanded(test.template, someTree())
			if err != nil || got != test.want {
				t.Errorf("%s: got %q and the error %v, want %q", test.reason, got, err, test.want)
			}
		})
	}
}

func TestExpandKnowsWhatIsAbsent(t *testing.T) {
	t.Parallel()
	for _, template := range []string{
		"{.no}", "{.spec.none}", "{.spec.none.more}", "{.status.nodes[7].host}", "{.spec.nothing[*]}",
		"{range .spec.nothing[*]}x{end}", "{range .status.nodes[*]}{.no}{end}", "{.metadata.name}{.no}",
	} {
		if _, err := expanded(template, someTree()); !errors.Is(err, errAbsent) {
			t.Errorf("%s: the error is %v, want errAbsent", template, err)
		}
	}
	var typed *jsonpath.TypeError
	if _, err := expanded("{.metadata.name.more}", someTree()); !errors.As(err, &typed) {
		t.Errorf("a path through a string: the error is %v, want a *TypeError", err)
	}
}

func TestExpandIsBounded(t *testing.T) {
	t.Parallel()
	wide := make([]any, 900)
	for i := range wide {
		wide[i] = map[string]any{"a": strings.Repeat("x", 2000)}
	}
	root := map[string]any{"list": wide}
	tests := map[string]string{
		"much text":       `{range .list[*]}{.a}{end}`,
		"much work":       `{range .list[*]}{range ..*}{range ..*}{"x"}{end}{end}{end}` + strings.Repeat(`{range .list[*]}{..a}{..a}{end}`, 4),
		"the same matter": strings.Repeat("{.list}", 60),
	}
	for name, template := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if text, err := expanded(template, root); err == nil {
				t.Errorf("%d bytes were made", len(text))
			}
		})
	}
}

// bothDefine says whether kubectl's implementation means the same by a template as its documentation. It goes through
// strings letter by letter, through objects in no order and twice where it descends, reads ['a.b'] as a path, and gives
// members of a union twice.
func bothDefine(template string) bool {
	return !odd.MatchString(template) && strings.Count(template, "range") == strings.Count(template, "end")
}

var odd = regexp.MustCompile(`\.\.|\.\*|,|'|"|\\|[^ -~]|\[\?|\$`)

// kubectlExpands is what kubectl makes of a template. It panics on some that it takes.
func kubectlExpands(template string, root any) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kubectl's JSONPath panics: %v", p)
		}
	}()
	j := kubectl.New("test")
	if err := j.Parse(template); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = j.Execute(&b, root)
	return b.String(), err
}

// noNulls is a tree in which kubectl and we agree on what is there.
func noNulls() map[string]any {
	root := someTree()
	delete(root["spec"].(map[string]any), "none")
	return root
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"{.metadata.name}", "pg://{.metadata.name}:{.spec.port}", `{range .status.nodes[*]}{.host}{"\n"}{end}`, "{.status.names[-1]}",
		"{@}", "{$.spec}", "{.status.nodes[0:2].host}", "{.spec.ratio}{'x'}", "{range .status}{range .names[*]}{@}{end}{end}", "{.a", "{end}",
		"{.status.nodes[?(@.up==true)].host}", "{..host}", "{.metadata.labels.*}", "{.status.names[0,2]}", "{[0]}", "{ .spec.tls }",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		template, w := parseTemplate(text)
		if w != nil {
			if w.at < 0 || w.at > len(text) || w.problem == "" {
				t.Fatalf("%q: position %d, problem %q", text, w.at, w.problem)
			}
			return
		}
		got, err := newWork().expand(template, noNulls())
		again, errAgain := newWork().expand(template, noNulls())
		if got != again || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("%q gives %q (%v), and then %q (%v)", text, got, err, again, errAgain)
		}
		if err == nil && bothDefine(text) {
			checkAsKubectl(t, text, got)
		}
	})
}

func checkAsKubectl(t *testing.T, text, got string) {
	t.Helper()
	want, err := kubectlExpands(text, noNulls())
	if err == nil && got != want {
		t.Fatalf("%q gives %q, and %q by kubectl", text, got, want)
	}
}

// templates draws templates over the names of drawn trees.
func templates() *rapid.Generator[string] {
	names := rapid.SampledFrom([]string{"a", "b", "c-d", "e_f"})
	path := rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(1, 3).Draw(t, "steps") {
			b.WriteString("." + names.Draw(t, "field"))
			b.WriteString(rapid.SampledFrom([]string{"", "", "", "[0]", "[*]", "[-1]", "[0:2]", "[?(@.a==1)]", `[?(@.b=="x")]`, "[0,1]"}).Draw(t, "bracket"))
		}
		return b.String()
	})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(1, 3).Draw(t, "pieces") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				b.WriteString(rapid.SampledFrom([]string{"x", "://", `{"\n"}`, "{'q'}"}).Draw(t, "text"))
			case 1:
				b.WriteString("{range " + path.Draw(t, "range") + "}{" + path.Draw(t, "in it") + "}{end}")
			default:
				b.WriteString("{" + path.Draw(t, "path") + "}")
			}
		}
		return b.String()
	})
}

func trees(depth int) *rapid.Generator[any] {
	scalar := rapid.SampledFrom([]any{"x", "", "y z", int64(1), int64(-7), true, 2.5})
	if depth == 0 {
		return rapid.Custom(func(t *rapid.T) any { return scalar.Draw(t, "scalar") })
	}
	return rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return scalar.Draw(t, "scalar")
		case 1, 2:
			return rapid.SliceOfN(trees(depth-1), 0, 3).Draw(t, "list")
		default:
			return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c-d", "e_f"}), trees(depth-1), 1, 4).Draw(t, "object")
		}
	})
}

// TestExpandAsKubectl holds that both give the same wherever both give something.
func TestExpandAsKubectl(t *testing.T) {
	t.Parallel()
	both := 0
	rapid.Check(t, func(t *rapid.T) {
		root := map[string]any{"a": trees(3).Draw(t, "tree"), "b": trees(2).Draw(t, "other tree")}
		for range 30 {
			template := templates().Draw(t, "template")
			got, err := expanded(template, root)
			want, kubectlErr := kubectlExpands(template, root)
			if err != nil || kubectlErr != nil {
				continue
			}
			both++
			if got != want {
				t.Fatalf("%q gives %q, and %q by kubectl", template, got, want)
			}
		}
	})
	if both < 100 {
		t.Errorf("both gave something only %d times", both)
	}
}
