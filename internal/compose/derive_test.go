package compose_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/internal/compose"
	"github.com/bowline-dev/bowline/projection"
)

func bytesOf(texts map[string]string) map[string][]byte {
	data := make(map[string][]byte, len(texts))
	for key, text := range texts {
		data[key] = []byte(text)
	}
	return data
}

func textsOf(data map[string][]byte) map[string]string {
	texts := make(map[string]string, len(data))
	for key, value := range data {
		texts[key] = string(value)
	}
	return texts
}

// draftSecret is what the service of the draft's examples provides.
func draftSecret() map[string]string {
	return map[string]string{
		"type": "mysql", "provider": "bitnami", "host": "localhost", "port": "3306", "username": "root", "password": "r00t", "path": "accounts",
	}
}

func with(base map[string]string, more map[string]string) map[string]string {
	all := maps.Clone(base)
	maps.Copy(all, more)
	return all
}

// draftURI is the draft's own mapping, and what it becomes.
var draftURI = compose.Mapping{Name: "accountServiceUri", Value: "https://((username)):((password))@((host)):((port))/((path))"}

const draftURIValue = "https://root:r00t@localhost:3306/accounts"

var derivations = []struct {
	reason    string
	source    map[string]string
	templates compose.Templates
	data      map[string]string
	kind      string
	env       []projection.Env
}{
	{
		reason: "the draft's Mapping Existing Values to New Values",
		source: draftSecret(), templates: compose.Templates{Provider: "vmware", Mappings: []compose.Mapping{draftURI}},
		data: with(draftSecret(), map[string]string{"provider": "vmware", "accountServiceUri": draftURIValue}), kind: "servicebinding.io/mysql",
	},
	{
		reason: "the draft's Binding Values as Environment Variables",
		source: with(draftSecret(), map[string]string{"accountServiceUri": draftURIValue}),
		templates: compose.Templates{Env: []compose.Variable{
			{Name: "ACCOUNT_SERVICE_HOST", Value: "((host))"}, {Name: "ACCOUNT_SERVICE_USERNAME", Value: "((username))"},
			{Name: "ACCOUNT_SERVICE_PASSWORD", Value: "((password))"}, {Name: "ACCOUNT_SERVICE_URI", Value: "((accountServiceUri))"},
		}},
		data: with(draftSecret(), map[string]string{"accountServiceUri": draftURIValue}), kind: "servicebinding.io/mysql",
		env: []projection.Env{
			{Name: "ACCOUNT_SERVICE_HOST", Key: "host"}, {Name: "ACCOUNT_SERVICE_USERNAME", Key: "username"},
			{Name: "ACCOUNT_SERVICE_PASSWORD", Key: "password"}, {Name: "ACCOUNT_SERVICE_URI", Key: "accountServiceUri"},
		},
	},
	{
		reason: "a variable sees what mappings made",
		source: draftSecret(), templates: compose.Templates{Mappings: []compose.Mapping{draftURI}, Env: []compose.Variable{{Name: "URI", Value: "(( accountServiceUri ))"}}},
		data: with(draftSecret(), map[string]string{"accountServiceUri": draftURIValue}), kind: "servicebinding.io/mysql",
		env: []projection.Env{{Name: "URI", Key: "accountServiceUri"}},
	},
	{
		reason: "a mapping of an entry's name reads the source's, whatever the order",
		source: map[string]string{"uri": "db://h"},
		templates: compose.Templates{
			Mappings: []compose.Mapping{{Name: "copy", Value: "((uri))"}, {Name: "uri", Value: "((uri))?ssl=true"}},
			Env:      []compose.Variable{{Name: "URI", Value: "((uri))"}},
		},
		data: map[string]string{"uri": "db://h?ssl=true", "copy": "db://h"}, kind: "Opaque", env: []projection.Env{{Name: "URI", Key: "uri"}},
	},
	{
		reason: "mappings need each other in any order",
		source: map[string]string{"host": "h"},
		templates: compose.Templates{Mappings: []compose.Mapping{
			{Name: "c", Value: "((b))((b))"}, {Name: "b", Value: "((a)).((a))"}, {Name: "a", Value: "<((host))>"},
		}},
		data: map[string]string{"host": "h", "a": "<h>", "b": "<h>.<h>", "c": "<h>.<h><h>.<h>"}, kind: "Opaque",
	},
	{
		reason: "type and provider are replaced before mappings see them",
		source: draftSecret(), templates: compose.Templates{Type: "postgresql", Mappings: []compose.Mapping{{Name: "what", Value: "((type)) by ((provider))"}}},
		data: with(draftSecret(), map[string]string{"type": "postgresql", "what": "postgresql by bitnami"}), kind: "servicebinding.io/postgresql",
	},
	{
		reason: "a mapping may make the type",
		source: map[string]string{"engine": "redis"}, templates: compose.Templates{Mappings: []compose.Mapping{{Name: "type", Value: "((engine))"}}},
		data: map[string]string{"engine": "redis", "type": "redis"}, kind: "servicebinding.io/redis",
	},
	{
		reason: "a type that is no word is no part of the Secret's type",
		source: map[string]string{"type": "a\nb"}, data: map[string]string{"type": "a\nb"}, kind: "Opaque",
	},
	{
		reason: "the end of a line does not count in the Secret's type", source: map[string]string{"type": "redis\n"},
		data: map[string]string{"type": "redis\n"}, kind: "servicebinding.io/redis",
	},
	{
		reason: "bytes that are no text are kept",
		source: map[string]string{"key": "\xff\x00\xfe"},
		templates: compose.Templates{
			Mappings: []compose.Mapping{{Name: "same", Value: "((key))"}, {Name: "longer", Value: "<((key))>"}}, Env: []compose.Variable{{Name: "KEY", Value: "((key))"}},
		},
		data: map[string]string{"key": "\xff\x00\xfe", "same": "\xff\x00\xfe", "longer": "<\xff\x00\xfe>"}, kind: "Opaque",
		env: []projection.Env{{Name: "KEY", Key: "key"}},
	},
	{
		reason: "a variable that is more than a token gets an entry, of a name that is free",
		source: map[string]string{"host": "h", "env-db-url": "taken"},
		templates: compose.Templates{Env: []compose.Variable{
			{Name: "DB_URL", Value: "db://((host))"}, {Name: "db-url", Value: "constant"}, {Name: "db.url", Value: ""},
		}},
		data: map[string]string{"host": "h", "env-db-url": "taken", "env-db-url-2": "db://h", "env-db-url-3": "constant", "env-db.url": ""}, kind: "Opaque",
		env: []projection.Env{{Name: "DB_URL", Key: "env-db-url-2"}, {Name: "db-url", Key: "env-db-url-3"}, {Name: "db.url", Key: "env-db.url"}},
	},
	{
		reason:    "the entry of a long name has a key that fits",
		templates: compose.Templates{Env: []compose.Variable{{Name: strings.Repeat("A", 300), Value: "x"}, {Name: strings.Repeat("A", 301), Value: "y"}}},
		data:      map[string]string{"env-" + strings.Repeat("a", 236): "x", "env-" + strings.Repeat("a", 236) + "-2": "y"}, kind: "Opaque",
		env: []projection.Env{
			{Name: strings.Repeat("A", 300), Key: "env-" + strings.Repeat("a", 236)}, {Name: strings.Repeat("A", 301), Key: "env-" + strings.Repeat("a", 236) + "-2"},
		},
	},
	{
		reason: "escapes", source: map[string]string{"a": "b"},
		templates: compose.Templates{Mappings: []compose.Mapping{{Name: "c", Value: `\((a)) \\((a))`}}},
		data:      map[string]string{"a": "b", "c": `((a)) \b`}, kind: "Opaque",
	},
}

func TestDerive(t *testing.T) {
	t.Parallel()
	for _, test := range derivations {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got, err := compose.Derive(bytesOf(test.source), test.templates)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.data, textsOf(got.Data)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.env, got.Env); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
			if got.SecretType != test.kind {
				t.Errorf("Secret's type %q, want %q", got.SecretType, test.kind)
			}
		})
	}
}

// mappings are templates of names and values in turn.
func mappings(namesAndValues ...string) compose.Templates {
	var all compose.Templates
	for i := 0; i < len(namesAndValues); i += 2 {
		all.Mappings = append(all.Mappings, compose.Mapping{Name: namesAndValues[i], Value: namesAndValues[i+1]})
	}
	return all
}

func TestDeriveFaults(t *testing.T) {
	t.Parallel()
	source := map[string][]byte{"host": []byte("hidden"), "port": []byte("hidden")}
	tests := []struct {
		reason    string
		templates compose.Templates
		want      []string
	}{
		{"an unknown entry", mappings("a", "x\n ((hots))", "b", ""), []string{
			`spec.mappings[0].value, line 2, column 2: there is no entry "hots"; entries to name are: a, b, host, port`,
		}},
		{"all that is wrong is told", compose.Templates{
			Mappings: []compose.Mapping{{Name: "a", Value: "((x)) ((y))"}, {Name: "b", Value: "((a))"}},
			Env:      []compose.Variable{{Name: "A", Value: "((z))"}, {Name: "B", Value: "-((w))"}, {Name: "C", Value: "((b))"}},
		}, []string{
			`spec.mappings[0].value, line 1, column 1: there is no entry "x"; entries to name are: a, b, host, port`,
			`spec.mappings[0].value, line 1, column 7: there is no entry "y"; entries to name are: a, b, host, port`,
			`spec.env[0].value, line 1, column 1: there is no entry "z"; entries to name are: a, b, host, port`,
			`spec.env[1].value, line 1, column 2: there is no entry "w"; entries to name are: a, b, host, port`,
		}},
		{"a mapping that needs itself", mappings("a", "((a))"), []string{
			"spec.mappings[0].value, line 1, column 1: the Secret has no entry of this name, and the mapping of this name needs itself: a -> a; " +
				"let one of these mappings do without the others",
		}},
		{"a circle is told once, without what leads there", mappings("z", "((a))", "a", "-((b))", "b", "((c))", "c", "((a))((host))"), []string{
			"spec.mappings[3].value, line 1, column 1: the Secret has no entry of this name, and the mapping of this name needs itself: " +
				"a -> b -> c -> a; let one of these mappings do without the others",
		}},
		{"too large together", mappings("a", strings.Repeat("x", 65_000), "b", strings.Repeat("((a))", 17), "c", "((b))"), []string{
			"spec.mappings[1].value: all values together have more than 1048576 bytes, which is what a Secret holds; take fewer or smaller values",
		}},
		{"too large is told once, and what is unknown is told, too", mappings(
			"a", strings.Repeat("x", 65_000), "b", strings.Repeat("((a))", 10), "c", strings.Repeat("((a))", 10), "d", "x", "e", "((nope))",
		), []string{
			"spec.mappings[2].value: all values together have more than 1048576 bytes, which is what a Secret holds; take fewer or smaller values",
			`spec.mappings[4].value, line 1, column 1: there is no entry "nope"; entries to name are: a, b, c, d, e, host, port`,
		}},
		{"templates with too many tokens are not looked at", mappings("a", strings.Repeat("((host))", 600), "b", strings.Repeat("((nope))", 600), "c", "((nope))"), []string{
			"spec.mappings[1].value: with this template there are more than 1000 tokens in all; use fewer",
		}},
		{"what admission would refuse", mappings("a/b", "((host"), []string{
			"spec.mappings[0].name: a valid config key must consist of alphanumeric characters, '-', '_' or '.' " +
				"(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+'); use a key that a Secret can hold",
			"spec.mappings[0].value, line 1, column 1: )) is expected to end the token that begins here, the text ended first; " +
				`close the token with )), or write \(( for the two parentheses themselves`,
		}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			_, err := compose.Derive(source, test.templates)
			if diff := cmp.Diff(test.want, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// faultsOf are the texts of all faults, each of which has a hint or is about an empty field.
func faultsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var faults compose.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want Faults", err)
	}
	var texts []string
	for _, fault := range faults {
		texts = append(texts, fault.Error())
	}
	return texts
}

func TestDeriveTooLargeWithTheSource(t *testing.T) {
	t.Parallel()
	source := map[string][]byte{"a": make([]byte, compose.MaxSize-10)}
	templates := compose.Templates{Mappings: []compose.Mapping{{Name: "b", Value: "0123456789"}}}
	if _, err := compose.Derive(source, templates); err != nil {
		t.Errorf("what fits gave %v", err)
	}
	templates.Mappings[0].Value += "x"
	_, err := compose.Derive(source, templates)
	want := []string{"spec: all values together have more than 1048576 bytes, which is what a Secret holds; take fewer or smaller values"}
	if diff := cmp.Diff(want, faultsOf(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	// A variable that refers to an entry makes no other.
	refers := compose.Templates{Env: []compose.Variable{{Name: "A", Value: "((a))"}, {Name: "B", Value: "((a))"}}}
	if _, err := compose.Derive(source, refers); err != nil {
		t.Errorf("references gave %v", err)
	}
}

func TestNamesInFaultsAreLimited(t *testing.T) {
	t.Parallel()
	source := map[string][]byte{}
	for _, a := range "abcde" {
		for _, b := range "vwxyz" {
			source[string([]rune{a, b})] = nil
		}
	}
	_, err := compose.Derive(source, compose.Templates{Env: []compose.Variable{{Name: "A", Value: "((none))"}}})
	if err == nil || !strings.HasSuffix(err.Error(), "dx, dy, dz and 5 more") {
		t.Errorf("got %v", err)
	}
	long := compose.Templates{Mappings: []compose.Mapping{
		{Name: strings.Repeat("é", 10_000), Value: "((" + strings.Repeat("é", 10_000) + "))"},
	}}
	if _, err := compose.Derive(nil, long); len(err.Error()) > 1000 || !utf8.ValidString(err.Error()) {
		t.Errorf("%d bytes of error: %.1000q", len(err.Error()), err)
	}
	if err := compose.CheckTemplates(long, field.NewPath("spec")).ToAggregate(); len(err.Error()) > 1000 || !utf8.ValidString(err.Error()) {
		t.Errorf("%d bytes of error: %.1000q", len(err.Error()), err)
	}
	many := compose.Templates{Env: slices.Repeat([]compose.Variable{{Name: "A", Value: strings.Repeat("((", 9)}}, 100)}
	if _, err := compose.Derive(nil, many); len(err.Error()) > 4000 {
		t.Errorf("%d bytes of error", len(err.Error()))
	}
}

var checks = []struct {
	reason    string
	templates compose.Templates
	want      []string
}{
	{"the draft's", compose.Templates{
		Mappings: []compose.Mapping{{Name: "accountServiceUri", Value: "https://((username)):((password))@((host)):((port))/((path))"}},
		Env:      []compose.Variable{{Name: "ACCOUNT_SERVICE_URI", Value: "((accountServiceUri))"}},
	}, nil},
	{"a circle may be broken by the Secret", compose.Templates{Mappings: []compose.Mapping{{Name: "a", Value: "((a))"}}}, nil},
	{"names are required", compose.Templates{Mappings: []compose.Mapping{{}, {}}, Env: []compose.Variable{{}}}, []string{
		"spec.mappings[0].name: Required value: must name the entry to make",
		"spec.mappings[1].name: Required value: must name the entry to make",
		"spec.env[0].name: Required value: must name the environment variable to set",
	}},
	{"names are taken once", compose.Templates{
		Mappings: []compose.Mapping{{Name: "a"}, {Name: "a"}}, Env: []compose.Variable{{Name: "A"}, {Name: "A"}},
	}, []string{
		`spec.mappings[1].name: Duplicate value: "a": another mapping makes this entry; give each mapping a name of its own`,
		`spec.env[1].name: Duplicate value: "A": another item sets this variable; give each item a name of its own`,
	}},
	{"names that Kubernetes refuses", compose.Templates{Env: []compose.Variable{{Name: "A=B"}, {Name: "SERVICE_BINDING_ROOT", Value: "/x"}}}, []string{
		`spec.env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='; ` +
			"choose a name that a container accepts",
		`spec.env[1].name: Invalid value: "SERVICE_BINDING_ROOT": must not be SERVICE_BINDING_ROOT, which names the directory of all bindings; choose another variable`,
	}},
	{"a token that no Secret has", compose.Templates{Env: []compose.Variable{{Name: "A", Value: "é((a.b[0]))"}}}, []string{
		`spec.env[0].value: Invalid value: "((a.b[0]))": line 1, column 2: no Secret can have an entry "a.b[0]"; ` +
			"name an entry with letters, digits, '-', '_' and '.'",
	}},
	{"syntax", compose.Templates{Env: []compose.Variable{{Name: "A", Value: "x(())"}}}, []string{
		`spec.env[0].value: Invalid value: "(())": line 1, column 2: a name is expected between (( and )), none was found; ` +
			`name an entry, such as ((host)), or write \(( for the two parentheses themselves`,
	}},
	{"type and a mapping of it", compose.Templates{
		Type: "a", Provider: "b", Mappings: []compose.Mapping{{Name: "type", Value: "a"}, {Name: "provider", Value: "a"}},
	}, []string{
		`spec.mappings[0].name: Invalid value: "type": must not be "type" while spec.type is set, which says the same; remove one of the two`,
		`spec.mappings[1].name: Invalid value: "provider": must not be "provider" while spec.provider is set, which says the same; remove one of the two`,
	}},
	{"a long template", compose.Templates{Env: []compose.Variable{{Name: "A", Value: strings.Repeat("x", 65_537)}}}, []string{
		`spec.env[0].value: Invalid value: "": more than 65536 bytes; make it smaller, or split it`,
	}},
	{"many tokens in all", compose.Templates{Mappings: []compose.Mapping{
		{Name: "a", Value: strings.Repeat("((x))", 600)}, {Name: "b", Value: strings.Repeat("((x))", 600)}, {Name: "c", Value: strings.Repeat("((x))", 600)},
	}}, []string{"spec.mappings[1].value: Forbidden: with this template there are more than 1000 tokens in all; use fewer"}},
	{"many mappings and variables", compose.Templates{Mappings: make([]compose.Mapping, 257), Env: make([]compose.Variable, 257)}, []string{
		"spec.mappings: Forbidden: 257 items, at most 256 are allowed; split it into several objects",
		"spec.env: Forbidden: 257 items, at most 256 are allowed; split it into several objects",
	}},
}

func TestCheckTemplates(t *testing.T) {
	t.Parallel()
	for _, test := range checks {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, err := range compose.CheckTemplates(test.templates, field.NewPath("spec")) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// The order of mappings makes no difference to the entries.
func TestDeriveIsFreeOfOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pool := []string{"a", "b", "c", "d", "e", "f"}
		source := map[string][]byte{"s": []byte("\xff1"), "a": []byte("2")}
		all := make([]compose.Mapping, 0, len(pool))
		for i, name := range pool {
			// Names before one's own, and the source's: no circles.
			tokens := rapid.SliceOfN(rapid.SampledFrom(append([]string{"s"}, pool[:i]...)), 0, 3).Draw(t, "tokens")
			var value strings.Builder
			for _, token := range tokens {
				value.WriteString("-((" + token + "))")
			}
			all = append(all, compose.Mapping{Name: name, Value: value.String()})
		}
		want, err := compose.Derive(source, compose.Templates{Mappings: all})
		if err != nil {
			t.Fatal(err)
		}
		got, err := compose.Derive(source, compose.Templates{Mappings: rapid.Permutation(all).Draw(t, "order")})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("another order (-want +got):\n%s", diff)
		}
	})
}
