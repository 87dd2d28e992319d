package generate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestParseOperatorRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"another name":  {"name: other", `it calls itself "other"`},
		"unknown field": {"name: x\nkind: y", "kind"},
		"bad condition": {"name: x\ndescribes: [{group: g, kinds: [K], when: '{.a'}]", "describes[0].when, position 0: the brace is not closed"},
	}
	for name, test := range tests {
		if _, err := parseOperator([]byte(test.text), "x"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, test.want)
		}
	}
}

func TestDescriptionsDependOnVersionAndService(t *testing.T) {
	t.Parallel()
	o, err := parseOperator([]byte(`
name: x
describes:
- {group: g, kinds: [K], annotations: {a: base, b: base}}
- {group: g, kinds: [K], versions: [v2], annotations: {a: v2}}
- {group: g, kinds: [K], when: "{.spec.tls}", annotations: {b: tls}}
- {group: g, kinds: [K], when: "{.spec.mode}", is: fast, annotations: {b: fast}}
`), "x")
	if err != nil {
		t.Fatal(err)
	}
	known := &Operators{operators: []*operator{o}}
	tests := map[string]struct {
		version string
		spec    map[string]any
		want    string
	}{
		"base":        {"v1", nil, "base base"},
		"version":     {"v2", nil, "v2 base"},
		"holds":       {"v1", map[string]any{"tls": map[string]any{}}, "base tls"},
		"false":       {"v1", map[string]any{"tls": false}, "base base"},
		"is":          {"v1", map[string]any{"mode": "fast"}, "base fast"},
		"is not":      {"v1", map[string]any{"mode": "slow"}, "base base"},
		"later wins":  {"v1", map[string]any{"tls": true, "mode": "fast"}, "base fast"},
		"empty value": {"v1", map[string]any{"tls": ""}, "base base"},
	}
	for name, test := range tests {
		d := known.Describe(schema.GroupVersionKind{Group: "g", Version: test.version, Kind: "K"}, map[string]any{"spec": test.spec})
		if got := d.Annotations["a"] + " " + d.Annotations["b"]; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
