package generate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/generate"
)

var origin = generate.Origin{Level: generate.LevelResource, Object: `Database "my-cluster"`, Key: "service.binding/x"}

func TestParseAnnotationReads(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		key, value string
		want       string // the normal form; empty for a foreign annotation
		name       string
		reason     string
	}{
		"constant":               {"service.binding/type", "postgresql", "postgresql", "type", "a value without path= is a constant"},
		"constant with commas":   {"service.binding/hosts", "a=1,b=2", "a=1,b=2", "hosts", "only the parameters of rules make a rule"},
		"constant with braces":   {"service.binding/x", `{"a":1}`, `{"a":1}`, "x", "JSON is no expression"},
		"empty constant":         {"service.binding/x", "", "", "x", "an empty value is one"},
		"comma in braces":        {"service.binding/x", "path={.a[0,1]},optional=true", "path={.a[0,1]},optional=true", "x", "it belongs to the path"},
		"comma in quotes":        {"service.binding/x", `path={.a}{","}{.b}`, `path={.a}{","}{.b}`, "x", "it belongs to the path"},
		"brace in quotes":        {"service.binding/x", `path={.a[?(@.b=="}")].c}`, `path={.a[?(@.b=="}")].c}`, "x", "it belongs to the path"},
		"spaces":                 {"service.binding/x", " path = {.a} , objectType = Secret ", "path={.a},objectType=Secret", "x", "they mean nothing"},
		"order":                  {"service.binding/x", "objectType=Secret,path={.a}", "path={.a},objectType=Secret", "x", "it means nothing"},
		"defaults":               {"service.binding/x", "path={.a},objectType=string,elementType=string,optional=false", "path={.a}", "x", "they may be said"},
		"several expressions":    {"service.binding/x", "path=http://{.a}:{.b}/x", "path=http://{.a}:{.b}/x", "x", "a path is a template"},
		"literal name":           {"service.binding", "path=fixed,objectType=Secret", "path=fixed,objectType=Secret", "", "a template may be a text"},
		"field of each":          {"service.binding/x", "path={.a},elementType=sliceOfStrings,sourceValue=b", "path={.a},elementType=sliceOfStrings,sourceValue=b", "x", "slices with sourceValue"},
		"nameless":               {"service.binding", "path={.a},elementType=map", "path={.a},elementType=map", "", "entries as they are"},
		"foreign":                {"example.com/service.binding", "path=", "", "", "the group is another"},
		"foreign below":          {"service.binding.example.com/x", "path=", "", "", "the group is another"},
		"specification's":        {"servicebinding.io/provisioned-service", "true", "", "", "the group is another"},
		"typographic in a quote": {"service.binding/x", `path={"“"}{.a}`, `path={"“"}{.a}`, "x", "there it is meant"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule, err := generate.ParseAnnotation(test.key, test.value, origin)
			if err != nil {
				t.Fatalf("%s: %v", test.reason, err)
			}
			if rule == nil {
				if test.want != "" || test.name != "" {
					t.Fatalf("%s: the annotation is passed over", test.reason)
				}
				return
			}
			if rule.String() != test.want || rule.Name != test.name {
				t.Errorf("%s: %q named %q, want %q named %q", test.reason, rule.String(), rule.Name, test.want, test.name)
			}
		})
	}
}

// slips are annotations that are wrong, with what is said about them: the position, a part of the problem, a part of the hint.
var slips = map[string]struct {
	key, value    string
	at            int
	problem, hint string
}{
	"no slash":                {"service.bindingx", "a", -1, "goes on without a slash", "service.binding/<name>"},
	"a dot for the slash":     {"service.binding.username", "a", -1, "goes on without a slash", "service.binding/<name>"},
	"plural":                  {"service.bindings/x", "a", -1, `there is no annotation "service.bindings/"`, "service.binding/<name>"},
	"no dot":                  {"servicebinding/x", "a", -1, `there is no annotation "servicebinding/"`, "service.binding/<name>"},
	"no dot and a colon":      {"servicebinding:x", "a", -1, `there is no annotation "servicebinding:"`, "service.binding/<name>"},
	"capitals":                {"Service.Binding/x", "a", -1, `there is no annotation "Service.Binding/"`, "service.binding/<name>"},
	"a dash":                  {"service-binding/x", "a", -1, `there is no annotation "service-binding/"`, "service.binding/<name>"},
	"empty name":              {"service.binding/", "a", -1, "cannot be the name of an entry", "another name"},
	"bad name":                {"service.binding/a/b", "a", -1, `"a/b" cannot be the name of an entry`, "another name"},
	"quoted key":              {"“service.binding/x”", "a", -1, "quotes", "straight quotes"},
	"nameless constant":       {"service.binding", "postgresql", 0, "a constant needs a name", "service.binding/type"},
	"colon for equals":        {"service.binding/x", "path:{.a}", 0, "= is expected", "path={.status.host}"},
	"expression alone":        {"service.binding/x", " {.status.host}", 1, "where a constant is expected", "path={"},
	"straight quotes":         {"service.binding/x", `"path={.a}"`, 0, "begins with a quote", "take the quotes out"},
	"typographic constant":    {"service.binding/x", "“postgresql”", 0, "typographic quote", "straight quotes"},
	"typographic at the end":  {"service.binding/x", "path={.a}”", 9, "typographic quote ”", "straight quotes"},
	"typographic in value":    {"service.binding/x", "path={.a},objectType=“Secret”", 21, "typographic quote “", "straight quotes"},
	"typographic in filter":   {"service.binding/x", "path={.a[?(@.b==“c”)].d}", 16, "quoted text", "straight quotes"},
	"capital parameter":       {"service.binding/x", "path={.a},ObjectType=Secret", 10, `no parameter "ObjectType"`, "write objectType"},
	"capital path":            {"service.binding/x", "Path={.a}", 0, `no parameter "Path"`, "write path"},
	"unknown parameter":       {"service.binding/x", "path={.a},kind=Secret", 10, `no parameter "kind"`, "objectType, elementType"},
	"repeated parameter":      {"service.binding/x", "path={.a},optional=true,optional=true", 24, "there twice", "leave one out"},
	"no equals":               {"service.binding/x", "path={.a},optional", 10, `not "optional"`, "there are: path"},
	"empty parameter":         {"service.binding/x", "path={.a},", 10, "beside the comma", `{","}`},
	"empty value":             {"service.binding/x", "path={.a},objectType=", 21, "has no value", "leave it out"},
	"capital value":           {"service.binding/x", "path={.a},objectType=secret", 21, `objectType is "secret"`, "write objectType=Secret"},
	"plural value":            {"service.binding/x", "path={.a},elementType=sliceofmap", 22, `elementType is "sliceofmap"`, "sliceOfMaps"},
	"unknown value":           {"service.binding/x", "path={.a},objectType=Service", 21, `objectType is "Service"`, "there are: Secret, ConfigMap, string"},
	"unknown boolean":         {"service.binding/x", "path={.a},optional=yes", 19, `optional is "yes"`, "true, false"},
	"no path":                 {"service.binding/x", "objectType=Secret", 0, "path is missing", "path={.status.host}"},
	"empty path":              {"service.binding/x", "path=,objectType=Secret", 5, "path has no value", "give it one"},
	"no braces":               {"service.binding/x", "path=.status.host", 5, "stands in braces", "{.status.host}"},
	"open brace":              {"service.binding/x", "path={.a", 5, "brace is not closed", "{.status.field}"},
	"open quote":              {"service.binding/x", "path={.a['b}", 9, "quote ' within the braces is not closed", "close it"},
	"stray brace":             {"service.binding/x", "path=a}", 6, "never opened", `{"}"}`},
	"syntax":                  {"service.binding/x", "path={.a}-{.b[}", 14, "quoted name", ""},
	"braces in a parameter":   {"service.binding/x", "path={.a},objectType=Secret,sourceKey={.b}", 38, "no comma and no brace", "only a path"},
	"two in one brace":        {"service.binding/x", "path={.a .b}", 8, "a dot or a bracket is expected", ""},
	"two quotes in one brace": {"service.binding/x", `path={"a" "b"}`, 6, "one quoted text", `{"\n"}`},
	"end without range":       {"service.binding/x", "path={.a}{end}", 9, "no range to end", "{range .items[*]}"},
	"range without end":       {"service.binding/x", "path={range .a[*]}{.b}", 5, "not closed by {end}", `{","}`},
	"comma in a range":        {"service.binding/x", "path={range .a[*]}{.b},{end}", 23, `not "{end}"`, `{","}`},
	"root in a range":         {"service.binding/x", "path={range .a[*]}{$.b}{end}", 19, "$ means the element to kubectl", "write @"},
	"maps without key":        {"service.binding/x", "path={.a},elementType=sliceOfMaps,sourceValue=b", 22, "needs sourceKey and sourceValue", "add sourceKey="},
	"maps without value":      {"service.binding/x", "path={.a},elementType=sliceOfMaps,sourceKey=b", 22, "needs sourceKey and sourceValue", "add sourceValue="},
	"value of a string":       {"service.binding/x", "path={.a},sourceValue=b", 22, "sourceValue means nothing here", "elementType=sliceOfMaps"},
	"value of a Secret":       {"service.binding/x", "path={.a},objectType=Secret,sourceValue=b", 40, "sourceValue means nothing here", "write sourceKey=b"},
	"key of a string":         {"service.binding/x", "path={.a},sourceKey=b", 20, "sourceKey means nothing here", "objectType=Secret"},
	"key of a map of entries": {"service.binding/x", "path={.a},objectType=Secret,elementType=map,sourceKey=b", 40, "takes every entry", "leave one"},
	"slice of a template":     {"service.binding/x", "path={.a}{.b},elementType=sliceOfStrings", 5, "one expression", "path={.status.list}"},
	"nameless template":       {"service.binding", "path={.a}{.b}", 5, "does not end in a field", "give the rule a name"},
	"nameless element":        {"service.binding", "path={.a[0]}", 5, "does not end in a field", "give the rule a name"},
	"too long":                {"service.binding/x", "path={.a}" + strings.Repeat("x", generate.MaxLength), generate.MaxLength, "at most 4096 bytes", ""},
	"too many pieces":         {"service.binding/x", "path=" + strings.Repeat("{.a}", 65), 5 + 4*64, "at most 64", ""},
	"ranges too deep":         {"service.binding/x", "path=" + strings.Repeat("{range .a}", 5), 45, "at most 4 ranges", ""},
	"not UTF-8":               {"service.binding/x", "path=\xff{.a}", 5, "not UTF-8", ""},
}

func TestParseAnnotationRefuses(t *testing.T) {
	t.Parallel()
	for name, slip := range slips {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule, err := generate.ParseAnnotation(slip.key, slip.value, origin)
			var fault *generate.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("got %v and the error %v, want a *Fault", rule, err)
			}
			if fault.Position != slip.at || !strings.Contains(fault.Problem, slip.problem) || !strings.Contains(fault.Hint, slip.hint) {
				t.Errorf("got %d %q %q, want %d %q %q", fault.Position, fault.Problem, fault.Hint, slip.at, slip.problem, slip.hint)
			}
			if fault.Origin != origin || fault.Reason != generate.ReasonInvalid {
				t.Errorf("the fault is %+v", fault)
			}
		})
	}
}

func TestParseDescriptorReads(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		root, path string
		xs         []string
		want       []string
	}{
		"of the status":       {"status", "data.url", []string{"service.binding:uri"}, []string{"uri path={.status.data.url}"}},
		"of the spec":         {"spec", "data.url", []string{"service.binding:uri"}, []string{"uri path={.spec.data.url}"}},
		"an element":          {"status", "hosts[0].name", []string{"service.binding:host"}, []string{"host path={.status.hosts[0].name}"}},
		"a list":              {"status", "[0]", []string{"service.binding:host"}, []string{"host path={.status[0]}"}},
		"dashes":              {"status", "data.db-credentials", []string{"service.binding:a-b"}, []string{"a-b path={.status.data.db-credentials}"}},
		"dots in a key":       {"status", `labels['a.b']`, []string{"service.binding:x"}, []string{`x path={.status.labels.a\.b}`}},
		"a tab in a key":      {"status", "labels['a}\t']", []string{"service.binding:x"}, []string{"x path={.status.labels.a\\}\\\t}"}},
		"nameless":            {"status", "secret", []string{objectURN + "Secret", "service.binding"}, []string{" path={.status.secret},objectType=Secret"}},
		"nameless with entry": {"status", "secret", []string{objectURN + "Secret", "service.binding:sourceKey=user"}, []string{" path={.status.secret},objectType=Secret,sourceKey=user"}},
		"type as a parameter": {"status", "secret", []string{"service.binding:objectType=Secret"}, []string{" path={.status.secret},objectType=Secret"}},
		"other kinds":         {"status", "service", []string{objectURN + "Service", "service.binding:x"}, []string{"x path={.status.service}"}},
		"several": {
			"status", "secret", []string{"service.binding:user:sourceKey=u", objectURN + "Secret", "service.binding:password:sourceKey=p:optional=true"},
			[]string{"user path={.status.secret},objectType=Secret,sourceKey=u", "password path={.status.secret},objectType=Secret,sourceKey=p,optional=true"},
		},
		"something else": {"status", "", []string{"urn:alm:descriptor:text", "urn:alm:descriptor:servicebindingrequest:env:attribute", "servicebindingrequest:x"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, err := generate.ParseDescriptor(generate.Descriptor{Root: test.root, Path: test.path, XDescriptors: test.xs}, origin)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, rule := range rules {
				got = append(got, rule.Name+" "+rule.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const objectURN = "urn:alm:descriptor:io.kubernetes:"

func TestParseDescriptorRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		path          string
		xs            []string
		at            int
		problem, hint string
	}{
		"no dot":               {"a", []string{"servicebinding:x"}, 0, `no descriptor "servicebinding:"`, "service.binding:<name>"},
		"a slash":              {"a", []string{"service.binding/x"}, 0, `no descriptor "service.binding/"`, "service.binding:<name>"},
		"plural":               {"a", []string{"service.bindings:x"}, 0, `no descriptor "service.bindings:"`, "service.binding:<name>"},
		"quotes":               {"a", []string{"“service.binding:x”"}, 0, "quotes or spaces around it", "straight quotes"},
		"quotes within":        {"a", []string{"service.binding:x:sourceKey=“y”"}, 28, "typographic quote “", "straight quotes"},
		"nothing after colon":  {"a", []string{"service.binding:"}, 16, "after the colon", "leave the colon out"},
		"two names":            {"a", []string{"service.binding:x:y"}, 18, `not "y"`, "there are: path"},
		"bad name":             {"a", []string{"service.binding:x/y"}, 16, `"x/y" cannot be the name`, "another name"},
		"commas":               {"a", []string{"service.binding:x:sourceKey=a,elementType=map"}, 29, "no comma", "separated by colons"},
		"path":                 {"a", []string{"service.binding:x:path={.a}"}, 18, "has its path beside it", "leave the parameter path out"},
		"capitals of the kind": {"a", []string{objectURN + "secret", "service.binding:x"}, -1, `no kind "secret"`, objectURN + "Secret"},
		"two kinds":            {"a", []string{objectURN + "Secret", objectURN + "ConfigMap", "service.binding"}, -1, "a Secret and a ConfigMap at once", "leave one"},
		"empty path":           {"", []string{"service.binding:x"}, 0, "path is empty", "field of the status"},
		"braces":               {"{.a}", []string{"service.binding:x"}, 0, "no braces", "data.url"},
		"leading dot":          {" .a", []string{"service.binding:x"}, 0, "begins with a field of the status", "data.url"},
		"syntax":               {"a.b[", []string{"service.binding:x"}, 4, "a quoted name", ""},
		"syntax after spaces":  {"  a.b[", []string{"service.binding:x"}, 6, "a quoted name", ""},
		"maps without key":     {"a", []string{"service.binding:x:elementType=sliceOfMaps"}, 30, "needs sourceKey", "add sourceKey"},
		"nameless element":     {"a[0]", []string{"service.binding"}, -1, "does not end in a field", "name"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := generate.Origin{Level: generate.LevelVersion, Object: "db.v1", Key: "spec.x[0]"}
			_, err := generate.ParseDescriptor(generate.Descriptor{Root: "status", Path: test.path, XDescriptors: test.xs}, at)
			var fault *generate.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("the error is %v, want a *Fault", err)
			}
			if fault.Position != test.at || !strings.Contains(fault.Problem, test.problem) || !strings.Contains(fault.Hint, test.hint) {
				t.Errorf("got %d %q %q, want %d %q %q", fault.Position, fault.Problem, fault.Hint, test.at, test.problem, test.hint)
			}
			if !strings.HasPrefix(fault.Error(), `ClusterServiceVersion "db.v1", spec.x[0].`) {
				t.Errorf("the error does not name the place: %v", fault)
			}
		})
	}
}
