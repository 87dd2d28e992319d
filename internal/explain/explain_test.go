package explain_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/explain"
	"github.com/bowline-dev/bowline/internal/generate"
)

func described(annotations map[string]string, object map[string]any) explain.Service {
	return explain.Service{
		Sources: generate.Sources{
			Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Database"}, Name: "orders",
			Definition: "databases.example.com", Resource: annotations,
		},
		Namespace: "shop", Object: object,
	}
}

func provisioned(secret string) map[string]any {
	return map[string]any{"status": map[string]any{"binding": map[string]any{"name": secret}}}
}

// seen is what there is to look at.
var seen = map[string]explain.Seen{
	"db":      {State: explain.Found, Type: "Opaque", Entries: []string{"password", "type"}},
	"token":   {State: explain.Found, Type: "kubernetes.io/service-account-token", Entries: []string{"token"}},
	"private": {State: explain.Forbidden},
}

func look(ref generate.Reference) (explain.Seen, error) { return seen[ref.Name], nil }

func secretService(name string) explain.Service {
	return explain.Service{Sources: generate.Sources{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Name: name}, Namespace: "shop"}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		service        explain.Service
		manner         explain.Manner
		entries        string
		problem, notes string
	}{
		"a Secret":            {secretService("db"), explain.MannerSecret, "password type", "", ""},
		"a missing Secret":    {secretService("none"), explain.MannerSecret, "", `Secret "none" does not exist in namespace "shop"`, ""},
		"a forbidden Secret":  {secretService("private"), explain.MannerSecret, "", `you may not get Secret "private", and whoever binds it directly`, ""},
		"a platform's Secret": {secretService("token"), explain.MannerSecret, "", "is of type kubernetes.io/service-account-token", ""},
		"provisioned":         {described(nil, provisioned("db")), explain.MannerProvisioned, "password type", "", ""},
		"provisioned, hidden": {described(nil, provisioned("private")), explain.MannerProvisioned, "", "", "the service can be bound without"},
		"provisioned, gone":   {described(nil, provisioned("none")), explain.MannerProvisioned, "", "does not exist", ""},
		"provisioned and described": {
			described(map[string]string{"service.bindings": ""}, provisioned("db")), explain.MannerProvisioned, "password type", "", "are passed over",
		},
		"nothing": {described(nil, map[string]any{}), explain.MannerNone, "", `Database "orders" names no Secret in .status.binding.name`, ""},
		"described": {
			described(map[string]string{"service.binding": "path=db,objectType=Secret", "service.binding/a": "b"}, nil),
			explain.MannerDescribed, "a password type", "", "",
		},
		"described without type": {described(map[string]string{"service.binding/a": "b"}, nil), explain.MannerDescribed, "a", "", "set spec.type in the binding"},
		"described by a slip":    {described(map[string]string{"service.binding/a": "path={"}, nil), explain.MannerDescribed, "", "the brace is not closed", ""},
		"described by nothing": {
			described(map[string]string{"service.binding/a": "path={.a},optional=true"}, nil), explain.MannerDescribed, "", "makes no entry at all", "",
		},
		"described and forbidden": {
			described(map[string]string{"service.binding": "path=private,objectType=Secret", "service.binding/a": "path=private,objectType=Secret,sourceKey=b"}, nil),
			explain.MannerDescribed, "a b", `you may not get Secret "private", which the service points to`, "not all are known here",
		},
		"described and the platform's": {
			described(map[string]string{"service.binding": "path=token,objectType=Secret"}, nil), explain.MannerDescribed, "", `Secret "token" does not exist`, "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := explain.Explain(test.service, look)
			if err != nil {
				t.Fatal(err)
			}
			var entries []string
			for _, e := range got.Entries {
				entries = append(entries, e.Name)
			}
			if diff := cmp.Diff(test.entries, strings.Join(entries, " ")); diff != "" || got.Manner != test.manner {
				t.Errorf("%s, entries (-want +got):\n%s", got.Manner, diff)
			}
			if got.Bindable != (test.problem == "") {
				t.Errorf("bindable: %v", got.Bindable)
			}
			isAbout(t, "problems", got.Problems, test.problem)
			isAbout(t, "notes", got.Notes, test.notes)
		})
	}
}

// isAbout wants one text about something, or none at all.
func isAbout(t *testing.T, what string, texts []string, want string) {
	t.Helper()
	if want == "" && len(texts) > 0 || want != "" && (len(texts) == 0 || !strings.Contains(strings.Join(texts, "\n"), want)) {
		t.Errorf("the %s are %q, want %q", what, texts, want)
	}
}

func TestExplainSaysWhatWasNotRead(t *testing.T) {
	t.Parallel()
	s := described(map[string]string{"service.binding/type": "x"}, nil)
	s.Unread = []string{`CustomResourceDefinition "databases.example.com"`}
	got, err := explain.Explain(s, look)
	if err != nil {
		t.Fatal(err)
	}
	isAbout(t, "notes", got.Notes, `you may not read CustomResourceDefinition "databases.example.com"`)
}

func TestExplainEndsWithTheErrorOfLooking(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, s := range []explain.Service{secretService("db"), described(map[string]string{"service.binding": "path=db,objectType=Secret"}, nil)} {
		if _, err := explain.Explain(s, func(generate.Reference) (explain.Seen, error) { return explain.Seen{}, broken }); !errors.Is(err, broken) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestEntriesSayWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	got, err := explain.Explain(described(map[string]string{
		"service.binding/type": "x", "service.binding/host": "path={.host}", "service.binding/pw": "path=db,objectType=Secret,sourceKey=password",
	}, map[string]any{"host": "canary"}), look)
	if err != nil {
		t.Fatal(err)
	}
	rule := func(name string) string { return `annotation "service.binding/` + name + `" of Database "orders"` }
	want := []explain.Entry{
		{Name: "host", From: "field", Path: "{.host}", Rule: rule("host")},
		{Name: "pw", From: "Secret", Object: "db", Key: "password", Path: "db", Rule: rule("pw")},
		{Name: "type", From: "constant", Rule: rule("type")},
	}
	if diff := cmp.Diff(want, got.Entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Service != "Database.example.com/orders" || got.Namespace != "shop" {
		t.Errorf("the report is about %s in %s", got.Service, got.Namespace)
	}
}

// TestSyntheticSaysWhichMappings: of a synthetic service's entries the mapping and its tokens are told, and nothing else of
// what it says.
func TestSyntheticSaysWhichMappings(t *testing.T) {
	t.Parallel()
	object := provisioned("db")
	object["spec"] = map[string]any{
		"type": "postgresql",
		"mappings": []any{
			map[string]any{"name": "password", "value": "hunter2-((a.b))/((c['d'])),((e)),((f)),((g)),((h)),((i))"},
			map[string]any{"name": "odd", "value": "(("},
		},
	}
	s := explain.Service{Sources: generate.Sources{
		Kind: schema.GroupVersionKind{Group: "service.binding", Version: "v1alpha1", Kind: "SyntheticProvisionedService"}, Name: "url",
	}, Namespace: "shop", Object: object}
	report, err := explain.Explain(s, look)
	if err != nil {
		t.Fatal(err)
	}
	want := []explain.Entry{
		{
			Name: "password", From: "Secret", Object: "db", Key: "password",
			Rule: "spec.mappings[0], of ((a.b)), ((c['d'])), ((e)), ((f)), ((g)), and 2 more",
		},
		{Name: "type", From: "Secret", Object: "db", Key: "type", Rule: "spec.type"},
	}
	if diff := cmp.Diff(want, report.Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
