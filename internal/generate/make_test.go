package generate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/generate"
)

// service has one of everything that rules point to.
const service = `
apiVersion: apps.kube.io/v1beta1
kind: Database
metadata: {name: my-cluster, namespace: shop}
spec:
  secret: app
  config: settings
  gone: nowhere
  empty: ""
  nothing: []
  port: 5432
  tls: true
  labels: {tier: gold, size: 3, none: null}
  hosts: [a, b]
  secrets: [app, other]
  nodes:
  - {name: x, host: x.example.com, secret: app, port: 1}
  - {name: "y", host: y.example.com, secret: other, port: 2}
  - {name: z, secret: app}
  full:
  - {name: x, host: x.example.com, secret: app}
  - {name: "y", host: y.example.com, secret: other}
  users:
  - {name: owner, credentials: {name: app, key: password}}
  - {name: reader, credentials: {name: other, key: password, namespace: shop}}
  thieves:
  - {name: thief, credentials: {name: app, key: password, namespace: kube-system}}
  badkeys: [{name: "a b", host: x}]
  again: [{name: x, host: a}, {name: x, host: b}]
`

func held() map[generate.Reference]map[string]string {
	return map[generate.Reference]map[string]string{
		{Kind: "Secret", Name: "app"}:         {"username": "hannah", "password": "s3cr3t"},
		{Kind: "Secret", Name: "other"}:       {"password": "s3cr3t-too"},
		{Kind: "ConfigMap", Name: "settings"}: {"timeout": "10s", "mode": "fast"},
	}
}

func makes(t *testing.T, annotations map[string]string) (*generate.Made, error) {
	t.Helper()
	recipe, err := described(annotations)
	if err != nil {
		t.Fatal(err)
	}
	return recipe.Make(tree(t, service), reader(held()))
}

// shapes are annotations, and what is made of them.
var shapes = map[string]struct {
	annotations map[string]string
	want        map[string]string
	reason      string
}{
	"constant":            {map[string]string{"service.binding/type": "postgresql"}, map[string]string{"type": "postgresql"}, "a value without path="},
	"field":               {map[string]string{"service.binding/port": "path={.spec.port}"}, map[string]string{"port": "5432"}, "numbers as kubectl prints them"},
	"nameless field":      {map[string]string{"service.binding": "path={.spec.tls}"}, map[string]string{"tls": "true"}, "the last field names it"},
	"template":            {map[string]string{"service.binding/uri": "path=pg://{.spec.hosts[0]}:{.spec.port}"}, map[string]string{"uri": "pg://a:5432"}, "several expressions"},
	"absent but optional": {map[string]string{"service.binding/x": "path={.spec.no},optional=true", "service.binding/y": "y"}, map[string]string{"y": "y"}, "it is skipped"},
	"whole Secret": {
		map[string]string{"service.binding": "path={.spec.secret},objectType=Secret"},
		map[string]string{"username": "hannah", "password": "s3cr3t"}, "keys as they are",
	},
	"whole Secret with a name": {
		map[string]string{"service.binding/db": "path={.spec.secret},objectType=Secret"},
		map[string]string{"db_username": "hannah", "db_password": "s3cr3t"}, "name_<key>",
	},
	"whole ConfigMap as a map": {
		map[string]string{"service.binding": "path={.spec.config},objectType=ConfigMap,elementType=map"},
		map[string]string{"timeout": "10s", "mode": "fast"}, "elementType=map says the same",
	},
	"an entry":               {map[string]string{"service.binding": "path={.spec.secret},objectType=Secret,sourceKey=username"}, map[string]string{"username": "hannah"}, "under its own name"},
	"an entry by a new name": {map[string]string{"service.binding/user": "path={.spec.secret},objectType=Secret,sourceKey=username"}, map[string]string{"user": "hannah"}, "renamed"},
	"a reference with a key": {
		map[string]string{"service.binding/pw": "path={.spec.users[0].credentials},objectType=Secret"}, map[string]string{"pw": "s3cr3t"}, "name and key as Kubernetes writes them",
	},
	"a reference with another key": {
		map[string]string{"service.binding/pw": "path={.spec.users[0].credentials},objectType=Secret,sourceKey=username"},
		map[string]string{"pw": "hannah"}, "the rule's own sourceKey is taken",
	},
	"a Secret by its naming": {map[string]string{"service.binding/mode": "path=set{\"tings\"},objectType=ConfigMap,sourceKey=mode"}, map[string]string{"mode": "fast"}, "the name is a template"},
	"missing but optional":   {map[string]string{"service.binding": "path={.spec.gone},objectType=Secret,optional=true", "service.binding/y": "y"}, map[string]string{"y": "y"}, "no such Secret"},
	"no entry but optional":  {map[string]string{"service.binding/x": "path={.spec.secret},objectType=Secret,sourceKey=no,optional=true", "service.binding/y": "y"}, map[string]string{"y": "y"}, "no such entry"},
	"no name but optional":   {map[string]string{"service.binding": "path={.spec.empty},objectType=Secret,optional=true", "service.binding/y": "y"}, map[string]string{"y": "y"}, "an empty name is none"},
	"map":                    {map[string]string{"service.binding/labels": "path={.spec.labels},elementType=map"}, map[string]string{"labels_tier": "gold", "labels_size": "3"}, "name_<key>, null is nothing"},
	"nameless map":           {map[string]string{"service.binding": "path={.spec.labels},elementType=map"}, map[string]string{"tier": "gold", "size": "3"}, "<key>"},
	"slice of strings":       {map[string]string{"service.binding/host": "path={.spec.hosts},elementType=sliceOfStrings"}, map[string]string{"host_0": "a", "host_1": "b"}, "name_0, name_1"},
	"nameless slice":         {map[string]string{"service.binding": "path={.spec.hosts},elementType=sliceOfStrings"}, map[string]string{"hosts_0": "a", "hosts_1": "b"}, "the last field names them"},
	"slice by wildcard":      {map[string]string{"service.binding/port": "path={.spec.nodes[*].port},elementType=sliceOfStrings"}, map[string]string{"port_0": "1", "port_1": "2"}, "what the path finds"},
	"slice of one by wildcard": {
		map[string]string{"service.binding/p": `path={.spec.nodes[?(@.name=="y")].port},elementType=sliceOfStrings`}, map[string]string{"p_0": "2"}, "one is a slice, too",
	},
	"slice with sourceValue": {
		map[string]string{"service.binding/host": "path={.spec.full},elementType=sliceOfStrings,sourceValue=host"},
		map[string]string{"host_0": "x.example.com", "host_1": "y.example.com"}, "that field of each element",
	},
	"slice of maps": {
		map[string]string{"service.binding/node": "path={.spec.full},elementType=sliceOfMaps,sourceKey=name,sourceValue=host"},
		map[string]string{"node_x": "x.example.com", "node_y": "y.example.com"}, "name_<key>",
	},
	"nameless slice of maps": {
		map[string]string{"service.binding": "path={.spec.full},elementType=sliceOfMaps,sourceKey=name,sourceValue=host"},
		map[string]string{"x": "x.example.com", "y": "y.example.com"}, "<key>",
	},
	"optional slice of maps": {
		map[string]string{"service.binding/node": "path={.spec.nodes},elementType=sliceOfMaps,sourceKey=name,sourceValue=host,optional=true"},
		map[string]string{"node_x": "x.example.com", "node_y": "y.example.com"}, "elements without the field are skipped",
	},
	"Secrets of a slice": {
		map[string]string{"service.binding/s": "path={.spec.secrets},objectType=Secret,elementType=sliceOfStrings"},
		map[string]string{"s_0_username": "hannah", "s_0_password": "s3cr3t", "s_1_password": "s3cr3t-too"}, "every entry of each",
	},
	"an entry of each Secret": {
		map[string]string{"service.binding/s": "path={.spec.full},objectType=Secret,elementType=sliceOfStrings,sourceValue=secret,sourceKey=password"},
		map[string]string{"s_0": "s3cr3t", "s_1": "s3cr3t-too"}, "sourceValue finds the Secret, sourceKey the entry",
	},
	"Secrets of a collection": {
		map[string]string{"service.binding/n": "path={.spec.full},objectType=Secret,elementType=sliceOfMaps,sourceKey=name,sourceValue=secret"},
		map[string]string{"n_x_username": "hannah", "n_x_password": "s3cr3t", "n_y_password": "s3cr3t-too"}, "the draft's fourth behaviour: whole objects",
	},
	"entries of a collection": {
		map[string]string{"service.binding": "path={.spec.users},objectType=Secret,elementType=sliceOfMaps,sourceKey=name,sourceValue=credentials"},
		map[string]string{"owner": "s3cr3t", "reader": "s3cr3t-too"}, "the draft's fourth behaviour: name and key",
	},
	"a name takes the place of an entry": {
		map[string]string{
			"service.binding": "path={.spec.secret},objectType=Secret", "service.binding/password": "path={.spec.config},objectType=ConfigMap,sourceKey=mode",
		},
		map[string]string{"username": "hannah", "password": "fast"}, "the nameless rule comes first",
	},
}

func TestMakeShapes(t *testing.T) {
	t.Parallel()
	for name, test := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := makes(t, test.annotations)
			if err != nil {
				t.Fatalf("%s: %v", test.reason, err)
			}
			if diff := cmp.Diff(test.want, strs(got.Data)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestMakeRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		value  string
		want   string
		reason generate.Reason
	}{
		"absent":                 {"path={.spec.port}{.spec.no}", `position 18: the path ".spec.no" leads to nothing; correct it, wait`, generate.ReasonAbsent},
		"empty list":             {"path={.spec.nothing[*]}", "leads to nothing", generate.ReasonAbsent},
		"through a string":       {"path={.spec.secret.name}", "/spec/secret is a string", generate.ReasonInvalid},
		"empty name":             {"path={.spec.empty},objectType=Secret", "leads to nothing", generate.ReasonAbsent},
		"another namespace":      {"path=kube-system/{.spec.secret},objectType=Secret", `"kube-system/app" cannot be the name of a Secret in the service's own namespace`, generate.ReasonInvalid},
		"a climb":                {"path={\"../\"}{.spec.secret},objectType=ConfigMap", "cannot be the name of a ConfigMap", generate.ReasonInvalid},
		"namespace of an entry":  {"path={.spec.thieves},objectType=Secret,elementType=sliceOfMaps,sourceKey=name,sourceValue=credentials", `the path leads to an object in namespace "kube-system"`, generate.ReasonInvalid},
		"object without name":    {"path={.spec.labels},objectType=Secret", "leads to nothing", generate.ReasonAbsent},
		"reference elsewhere":    {"path={.spec.thieves[0].credentials},objectType=Secret", `an object in namespace "kube-system"`, generate.ReasonInvalid},
		"no entry":               {"path={.spec.secret},objectType=Secret,sourceKey=no", `Secret "app" has no entry "no"; there are: password, username`, generate.ReasonAbsent},
		"no map":                 {"path={.spec.hosts},elementType=map", "the path leads to a list, not to an object", generate.ReasonInvalid},
		"no list":                {"path={.spec.labels},elementType=sliceOfStrings", "the path leads to an object, not to a list", generate.ReasonInvalid},
		"no list of maps":        {"path={.spec.hosts},elementType=sliceOfMaps,sourceKey=a,sourceValue=b", "element 0 is a string, not an object with fields", generate.ReasonInvalid},
		"no strings":             {"path={.spec.nodes},elementType=sliceOfStrings", "element 0 is an object, not a string; add sourceValue=", generate.ReasonInvalid},
		"element without key":    {"path={.spec.nodes},elementType=sliceOfMaps,sourceKey=id,sourceValue=host", `element 0 has no field "id"`, generate.ReasonAbsent},
		"element without value":  {"path={.spec.nodes},elementType=sliceOfMaps,sourceKey=name,sourceValue=host", `element 2 has no field "host"`, generate.ReasonAbsent},
		"element without field":  {"path={.spec.nodes},elementType=sliceOfStrings,sourceValue=host", `element 2 has no field "host"`, generate.ReasonAbsent},
		"invalid entry":          {"path={.spec.badkeys},elementType=sliceOfMaps,sourceKey=name,sourceValue=host", `makes an entry "x_a b", which is no valid name`, generate.ReasonInvalid},
		"an entry twice":         {"path={.spec.again},elementType=sliceOfMaps,sourceKey=name,sourceValue=host", `makes the entry "x_x" twice`, generate.ReasonInvalid},
		"a list that is no name": {"path={.spec.hosts},objectType=ConfigMap", "cannot be the name of a ConfigMap", generate.ReasonInvalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := makes(t, map[string]string{"service.binding/x": test.value, "service.binding/fine": "fine"})
			if got != nil {
				t.Errorf("half a Secret was made: %v", got)
			}
			var fault *generate.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("the error is %v, want a *Fault", err)
			}
			if !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), `annotation "service.binding/x" of Database "my-cluster"`) {
				t.Errorf("the error is %q, want %q", err, test.want)
			}
			if fault.Reason != test.reason {
				t.Errorf("the reason is %s, want %s", fault.Reason, test.reason)
			}
		})
	}
}

func TestMakeTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := makes(t, map[string]string{
		"service.binding":      "path={.spec.gone},objectType=Secret",
		"service.binding/a":    "path={.spec.gone},objectType=Secret,sourceKey=a",
		"service.binding/b":    "path={.spec.gone},objectType=ConfigMap,sourceKey=b",
		"service.binding/c":    "path={.spec.no}",
		"service.binding/fine": "fine",
	})
	var missing *generate.Missing
	var all generate.Faults
	if !errors.As(err, &missing) || !errors.As(err, &all) {
		t.Fatalf("the error is %v, want Faults with a *Missing", err)
	}
	want := []generate.Reference{{Kind: "ConfigMap", Name: "nowhere"}, {Kind: "Secret", Name: "nowhere"}}
	if diff := cmp.Diff(want, all.Missing()); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	text := `annotation "service.binding" of Database "my-cluster": Secret "nowhere" does not exist in the namespace of the service; create it, wait for it, or add optional=true
annotation "service.binding/a" of Database "my-cluster": Secret "nowhere" does not exist in the namespace of the service; create it, wait for it, or add optional=true
annotation "service.binding/b" of Database "my-cluster": ConfigMap "nowhere" does not exist in the namespace of the service; create it, wait for it, or add optional=true
annotation "service.binding/c" of Database "my-cluster", position 6: the path ".spec.no" leads to nothing; correct it, wait for the service to fill it in, or add optional=true`
	if diff := cmp.Diff(text, err.Error()); diff != "" {
		t.Errorf("every fault is told, in order (-want +got):\n%s", diff)
	}
}

func TestMakeTellsWhereEntriesComeFrom(t *testing.T) {
	t.Parallel()
	got, err := makes(t, map[string]string{
		"service.binding": "path={.spec.secret},objectType=Secret", "service.binding/type": "postgresql", "service.binding/port": "path={.spec.port}",
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, key := range got.Keys {
		from := "-"
		if key.Reference != nil {
			from = key.Reference.String() + " " + key.Entry
		}
		lines = append(lines, fmt.Sprintf("%s: %s: %s", key.Name, from, key.Rule.Origin))
	}
	want := []string{
		`password: Secret "app" password: annotation "service.binding" of Database "my-cluster"`,
		`port: -: annotation "service.binding/port" of Database "my-cluster"`,
		`type: -: annotation "service.binding/type" of Database "my-cluster"`,
		`username: Secret "app" username: annotation "service.binding" of Database "my-cluster"`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.SecretType != "servicebinding.io/postgresql" {
		t.Errorf("the type of the Secret is %s", got.SecretType)
	}
}

func TestSecretTypeWithoutType(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "\xff", "two words", "ü", "a\tb", strings.Repeat("x", 300)} {
		got, err := makes(t, map[string]string{"service.binding/type": value})
		if err != nil || got.SecretType != "Opaque" {
			t.Errorf("type %q gives %v and the error %v", value, got, err)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	recipe, err := described(map[string]string{
		"service.binding":      "path={.spec.secret},objectType=Secret",
		"service.binding/a":    "path={.spec.secret},objectType=Secret,sourceKey=a,optional=true",
		"service.binding/b":    "path={.spec.config},objectType=ConfigMap,sourceKey=mode,optional=true",
		"service.binding/c":    "path={.spec.full},objectType=Secret,elementType=sliceOfMaps,sourceKey=name,sourceValue=secret",
		"service.binding/d":    "path={.spec.no},objectType=Secret",
		"service.binding/e":    "path={.spec.no}",
		"service.binding/type": "postgresql",
	})
	if err != nil {
		t.Fatal(err)
	}
	needs, err := recipe.References(tree(t, service))
	var lines []string
	for _, need := range needs {
		var keys []string
		for _, o := range need.Origins {
			keys = append(keys, o.Key)
		}
		lines = append(lines, fmt.Sprintf("%s %v %v %v %s", need.Reference, need.Optional, need.Whole, need.Entries, strings.Join(keys, " ")))
	}
	want := []string{
		`ConfigMap "settings" true false [mode] service.binding/b`,
		`Secret "app" false true [a] service.binding service.binding/a service.binding/c`,
		`Secret "other" false true [] service.binding/c`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), "service.binding/d") {
		t.Errorf("the error is %v, want the one of the rule that points to nothing", err)
	}
}
