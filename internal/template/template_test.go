package template_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/internal/template"
)

// named expands each token to its name in angle brackets.
func named(token template.Token) ([]byte, error) {
	return []byte("<" + token.Name + ">"), nil
}

func expand(t *testing.T, text string) string {
	t.Helper()
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatalf("parsing %q: %v", text, err)
	}
	result, err := parsed.Expand(named)
	if err != nil {
		t.Fatalf("expanding %q: %v", text, err)
	}
	return string(result)
}

func TestExpand(t *testing.T) {
	t.Parallel()
	tests := []struct{ reason, text, want string }{
		{"nothing is nothing", "", ""},
		{"text stands for itself", `a (b) \c )) ]`, `a (b) \c )) ]`},
		{"a token is replaced", "((a))", "<a>"},
		{"the draft's mapping", "https://((username)):((password))@((host)):((port))/((path))", "https://<username>:<password>@<host>:<port>/<path>"},
		{"white space around a name does not count", "(( \t\r\n a b \n))", "<a b>"},
		{"tokens may touch", "((a))((b))", "<a><b>"},
		{"a third parenthesis is text", "f(((a)))", "f(<a>)"},
		{"a path with an index", "((db.hosts[0].name))", "<db.hosts[0].name>"},
		{"a filter has parentheses", `((db.list[?(@.a=="x")].b))`, `<db.list[?(@.a=="x")].b>`},
		{"parentheses within brackets do not end", "((a[?(@.b[?(@.c==1)])]))!", "<a[?(@.b[?(@.c==1)])]>!"},
		{"quotes within brackets hide all", `((a['))((']["]))"]))`, `<a['))((']["]))"]>`},
		{"a quote may be escaped", `((a['it\'s ))']))`, `<a['it\'s ))']>`},
		{"quotes outside of brackets are nothing special", `((it's)) and ((her's))`, `<it's> and <her's>`},
		{"a closing bracket alone is nothing special", "((a]b))", "<a]b>"},
		{"a backslash protects within a token", `((a\)\).b\[c))`, `<a\)\).b\[c>`},
		{"a protected space is kept", `((a.b\  ))`, `<a.b\ >`},
		{"escaped parentheses are text", `\((a))`, "((a))"},
		{"an escaped backslash before a token", `\\((a))`, `\<a>`},
		{"three backslashes", `\\\((a))`, `\((a))`},
		{"four backslashes", `\\\\((a))`, `\\<a>`},
		{"an escape and a token in a row", `\((((a))`, "((<a>"},
		{"an escape and one more parenthesis", `\(((a))`, "(((a))"},
		{"a backslash before one parenthesis", `\(a`, `\(a`},
		{"bytes that are no text", "\xff((a))\xfe", "\xff<a>\xfe"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, expand(t, test.text)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	at := func(offset, line, column int) template.Position {
		return template.Position{Offset: offset, Line: line, Column: column}
	}
	tests := []struct {
		reason, text string
		want         template.Position
		hint         string
	}{
		{"an empty token", "a((  ))", at(1, 1, 2), "name an entry"},
		{"a token that is not closed", "é\n  ((a)", at(5, 2, 3), "close the token"},
		{"the opening is named, though others follow", "((a)) ((b", at(6, 1, 7), "close the token"},
		{"a bracket that is not closed", "((a[0)) x", at(0, 1, 1), "close the bracket"},
		{"a quote that is not closed", "((a['b]))", at(0, 1, 1), "quote"},
		{"a token within a token", "((a((b))", at(3, 1, 4), "close the token"},
		{"a token within a bracket", "((a[((b))", at(4, 1, 5), "close the bracket"},
		{"four parentheses", "((((a))))", at(2, 1, 3), "close the token"},
		{"a backslash protects the end", `((a\))`, at(0, 1, 1), "close the token"},
		{"a backslash at the end", `((a\`, at(0, 1, 1), "close the token"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			_, err := template.Parse(test.text)
			var syntax *template.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %v, want a SyntaxError", err)
			}
			if diff := cmp.Diff(test.want, syntax.Position); diff != "" {
				t.Errorf("position (-want +got):\n%s", diff)
			}
			if !strings.Contains(err.Error(), test.hint) {
				t.Errorf("%q does not say %q", err, test.hint)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	parsed, err := template.Parse("é((a))\n((  b ))((c))")
	if err != nil {
		t.Fatal(err)
	}
	want := []template.Token{
		{Position: template.Position{Offset: 2, Line: 1, Column: 2}, Name: "a", NameOffset: 4},
		{Position: template.Position{Offset: 8, Line: 2, Column: 1}, Name: "b", NameOffset: 12},
		{Position: template.Position{Offset: 16, Line: 2, Column: 9}, Name: "c", NameOffset: 18},
	}
	if diff := cmp.Diff(want, parsed.Tokens()); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{"((a))": true, "(( a ))": true, " ((a))": false, "((a))((b))": false, "a": false, "": false, `\((a))`: false}
	for text, want := range tests {
		parsed, err := template.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := parsed.Whole(); got != want {
			t.Errorf("Whole of %q gave %v", text, got)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", template.MaxResult)
	tests := []struct{ reason, text, value, want string }{
		{"a template as long as may be", strings.Repeat("x", template.MaxLength), "", ""},
		{"one byte longer", strings.Repeat("x", template.MaxLength+1), "", "bytes"},
		{"as many tokens as may be", strings.Repeat("((a))", template.MaxTokens), "", ""},
		{"one token more", strings.Repeat("((a))", template.MaxTokens+1), "", "tokens"},
		{"as large a result as may be", "((a))", full, ""},
		{"one byte larger", "((a))b", full, "bytes of the result"},
		{"many large values", strings.Repeat("((a))", template.MaxTokens), full[:2000], "bytes of the result"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			parsed, err := template.Parse(test.text)
			if err == nil {
				_, err = parsed.Expand(func(template.Token) ([]byte, error) { return []byte(test.value), nil })
			}
			var limit *template.LimitError
			if !errors.As(err, &limit) {
				limit = &template.LimitError{}
			}
			if limit.What != test.want {
				t.Errorf("got %v, want an end by %q", err, test.want)
			}
		})
	}
}

func TestExpandGivesTheErrorOfLookup(t *testing.T) {
	t.Parallel()
	parsed, err := template.Parse("((a))")
	if err != nil {
		t.Fatal(err)
	}
	missing := errors.New("missing")
	if _, err := parsed.Expand(func(template.Token) ([]byte, error) { return nil, missing }); !errors.Is(err, missing) {
		t.Errorf("got %v", err)
	}
}

// No value is asked for once the result is too large.
func TestExpandEndsEarly(t *testing.T) {
	t.Parallel()
	parsed, err := template.Parse(strings.Repeat("((a))", template.MaxTokens))
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, template.MaxResult/2)
	asked := 0
	_, err = parsed.Expand(func(template.Token) ([]byte, error) {
		asked++
		return large, nil
	})
	if err == nil || asked != 3 {
		t.Errorf("%d values were asked for: %v", asked, err)
	}
}

// texts are made of what means something to a template.
func texts() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"(", "((", "(((", ")", "))", `\`, `\\`, "[", "]", "'", `"`, "a", " ", "\n", "é", "\xff"}),
		rapid.String())
	return rapid.Map(rapid.SliceOf(piece), func(pieces []string) string { return strings.Join(pieces, "") })
}

// An escaped text stands for itself.
func TestEscapeIsUndone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkEscape(t, texts().Draw(t, "text")) })
}

// What a template becomes is what its escaped parts and its tokens become, one after the other.
func TestPartsAreIndependent(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[a-z.]{1,5}`)
	rapid.Check(t, func(t *rapid.T) {
		var text, want strings.Builder
		for i := range rapid.IntRange(0, 5).Draw(t, "tokens") {
			literal, token := texts().Draw(t, "literal"), name.Draw(t, fmt.Sprint("token", i))
			// Of a row of parentheses before a token, the end of the literal must not be part.
			literal += "|"
			text.WriteString(template.Escape(literal) + "((" + token + "))")
			want.WriteString(literal + "<" + token + ">")
		}
		parsed, err := template.Parse(text.String())
		if err != nil {
			t.Fatalf("%q: %v", text.String(), err)
		}
		got, err := parsed.Expand(named)
		if err != nil || string(got) != want.String() {
			t.Fatalf("%q became %q, %v; want %q", text.String(), got, err, want.String())
		}
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func checkEscape(t fataler, text string) {
	escaped := template.Escape(text)
	parsed, err := template.Parse(escaped)
	if err != nil {
		if len(escaped) > template.MaxLength {
			return
		}
		t.Fatalf("%q, escaped %q: %v", text, escaped, err)
	}
	got, err := parsed.Expand(named)
	if err != nil || string(got) != text {
		t.Fatalf("%q, escaped %q, became %q, %v", text, escaped, got, err)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"", "((a))", `\((a))`, `\\((a))`, "f(((a)))", `((a.b[?(@.c=="))")].d))`, "((a", "((", "((((a))))", `((a\))`, `((a['\'']))`, "\xff((é))\n((b))",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkEscape(t, text)
		parsed, err := template.Parse(text)
		if err != nil {
			checkError(t, text, err)
			return
		}
		for _, token := range parsed.Tokens() {
			if !strings.HasPrefix(text[token.Offset:], "((") || !strings.HasPrefix(text[token.NameOffset:], token.Name) || token.Name == "" {
				t.Fatalf("%q: token %+v is not there", text, token)
			}
		}
		empty, err := parsed.Expand(func(template.Token) ([]byte, error) { return nil, nil })
		if err != nil || len(empty) > len(text) {
			t.Fatalf("%q without values: %q, %v", text, empty, err)
		}
		checkAgain(t, text, parsed)
	})
}

func checkError(t *testing.T, text string, err error) {
	t.Helper()
	var syntax *template.SyntaxError
	var limit *template.LimitError
	switch {
	case errors.As(err, &limit):
	case !errors.As(err, &syntax):
		t.Fatalf("%q: %v", text, err)
	case syntax.Offset < 0 || !strings.HasPrefix(text[syntax.Offset:], "(("):
		t.Fatalf("%q: nothing begins at %d: %v", text, syntax.Offset, err)
	}
}

// checkAgain writes each token anew between what is around it: the template must stay what it was.
func checkAgain(t *testing.T, text string, parsed *template.Template) {
	t.Helper()
	var values []string
	marked, err := parsed.Expand(func(token template.Token) ([]byte, error) {
		values = append(values, token.Name)
		return []byte{0}, nil
	})
	if err != nil || strings.Contains(text, "\x00") {
		return
	}
	parts := strings.Split(string(marked), "\x00")
	if len(parts) != len(values)+1 {
		t.Fatalf("%q: %d tokens, %d parts", text, len(values), len(parts))
	}
	if _, whole := parsed.Whole(); whole != (len(values) == 1 && parts[0] == "" && parts[1] == "") {
		t.Fatalf("%q: whole is %v", text, whole)
	}
}

// BenchmarkHostile parses, and expands if it may, what was made to take long.
func BenchmarkHostile(b *testing.B) {
	for name, text := range map[string]string{
		"a MiB of text":        strings.Repeat("x", 1<<20),
		"a MiB of parentheses": strings.Repeat("(", 1<<20),
		"10,000 tokens":        strings.Repeat("((a))", 10_000),
		"all tokens allowed":   strings.Repeat("((a))", template.MaxTokens),
		"one long line":        strings.Repeat(strings.Repeat("é", 28)+"((a))", template.MaxTokens),
		"escapes":              strings.Repeat(`\((`, template.MaxLength/3),
		"backslashes":          strings.Repeat(`\`, template.MaxLength),
		"parentheses":          strings.Repeat("(", template.MaxLength),
		"single parentheses":   strings.Repeat("( ", template.MaxLength/2),
		"open brackets":        "((" + strings.Repeat("[", template.MaxLength-2),
		"open quotes":          "((" + strings.Repeat("['", template.MaxLength/2-1),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parsed, err := template.Parse(text)
				if err == nil {
					_, _ = parsed.Expand(named)
				}
			}
		})
	}
}
