package catalogue_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

var update = flag.Bool("update", false, "write docs/reference/types.md anew")

const (
	page = "../../docs/reference/types.md"

	pageHead = `# Types

What bindings of each type hold: their entries, how these are spelled, which libraries read which, and who emits what. This page is
made from the catalogue, ` + "`bindings/catalogue/catalogue.json`" + `: run ` + "`go test ./bindings/catalogue -run TestPage -update`" + ` after changing
it. [The library](bindings.md) reads every spelling; [bowline check](check.md) says what is missing.

It collects what is known, and is no measurement: libraries and producers were not run, and may have changed since. What is not listed is
not wrong: the specification leaves the entries of a type open.

## Well-known entries

The specification's own, whatever the type. A value that is something else MUST have another name.

| entry | rule | is |
|---|---|---|
`
	pageRules = `
## Rules

White space around a value does not count, but for text.

| rule | a value is |
|---|---|
| ` + "`text`" + ` | text in UTF-8 without control characters; a line break at its end does not count |
| ` + "`host`" + ` | a host name or an IP address |
| ` + "`port`" + ` | a number from 1 to 65535 |
| ` + "`uri`" + ` | an absolute URI by RFC 3986 |
| ` + "`connection`" + ` | what clients take for a URI: one with several hosts, or with jdbc: before it, too |
| ` + "`servers`" + ` | hosts with or without ports, separated by commas |
| ` + "`boolean`" + ` | true or false |
| ` + "`integer`" + ` | a number that is not negative |
| ` + "`one-of`" + ` | one of the values listed |
| ` + "`file`" + ` | the name of another entry of the same binding |
| ` + "`pem-certificates`" + ` | X.509 certificates in PEM, 768 KiB at most |
| ` + "`pem-key`" + ` | a private key in PEM that is not encrypted, 64 KiB at most |
| ` + "`binary`" + ` | anything |

## Libraries

| library | language | how it reads |
|---|---|---|
`
)

func TestPage(t *testing.T) {
	t.Parallel()
	want := pageOf(catalogue.Default())
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not current; run: go test ./bindings/catalogue -run TestPage -update (-want +got):\n%s", page, diff)
	}
}

func pageOf(c *catalogue.Catalogue) string {
	var out strings.Builder
	out.WriteString(pageHead)
	for _, e := range c.WellKnown {
		fmt.Fprintf(&out, "| `%s` | `%s` | %s |\n", e.Name, e.Rule, e.Description)
	}
	out.WriteString(pageRules)
	for _, l := range c.Libraries {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", l.Name, l.Language, l.Description)
	}
	for i := range c.Types {
		writeType(&out, &c.Types[i])
	}
	return out.String()
}

func writeType(out *strings.Builder, kind *catalogue.Type) {
	fmt.Fprintf(out, "\n## %s\n\nFor %s.", kind.Name, kind.Description)
	if len(kind.Aliases) > 0 {
		fmt.Fprintf(out, " Also called %s.", words(kind.Aliases))
	}
	if len(kind.Instead) > 0 {
		fmt.Fprintf(out, " %s can stand for all that is needed.", words(kind.Instead))
	}
	out.WriteString("\n\n| entry | also spelled | needed | rule | is |\n|---|---|---|---|---|\n")
	for _, e := range kind.Entries {
		needed, rule := "", "`"+string(e.Rule)+"`"
		if e.Required {
			needed = "yes"
		}
		if len(e.Values) > 0 {
			rule = words(e.Values)
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s |\n", e.Name, words(e.Alternatives), needed, rule, e.Description)
	}
	if len(kind.Consumers) > 0 {
		out.WriteString("\n| library | reads | needs | note |\n|---|---|---|---|\n")
	}
	for _, c := range kind.Consumers {
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", c.Library, words(c.Reads), needs(c.Needs), c.Note)
	}
	if len(kind.Producers) > 0 {
		out.WriteString("\n| producer | emits | note |\n|---|---|---|\n")
	}
	for _, p := range kind.Producers {
		fmt.Fprintf(out, "| %s | %s | %s |\n", p.Name, words(p.Emits), p.Note)
	}
}

func words(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, name := range names {
		quoted = append(quoted, "`"+name+"`")
	}
	return strings.Join(quoted, ", ")
}

func needs(sets [][]string) string {
	parts := make([]string, 0, len(sets))
	for _, set := range sets {
		parts = append(parts, strings.ReplaceAll(words(set), ", ", " and "))
	}
	return strings.Join(parts, ", or ")
}
