package check_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/check"
)

const manifests = `# what a team writes
apiVersion: v1
kind: Secret
metadata: {name: db}
type: servicebinding.io/mysql
data: {type: bXlzcWw=, host: aA==}
stringData: {host: db, port: "3306"}
---
apiVersion: example.com/v1
kind: Database
metadata: {name: orders}
status: {binding: {name: db}}
--- # one for each workload
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: orders}
spec:
  name: Orders
  service: {apiVersion: example.com/v1, kind: Database, name: orders}
  workload: {apiVersion: apps/v1, kind: Deployment, name: orders}
  env: [{name: PW, key: password}]
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: own}, stringData: {type: redis}}
- {apiVersion: v1, kind: Secret, metadata: {name: release}, type: helm.sh/release.v1, stringData: {release: x}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: orders}}
`

func subjects(t *testing.T, text string, scope check.Scope) []check.Subject {
	t.Helper()
	objects, err := check.Parse("a.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	found, err := check.Subjects(objects, scope)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	found := subjects(t, manifests, check.Manifests)
	var got []string
	for i := range found {
		got = append(got, found[i].Name+" "+found[i].Origin)
	}
	want := []string{"servicebinding/orders a.yaml:14", "secret/own a.yaml:23"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if host := string(found[0].Entries["host"].Reveal()); host != "db" {
		t.Errorf("stringData does not win: %q", host)
	}
	report := findings(check.Check(&found[0], now))
	for _, want := range []string{"error binding", "error binding-name", "error env password"} {
		if !strings.Contains(strings.Join(report, "\n"), want) {
			t.Errorf("%q is not found: %q", want, report)
		}
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: example.com/v1\nkind: Database\nmetadata: {name: orders}\nstatus: {binding: {name: db}}\n"
	const binding = `
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: orders}
spec:
  service: {apiVersion: example.com/v1, kind: Database, name: orders}
  workload: {apiVersion: apps/v1, kind: Deployment, name: orders}
`
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\ntype: kubernetes.io/basic-auth\nstringData: {type: t, provider: p}\n"
	for reason, test := range map[string]struct {
		text  string
		scope check.Scope
		want  string
	}{
		"a service and its Secret, of whatever type":  {service + "---\n" + secret, check.Manifests, "info secret-type"},
		"the Secret may be elsewhere":                 {service, check.Manifests, "info service"},
		"the Secret is nowhere":                       {service, check.Cluster, "error service"},
		"the service may be elsewhere":                {binding, check.Manifests, "info service"},
		"the service is nowhere":                      {binding, check.Cluster, "error service"},
		"the service names no Secret, and never will": {strings.Replace(service, "name: db", "nane: db", 1) + "---" + binding, check.Manifests, "error service"},
	} {
		found := subjects(t, test.text, test.scope)
		if len(found) != 1 {
			t.Errorf("%s: %d subjects", reason, len(found))
			continue
		}
		if got := findings(check.Check(&found[0], now)); len(got) == 0 || got[0] != test.want && got[len(got)-1] != test.want {
			t.Errorf("%s: found %q, want %q", reason, got, test.want)
		}
	}
}

// What a person named is checked, whatever it is.
func TestAskedForByName(t *testing.T) {
	t.Parallel()
	objects, err := check.Parse("a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/tls\n---\n"+
		"apiVersion: example.com/v1\nkind: Database\nmetadata: {name: b}\n")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := check.Subjects(objects, check.Cluster); err != nil || len(found) != 0 {
		t.Errorf("%d subjects though nobody asked (%v)", len(found), err)
	}
	for i := range objects {
		objects[i].Asked = true
	}
	if found, err := check.Subjects(objects, check.Cluster); err != nil || len(found) != 2 {
		t.Errorf("%d subjects (%v)", len(found), err)
	}
}

func TestManifestsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n"
	for reason, test := range map[string]struct{ text, origin string }{
		"no YAML":                  {head + "---\n\na: [hunter2\n", "a.yaml:"},
		"a value for an alias":     {head + "stringData: {password: *hunter2}\n", "a.yaml:1"},
		"twice the same":           {head + "stringData: {hunter2: a, hunter2: b}\n", "a.yaml:4"},
		"no object":                {"- hunter2\n", "a.yaml:1"},
		"no kind":                  {"# a note\n---\n\napiVersion: hunter2\n", "a.yaml:4"},
		"no base64":                {head + "data: {password: hunter2!}\n", "a.yaml:1: secret/db"},
		"a number for a text":      {head + "stringData: {port: 5432}\n", "a.yaml:1: secret/db"},
		"data that is no map":      {head + "data: hunter2\n", "a.yaml:1: secret/db"},
		"no map of texts":          {head + "stringData: [hunter2]\n", "a.yaml:1: secret/db"},
		"a binding of other types": {"apiVersion: servicebinding.io/v1\nkind: ServiceBinding\nmetadata: {name: b}\nspec: {env: hunter2}\n", "a.yaml:1: servicebinding/b"},
		"a list of no objects":     {"apiVersion: v1\nkind: List\nitems: [hunter2]\n", "a.yaml:1"},
	} {
		objects, err := check.Parse("a.yaml", test.text)
		if err == nil {
			_, err = check.Subjects(objects, check.Manifests)
		}
		wrong, ok := errors.AsType[*check.ManifestError](err)
		if !ok || !strings.HasPrefix(wrong.Origin, test.origin) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want one at %s", reason, err, test.origin)
		}
	}
}

func TestNothingToParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# only a note\n---\n---\n# another\n", "---"} {
		if objects, err := check.Parse("a.yaml", text); err != nil || len(objects) != 0 {
			t.Errorf("%q: %d objects (%v)", text, len(objects), err)
		}
	}
}
