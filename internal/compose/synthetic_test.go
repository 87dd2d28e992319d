package compose_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/compose"
	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// resource reads "id | apiVersion | kind | name | object as YAML"; the object's numbers are as the API server gives them.
func resource(t *testing.T, text string) compose.Source {
	t.Helper()
	parts := strings.SplitN(text, "|", 5)
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	source := compose.Source{ID: parts[0], APIVersion: parts[1], Kind: parts[2], Name: parts[3]}
	if len(parts) == 5 {
		if err := yaml.Unmarshal([]byte(parts[4]), &source.Object); err != nil {
			t.Fatal(err)
		}
		source.Object, _ = whole(source.Object).(map[string]any)
	}
	return source
}

func whole(value any) any {
	switch v := value.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = whole(v[key])
		}
	}
	return value
}

const (
	draftCluster = "| event.stream/v1beta1 | Cluster | prod-kafka-cluster | {url: 'kafka.example.com:9092'}"
	draftUser    = "| event.stream/v1beta1 | User | prod-kafka-user | {username: ada}"
	// The entries are: host and port, a password with bytes that are no text, a certificate whose key has a dot, and a type.
	database = `|v1|Secret|db| {apiVersion: v1, kind: Secret, metadata: {name: db}, type: servicebinding.io/mysql,
		data: {host: aG9zdA==, password: /wD+, tls.crt: Q0VSVA==, type: bXlzcWw=}}`
	settings = `settings|v1|ConfigMap|db.settings| {apiVersion: v1, kind: ConfigMap, metadata: {name: db.settings, labels: {b: "1", a: <x>}},
		data: {mode: fast}, binaryData: {blob: /wD+}}`
	cluster = `|db.example.com/v1|Cluster|main| {apiVersion: db.example.com/v1, kind: Cluster, spec: {size: 3, ratio: 0.5, tls: true, none: null},
		status: {hosts: [{name: a, port: 1}, {name: b, port: 2}], big: 12345678, text: " <é> "}}`
)

var syntheses = []struct {
	reason  string
	sources []string
	input   compose.Synthetic
	want    map[string]string
	kind    string
}{
	{
		reason: "the draft's Synthetic Provisioned Service", sources: []string{draftCluster, draftUser},
		input: compose.Synthetic{Type: "Kafka", Mappings: []compose.Mapping{
			{Name: "event-streams-url", Value: "((prod-kafka-cluster.url))/?username=((prod-kafka-user.username))"},
		}},
		want: map[string]string{"type": "Kafka", "event-streams-url": "kafka.example.com:9092/?username=ada"}, kind: "servicebinding.io/Kafka",
	},
	{
		reason: "without mappings there are type and provider", sources: []string{draftUser}, input: compose.Synthetic{Type: "a b", Provider: "c"},
		want: map[string]string{"type": "a b", "provider": "c"}, kind: "Opaque",
	},
	{
		reason: "a Secret's data is decoded, with and without data", sources: []string{database},
		input: compose.Synthetic{Provider: "me", Mappings: []compose.Mapping{
			{Name: "type", Value: "((db.data.type))"}, {Name: "url", Value: "db://((db.host)):1"}, {Name: "password", Value: "((db.data.password))"},
			{Name: "direct", Value: "((db.password))"}, {Name: "within", Value: "<((db.password))>"}, {Name: "dotted", Value: `((db['tls.crt']))((db.data.tls\.crt))`},
			{Name: "own", Value: "((db.metadata.name)) ((db.kind))"},
		}},
		want: map[string]string{
			"type": "mysql", "provider": "me", "url": "db://host:1", "password": "\xff\x00\xfe", "direct": "\xff\x00\xfe", "within": "<\xff\x00\xfe>",
			"dotted": "CERTCERT", "own": "db Secret",
		},
		kind: "servicebinding.io/mysql",
	},
	{
		reason: "a ConfigMap has binary data, too; its name has a dot", sources: []string{database, settings},
		input: compose.Synthetic{Type: "x", Mappings: []compose.Mapping{
			{Name: "a", Value: "((settings.mode)) ((db.settings.data.mode)) ((db.host))"}, {Name: "b", Value: "((settings.data.blob))"},
			{Name: "c", Value: "((db.settings['blob']))((settings.binaryData.blob))"}, {Name: "d", Value: "((settings.metadata.labels))"},
		}},
		want: map[string]string{"type": "x", "a": "fast fast host", "b": "\xff\x00\xfe", "c": "\xff\x00\xfe\xff\x00\xfe", "d": `{"a":"<x>","b":"1"}`},
		kind: "servicebinding.io/x",
	},
	{
		reason: "values of other types, and several", sources: []string{cluster},
		input: compose.Synthetic{Type: "x", Mappings: []compose.Mapping{
			{Name: "scalars", Value: "((main.spec.size)),((main.spec.ratio)),((main.spec.tls)),((main.status.big))"}, {Name: "text", Value: "((main.status.text))"},
			{Name: "list", Value: "((main.status.hosts))"}, {Name: "several", Value: "((main.status.hosts[*].name))"},
			{Name: "objects", Value: `((main.status.hosts[?(@.port>1)]))`}, {Name: "spec", Value: "((main.spec))"},
		}},
		want: map[string]string{
			"type": "x", "scalars": "3,0.5,true,12345678", "text": " <é> ", "list": `[{"name":"a","port":1},{"name":"b","port":2}]`, "several": "a b",
			"objects": `{"name":"b","port":2}`, "spec": `{"none":null,"ratio":0.5,"size":3,"tls":true}`,
		},
		kind: "servicebinding.io/x",
	},
	{
		reason:  "an id wins over a name, the longer name over the shorter",
		sources: []string{"|e/v1|K|b.c|{v: 3}", "a|e/v1|K|b|{v: 1}", "b|e/v1|K|c|{v: 2}", "|e/v1|L|d|{v: 4}", "d|e/v1|M|d|{v: 5}"},
		input: compose.Synthetic{Type: "x", Mappings: []compose.Mapping{
			{Name: "e", Value: "((a.v))((b.v))((c.v))((b.c.v))((b.c['v']))((d.v))"},
		}},
		want: map[string]string{"type": "x", "e": "122335"}, kind: "servicebinding.io/x",
	},
	{
		reason:  "only core Secrets and ConfigMaps are decoded",
		sources: []string{"|e/v1|Secret|a|{data: {a: YQ==}}", "|v1|Pod|b|{data: {a: YQ==}}"},
		input:   compose.Synthetic{Type: "x", Mappings: []compose.Mapping{{Name: "e", Value: "((a.data.a)) ((b.data.a))"}}},
		want:    map[string]string{"type": "x", "e": "YQ== YQ=="}, kind: "servicebinding.io/x",
	},
}

func TestSynthesize(t *testing.T) {
	t.Parallel()
	for _, test := range syntheses {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			input := test.input
			for _, text := range test.sources {
				input.Sources = append(input.Sources, resource(t, text))
			}
			if errs := compose.CheckSynthetic(input, field.NewPath("spec")); len(errs) > 0 {
				t.Errorf("admission refuses it: %v", errs)
			}
			got, err := compose.Synthesize(input)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, textsOf(got.Data)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if got.SecretType != test.kind {
				t.Errorf("Secret's type %q, want %q", got.SecretType, test.kind)
			}
		})
	}
}

func TestSynthesizeFaults(t *testing.T) {
	t.Parallel()
	sources := []string{
		database, settings, cluster, `|v1|Secret|odd| {kind: Secret, data: {bad: "%hidden", good: YQ==}}`,
		`|v1|Secret|raw| {kind: Secret, data: {blob: /wD+}}`,
	}
	const value = "spec.mappings[0].value, line 1, column "
	const look = "look at the resource with kubectl get -o yaml, and correct the path"
	tests := []struct {
		reason, template string
		want             []string
	}{
		{"nothing is there", "((db.nope)) ((main.status.nope))", []string{
			value + `1: Secret "db": nothing is at .nope; its entries are: host, password, tls.crt, type`,
			value + `13: Cluster "main": nothing is at .status.nope; ` + look,
		}},
		{"null", "((main.spec.none))", []string{value + `1: Cluster "main": the value is null; ` + look}},
		{"a path through a string", "((db.data.host.name))", []string{
			value + `1: Secret "db": path ".data.host.name": /data/host is a string, which has no field "name"; ` +
				"its entries are: host, password, tls.crt, type",
		}},
		{"a field of a Secret that is also an entry", "((db.type))", []string{
			value + `1: Secret "db": "type" is the name of a field and of an entry; put .data before it to take the entry`,
		}},
		{"a Secret that is broken", "((odd.good))", []string{value + `1: Secret "odd": data["bad"] is not base64; correct the resource`}},
		{"bytes within JSON", "((raw.data))", []string{
			value + `1: Secret "raw": the value holds bytes that are no text, which JSON cannot have; take each entry by itself`,
		}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			input := compose.Synthetic{Type: "x", Mappings: []compose.Mapping{{Name: "a", Value: test.template}}}
			for _, text := range sources {
				input.Sources = append(input.Sources, resource(t, text))
			}
			_, err := compose.Synthesize(input)
			if diff := cmp.Diff(test.want, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSynthesizeWithoutSources(t *testing.T) {
	t.Parallel()
	input := compose.Synthetic{Type: "x", Mappings: []compose.Mapping{{Name: "a", Value: "((db.a))"}}, Sources: []compose.Source{
		resource(t, "|e/v1|Zoo|a"), resource(t, "|v1|Secret|db"), resource(t, "|v1|ConfigMap|there|{data: {}}"), resource(t, "|v1|ConfigMap|db2"),
	}}
	_, err := compose.Synthesize(input)
	var missing *compose.Missing
	if !errors.As(err, &missing) || len(missing.Sources) != 3 {
		t.Fatalf("got %v", err)
	}
	const want = `not found: ConfigMap "db2" of v1, Secret "db" of v1, Zoo "a" of e/v1; create what is missing, or correct spec.services`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	input.Mappings[0].Value = "((nope.a))"
	if _, err := compose.Synthesize(input); len(faultsOf(t, err)) != 1 {
		t.Errorf("what is wrong without looking at sources gave %v", err)
	}
}

func TestSynthesizeNeedsAType(t *testing.T) {
	t.Parallel()
	input := compose.Synthetic{
		Sources: []compose.Source{resource(t, "|v1|ConfigMap|c|{data: {type: ''}}")}, Mappings: []compose.Mapping{{Name: "type", Value: "((c.data.type))"}},
	}
	_, err := compose.Synthesize(input)
	want := []string{`spec.mappings[0].value: came out empty, but the entry "type" must say what the service is; take another value`}
	if diff := cmp.Diff(want, faultsOf(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestCheckSynthetic(t *testing.T) {
	t.Parallel()
	const is = "spec.mappings[0].value: Invalid value: "
	sources := []string{"|v1|Secret|db", "|v1|ConfigMap|db", "x|e/v1|K|k"}
	tests := []struct {
		reason, template string
		want             []string
	}{
		{"what is right", "((x.a)) ((k.b[0].c))", nil},
		{"a source that is not there", "é((y.a))", []string{is + `"((y.a))": line 1, column 2: no source is called "y"; a token is <source>.<path>; sources are: db, db, x`}},
		{"two of one name", "((db.a))", []string{
			is + `"((db.a))": line 1, column 1: 2 sources are called "db": ConfigMap of v1, Secret of v1; give each an id in spec.services, and call it by that`,
		}},
		{"no path", "((x))", []string{is + `"((x))": line 1, column 1: a whole resource is no value; name a field of it, such as ((x.status.host))`}},
		{"the root", "((x.))", []string{is + `"((x.))": line 1, column 1: a whole resource is no value; name a field of it, such as ((x.status.host))`}},
		{"a path that is none", "é\n ((  x.a[b] ))", []string{
			is + `"((x.a[b]))": line 2, column 10: the path is not understood: a quoted name, a number, a slice, * or a filter is expected; ` +
				"use the JSONPath of kubectl, such as .status.host or ['tls.crt']",
		}},
		{"syntax", "((x.a", []string{
			is + `"((x.a": line 1, column 1: )) is expected to end the token that begins here, the text ended first; ` +
				`close the token with )), or write \(( for the two parentheses themselves`,
		}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			input := compose.Synthetic{Type: "x", Mappings: []compose.Mapping{{Name: "a", Value: test.template}}}
			for _, text := range sources {
				input.Sources = append(input.Sources, resource(t, text))
			}
			checkSynthetic(t, input, test.want)
		})
	}
}

func checkSynthetic(t *testing.T, input compose.Synthetic, want []string) {
	t.Helper()
	var got []string
	for _, err := range compose.CheckSynthetic(input, field.NewPath("spec")) {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestCheckSyntheticFields(t *testing.T) {
	t.Parallel()
	checkSynthetic(t, compose.Synthetic{Mappings: []compose.Mapping{{Name: "a b"}}}, []string{
		"spec.services: Required value: must name at least one resource to take values from",
		`spec.type: Required value: must say what the service is, such as postgresql; set it, or make the entry "type" by a mapping`,
		"spec.mappings[0].name: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' " +
			"(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+'); use a key that a Secret can hold",
	})
	const version = "must be <group>/<version>, or <version> alone for the core group, such as apps/v1 or v1"
	sources := []compose.Source{
		{}, {ID: "a.b", APIVersion: "a/b/c", Kind: "1", Name: "a/b"}, {ID: "a", APIVersion: "v1", Kind: "Secret", Name: "a"},
		{ID: "a", APIVersion: "v1", Kind: "Secret", Name: "a"},
	}
	checkSynthetic(t, compose.Synthetic{Type: "x", Sources: sources}, []string{
		"spec.services[0].apiVersion: Required value: " + version,
		"spec.services[0].kind: Required value: must be the kind of a resource, such as Secret",
		"spec.services[0].name: Required value: must name a resource of this kind",
		`spec.services[1].id: Invalid value: "a.b": must match [A-Za-z0-9_-]{1,63}; use letters, digits, '-' and '_'`,
		`spec.services[1].apiVersion: Invalid value: "a/b/c": ` + version + "; use the resource's apiVersion",
		`spec.services[1].kind: Invalid value: "1": must be the kind of a resource; use the resource's kind, such as Secret`,
		`spec.services[1].name: Invalid value: "a/b": may not contain '/'; use the .metadata.name of the resource`,
		`spec.services[3].id: Duplicate value: "a": another source has this id; give each source an id of its own`,
		`spec.services[3]: Duplicate value: "Secret \"a\"": this resource is listed already; list each resource once`,
	})
	many := compose.Synthetic{Type: "x", Sources: make([]compose.Source, 65), Mappings: []compose.Mapping{{Name: "a", Value: "((nope.a))"}}}
	checkSynthetic(t, many, []string{
		"spec.services: Forbidden: 65 items, at most 64 are allowed; split it into several objects",
	})
}

func TestSynthesizeIsBounded(t *testing.T) {
	t.Parallel()
	list := make([]any, 900)
	for i := range list {
		list[i] = map[string]any{"a": "x"}
	}
	deep := any("end")
	for range 1000 {
		deep = []any{deep}
	}
	object := map[string]any{"list": list, "big": strings.Repeat("x", compose.MaxSize/2), "none": "", "deep": deep, "bigs": []any{strings.Repeat("x", compose.MaxSize+1)}}
	tests := []struct{ reason, template, want string }{
		{"work", strings.Repeat("((s.list[*].a))", 100), "more than 200000 nodes for all paths together"},
		{"matches", "((s..*..*))", "more than 50000 nodes"},
		{"size of values", "((s.big))((s.big))((s.big))", "all values together have more than 1048576 bytes"},
		{"size of JSON", "((s.bigs))", "all values together have more than 1048576 bytes"},
		{"size of several", "((s.bigs[*]))", "all values together have more than 1048576 bytes"},
		{"size of a value that fits but for the text", "((s.big))((s.big))x", "all values together have more than 1048576 bytes"},
		{"levels", "((s.deep))", "more than 256 levels"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			_, err := compose.Synthesize(compose.Synthetic{
				Type: "x", Sources: []compose.Source{{APIVersion: "e/v1", Kind: "K", Name: "s", Object: object}},
				Mappings: []compose.Mapping{{Name: "a", Value: test.template}},
			})
			if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 20_000 {
				t.Errorf("got %.300v, want %q", err, test.want)
			}
		})
	}
	source := compose.Source{APIVersion: "e/v1", Kind: "K", Name: "s", Object: object}
	for _, test := range []struct {
		mappings []compose.Mapping
		want     string
	}{
		{[]compose.Mapping{{Name: "a", Value: "((s.big))((s.big))"}}, "spec"},
		{[]compose.Mapping{{Name: "a", Value: "((s.big))((s.none))"}, {Name: "b", Value: "x((s.big))"}, {Name: "c", Value: "x"}}, "spec.mappings[1].value"},
	} {
		_, err := compose.Synthesize(compose.Synthetic{Type: "x", Sources: []compose.Source{source}, Mappings: test.mappings})
		want := []string{test.want + ": all values together have more than 1048576 bytes, which is what a Secret holds; take fewer or smaller values"}
		if diff := cmp.Diff(want, faultsOf(t, err)); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
	if jsonpath.MaxVisits != 50_000 {
		t.Error("the numbers above are not those of the bounds any more")
	}
}
