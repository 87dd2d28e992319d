package offline_test

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/config"
	"github.com/bowline-dev/bowline/internal/offline"
)

// shipped are the mappings that an installation brings.
func shipped(t *testing.T) []*bindingv1.ClusterWorkloadResourceMapping {
	t.Helper()
	files, err := fs.Glob(config.Files(), "mapping/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d mappings, %v", len(files), err)
	}
	var all []*bindingv1.ClusterWorkloadResourceMapping
	for _, name := range files {
		text, err := fs.ReadFile(config.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		m := &bindingv1.ClusterWorkloadResourceMapping{}
		if err := yaml.UnmarshalStrict(text, m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// project parses texts as files a.yaml, b.yaml and so on, and projects.
func project(t *testing.T, c offline.Choice, texts ...string) (*offline.Scene, error) {
	t.Helper()
	var files []offline.File
	for i, text := range texts {
		files = append(files, offline.File{Name: string(rune('a'+i)) + ".yaml", Text: []byte(strings.TrimPrefix(text, "\n"))})
	}
	w, err := offline.Parse(files...)
	if err != nil {
		return nil, err
	}
	c.Mappings = shipped(t)
	return w.Project(c)
}

const (
	db = `
apiVersion: v1
kind: Secret
metadata: {name: db}
data: {username: YWRh}
stringData: {type: postgresql, password: swordfish}
`
	orders = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders, labels: {team: a}}
spec:
  template: {spec: {containers: [{name: app, image: example.com/app}]}}
`
	bindOrders = `
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: orders-db}
spec:
  service: {apiVersion: v1, kind: Secret, name: db}
  workload: {apiVersion: apps/v1, kind: Deployment, name: orders}
`
)

func containers(t *testing.T, s *offline.Scene, path ...string) []map[string]any {
	t.Helper()
	list, found, err := unstructured.NestedSlice(s.Workload, path...)
	if err != nil || !found {
		t.Fatalf("no containers at %v: %v", path, err)
	}
	var all []map[string]any
	for _, c := range list {
		all = append(all, c.(map[string]any))
	}
	return all
}

// mounts lists what the first container at a path mounts.
func mounts(t *testing.T, s *offline.Scene, path ...string) []string {
	t.Helper()
	list, _, err := unstructured.NestedSlice(containers(t, s, path...)[0], "volumeMounts")
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, m := range list {
		found = append(found, m.(map[string]any)["mountPath"].(string))
	}
	return found
}

func edited(text string, oldnew ...string) string {
	return strings.NewReplacer(oldnew...).Replace(text)
}

// scene is what texts make of a workload called orders.
type scene struct {
	reason string
	choice offline.Choice
	texts  []string
	path   []string // of the containers; by default where a Deployment has them
	mounts []string
	space  string // default by default
}

func (test scene) run(t *testing.T) {
	t.Parallel()
	s, err := project(t, test.choice, test.texts...)
	if err != nil {
		t.Fatal(err)
	}
	path, space := test.path, test.space
	if path == nil {
		path = []string{"spec", "template", "spec", "containers"}
	}
	if space == "" {
		space = "default"
	}
	if diff := cmp.Diff(test.mounts, mounts(t, s, path...)); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if s.Namespace != space || s.Name != "orders" {
		t.Errorf("it is %s in %s", s.Name, s.Namespace)
	}
}

func TestProject(t *testing.T) {
	t.Parallel()
	for _, test := range []scene{
		{reason: "no binding", texts: []string{orders}, mounts: []string{}},
		{reason: "by name", texts: []string{db, orders, bindOrders}, mounts: []string{"/bindings/orders-db"}},
		{
			reason: "in one file, the binding first", mounts: []string{"/bindings/orders-db"},
			texts: []string{strings.Join([]string{bindOrders, orders, db}, "---\n")},
		},
		{
			reason: "by label", mounts: []string{"/bindings/orders-db"},
			texts: []string{db, orders, edited(bindOrders, "name: orders}", "selector: {matchLabels: {team: a}}}")},
		},
		{
			reason: "by a label that it does not bear", mounts: []string{},
			texts: []string{db, orders, edited(bindOrders, "name: orders}", "selector: {matchLabels: {team: b}}}")},
		},
		{reason: "v1beta1", texts: []string{db, orders, edited(bindOrders, "io/v1", "io/v1beta1")}, mounts: []string{"/bindings/orders-db"}},
		{reason: "v1alpha3", texts: []string{db, orders, edited(bindOrders, "io/v1", "io/v1alpha3")}, mounts: []string{"/bindings/orders-db"}},
		{
			reason: "a provisioned service", mounts: []string{"/bindings/orders-db"},
			texts: []string{
				db, orders, edited(bindOrders, "{apiVersion: v1, kind: Secret, name: db}", "{apiVersion: x.example/v1, kind: Database, name: pg}"),
				"apiVersion: x.example/v1\nkind: Database\nmetadata: {name: pg}\nstatus: {binding: {name: db}}\n",
			},
		},
		{
			reason: "a list", mounts: []string{"/bindings/orders-db"}, texts: []string{
				"kind: List\napiVersion: v1\nitems:\n" + item(db) + item(orders) + item(bindOrders),
			},
		},
		{
			reason: "a typed list, whose items leave their kind out", mounts: []string{"/bindings/orders-db"}, texts: []string{
				orders, bindOrders, "kind: SecretList\napiVersion: v1\nitems:\n" + item(edited(db, "apiVersion: v1\nkind: Secret\n", "")),
			},
		},
		{
			reason: "others in other namespaces are none of its business", mounts: []string{"/bindings/orders-db"}, space: "shop",
			texts: []string{
				db, edited(orders, "name: orders", "name: orders, namespace: shop"), bindOrders,
				edited(bindOrders, "name: orders-db", "name: other, namespace: lab"),
			},
		},
		{
			reason: "of two workloads the one that is named", choice: offline.Choice{Workload: "deployment/orders", Namespace: "shop"},
			texts: []string{db, orders, bindOrders, edited(orders, "name: orders", "name: carts")}, space: "shop",
			mounts: []string{"/bindings/orders-db"},
		},
		{
			reason: "of two objects with one name the later counts", mounts: []string{"/bindings/orders-db"},
			texts: []string{edited(db, "kind: Secret", "kind: Secret\ntype: helm.sh/release.v1"), db, orders, bindOrders},
		},
	} {
		t.Run(test.reason, test.run)
	}
}

func TestProjectIntoOtherKinds(t *testing.T) {
	t.Parallel()
	for _, test := range []scene{
		{
			reason: "a CronJob, by the shipped mapping", mounts: []string{"/bindings/orders-db"},
			path: []string{"spec", "jobTemplate", "spec", "template", "spec", "containers"},
			texts: []string{
				db, edited(bindOrders, "apps/v1, kind: Deployment", "batch/v1, kind: CronJob"),
				"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: orders}\nspec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a}]}}}}}\n",
			},
		},
		{
			reason: "a kind with a mapping, whose plural its definition tells", mounts: []string{"/bindings/orders-db"},
			path: []string{"spec", "steps"},
			texts: []string{
				db, edited(bindOrders, "apps/v1, kind: Deployment", "x.example/v1, kind: Ox"),
				"apiVersion: x.example/v1\nkind: Ox\nmetadata: {name: orders}\nspec: {steps: [{id: a}]}\n",
				"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: oxen.x.example}\n" +
					"spec: {group: x.example, names: {kind: Ox, plural: oxen}}\n",
				"apiVersion: servicebinding.io/v1\nkind: ClusterWorkloadResourceMapping\nmetadata: {name: oxen.x.example}\n" +
					`spec: {versions: [{version: "*", volumes: .spec.volumes, containers: [{path: ".spec.steps[*]", name: .id}]}]}` + "\n",
			},
		},
	} {
		t.Run(test.reason, test.run)
	}
}

// item indents an object as an item of a list.
func item(text string) string {
	return "- " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

func TestProjectIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	second := strings.NewReplacer("orders-db", "audit").Replace(bindOrders)
	first, err := project(t, offline.Choice{}, db, orders, bindOrders, second)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := project(t, offline.Choice{}, second, bindOrders, orders, db)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Workload, again.Workload); diff != "" {
			t.Fatalf("(-first +again):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"audit", "orders-db"}, first.Bindings); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
}

// TestWhatAClusterProjectedIsNotInTheWay takes a workload from a cluster together with the binding as people wrote it.
func TestWhatAClusterProjectedIsNotInTheWay(t *testing.T) {
	t.Parallel()
	known := edited(bindOrders, "name: orders-db}", "name: orders-db, uid: 4ff5a2d6-3e34-4a86-a1b8-0b7a8bb1a2c1}")
	bound, err := project(t, offline.Choice{}, db, orders, known)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(bound.Workload)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/bindings/orders-db"}
	for reason, binding := range map[string]string{"with its UID": known, "as it was written": bindOrders, "not at all": "---\n"} {
		s, err := project(t, offline.Choice{}, db, string(text), binding)
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		if diff := cmp.Diff(want, mounts(t, s, "spec", "template", "spec", "containers")); diff != "" {
			t.Errorf("%s: mounts (-want +got):\n%s", reason, diff)
		}
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	s, err := project(t, offline.Choice{Namespace: "shop"}, db, orders,
		"kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\ndata: {a: b}\nbinaryData: {bin: AAE=}\n",
		"kind: Secret\napiVersion: v1\nmetadata: {name: other, namespace: lab}\nstringData: {a: b}\n",
		"kind: Secret\napiVersion: v1\nmetadata: {name: db, namespace: shop}\nstringData: {own: b}\n")
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(s.Objects.Secrets))
	if diff := cmp.Diff([]string{"db"}, got); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"own"}, slices.Sorted(maps.Keys(s.Objects.Secrets["db"]))); diff != "" {
		t.Errorf("what names the namespace wins (-want +got):\n%s", diff)
	}
	if got := s.Objects.BinaryData["c"]["bin"].Reveal(); string(got) != "\x00\x01" || len(s.Objects.ConfigMaps["c"]) != 1 {
		t.Errorf("the ConfigMap holds %q and %v", got, s.Objects.ConfigMaps["c"])
	}
}

// A manifest that names no namespace and what a cluster made of it are one workload.
func TestWorkloadWithAndWithoutItsNamespace(t *testing.T) {
	t.Parallel()
	for namespace, choice := range map[string]offline.Choice{
		"default": {}, "shop": {Namespace: "shop"},
	} {
		own := strings.Replace(orders, "name: orders", "namespace: "+namespace+", name: orders", 1)
		for _, texts := range [][]string{{orders, own}, {own, orders}} {
			s, err := project(t, choice, texts...)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != "orders" || s.Namespace != namespace {
				t.Errorf("workload %s/%s, want %s/orders", s.Namespace, s.Name, namespace)
			}
		}
	}
}

// What the YAML library would pass over without a word: JSON objects in a row, and what stands behind the end of a document.
func TestObjectsInARow(t *testing.T) {
	t.Parallel()
	const (
		secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},"stringData":{"a":"A"}}`
		broken = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},"data":{"a":"?"}}`
		pod    = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"orders"},"spec":{"containers":[{"name":"main"}]}}`
	)
	for _, text := range []string{
		secret + pod, secret + "\n" + pod + "\n", "\n " + secret + "\n\n" + pod + "\n# a note\n", secret + "\n...\n" + pod, secret + "\n---\n" + pod,
	} {
		s, err := project(t, offline.Choice{}, text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if s.Name != "orders" || len(s.Objects.Secrets) != 1 {
			t.Errorf("%q: workload %q and %d Secrets", text, s.Name, len(s.Objects.Secrets))
		}
	}
	_, err := project(t, offline.Choice{}, pod+"\n\n"+broken)
	if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:3: ") {
		t.Errorf("%v, want the line of the second object", err)
	}
}

func TestSecretEntries(t *testing.T) {
	t.Parallel()
	s, err := project(t, offline.Choice{}, orders,
		"kind: Secret\napiVersion: v1\nmetadata: {name: db}\ndata: {a: YQ==, b: \"Yg\\n==\", empty: }\nstringData: {b: B}\n")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for key, value := range s.Objects.Secrets["db"] {
		got[key] = string(value.Reveal())
	}
	if diff := cmp.Diff(map[string]string{"a": "a", "b": "B", "empty": ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWrongManifests(t *testing.T) {
	t.Parallel()
	const canary = "hunter2canary"
	tests := []struct {
		reason string
		text   string
		want   string
	}{
		{"no YAML", "a: b\n---\nx: [1\n", "a.yaml:3: this is no YAML: "},
		{"a tab", "kind: Secret\n\tx: y\n", "a.yaml:2: this is no YAML: "},
		{"a field twice", db + "stringData: {}\n", `a.yaml:6: this is no YAML: key "stringData" already set in map`},
		{"an anchor that is none", "kind: Secret\nstringData:\n  password: *" + canary, "this is no YAML: unknown anchor"},
		{"a value of another type", "kind: Secret\nx: !!int \"" + canary + "\"", "this is no YAML: cannot decode !!str a value as a !!int"},
		{"no object", "- a\n- b\n", "a.yaml:1: this is no object"},
		{"no kind", "\n# nothing yet\nmetadata: {name: x}\n", "a.yaml:2: this is no object of Kubernetes: apiVersion and kind must be set"},
		{"no such API version", "apiVersion: a/b/c\nkind: X\nmetadata: {name: x}\n", `a.yaml:1: apiVersion "a/b/c" is not of the form GROUP/VERSION`},
		{"no name", "apiVersion: v1\nkind: Secret\nmetadata: {}\n", "a.yaml:3: this Secret has no metadata.name"},
		{"no base64", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  a: YQ==\n  b: " + canary + "!\n",
			`a.yaml:6: Secret "s": data: entry "b" is not base64; encode it, or move it to stringData`},
		{"no text", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  port: 5432\n",
			`a.yaml:5: Secret "s": stringData: entry "port" is no text; put its value in quotes`},
		{"no name of an entry", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a/b: x\n",
			`a.yaml:5: ConfigMap "c": data: entry "a/b": `},
		{"no map", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: " + canary + "\n", `a.yaml:4: Secret "s": data is no map of entries`},
		{"no item", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: a}\n- " + canary + "\n",
			"a.yaml:7: this item of a list is no object"},
		{"a fault within a list", "apiVersion: v1\nkind: List\nitems:\n" + item(db) + item(orders) + item(strings.Replace(bindOrders, "orders-db", "Orders_DB", 1)),
			`a.yaml:16: ServiceBinding "Orders_DB": metadata.name: Invalid value: "Orders_DB"`},
		{"a rule of the binding", orders + "---" + bindOrders + "  env:\n  - {name: A, key: a}\n  - {name: A, key: b}\n",
			`a.yaml:15: ServiceBinding "orders-db": spec.env[1].name: Duplicate value: "A"`},
		{"a field that there is not", strings.Replace(bindOrders, "service:", "servise:", 1), `a.yaml:5: unknown field "spec.servise"`},
		{"a version that there is not", strings.Replace(bindOrders, "io/v1", "io/v2", 1),
			`a.yaml:1: servicebinding.io has no version "v2"; its versions are v1, v1beta1, v1alpha3`},
		{"a rule of mappings", "apiVersion: servicebinding.io/v1\nkind: ClusterWorkloadResourceMapping\nmetadata: {name: a.b}\n" +
			"spec:\n  versions:\n  - version: v1\n    volumes: x[\n", `a.yaml:7: ClusterWorkloadResourceMapping "a.b": spec.versions[0].volumes: Invalid value`},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			_, err := project(t, offline.Choice{}, test.text)
			var fault *offline.Fault
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q in it", err, test.want)
			}
			if text := err.Error(); strings.Contains(text, canary) || strings.Contains(text, "\n") {
				t.Errorf("it is no single line without values: %q", text)
			}
		})
	}
}

func TestWhatCannotBeProjected(t *testing.T) {
	t.Parallel()
	service := strings.Replace(bindOrders, "{apiVersion: v1, kind: Secret, name: db}", "{apiVersion: x.example/v1, kind: Database, name: pg}", 1)
	database := "apiVersion: x.example/v1\nkind: Database\nmetadata: {name: pg}\n"
	tests := []struct {
		reason string
		choice offline.Choice
		texts  []string
		want   string
	}{
		{"no workload at all", offline.Choice{}, []string{db}, "the manifests hold no workload"},
		{"no workload of that name", offline.Choice{Workload: "carts"}, []string{orders}, `the manifests hold no workload "carts"`},
		{"no workload in that namespace", offline.Choice{Namespace: "lab"},
			[]string{strings.Replace(orders, "name: orders", "namespace: shop, name: orders", 1)}, "the manifests hold no workload"},
		{"several", offline.Choice{}, []string{orders, strings.Replace(orders, "name: orders", "name: carts", 1)},
			"the manifests hold several workloads: deployment/carts, deployment/orders"},
		{"no Secret", offline.Choice{}, []string{orders, bindOrders}, `b.yaml:5: ServiceBinding "orders-db": Secret "db" does not exist`},
		{"a Secret of the platform", offline.Choice{}, []string{orders, strings.Replace(db, "kind: Secret", "kind: Secret\ntype: helm.sh/release.v1", 1), bindOrders},
			`c.yaml:5: ServiceBinding "orders-db": Secret "db" does not exist in this namespace, or is of a type`},
		{"no service", offline.Choice{}, []string{orders, service}, `b.yaml:5: ServiceBinding "orders-db": Database "pg" does not exist`},
		{"a service that is not ready", offline.Choice{}, []string{orders, service, database}, `Database "pg" names no Secret in .status.binding.name`},
		{"a service without its Secret", offline.Choice{}, []string{orders, service, database + "status: {binding: {name: db}}\n"},
			`Secret "db", which Database "pg" names in .status.binding.name, does not exist`},
		{"two bindings with one directory", offline.Choice{},
			[]string{db, orders, bindOrders, strings.Replace(bindOrders, "name: orders-db}\nspec:", "name: z}\nspec:\n  name: orders-db", 1)},
			`d.yaml:1: ServiceBinding "z": `},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			_, err := project(t, test.choice, test.texts...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
