package generate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/generate"
)

func ruleLines(recipe *generate.Recipe) []string {
	var lines []string
	if recipe != nil {
		for _, rule := range recipe.Rules() {
			lines = append(lines, fmt.Sprintf("%q %s: %s", rule.Name, rule, rule.Origin))
		}
	}
	return lines
}

func TestDescribeMerges(t *testing.T) {
	t.Parallel()
	csv := clusterServiceVersion(t, "db.v1",
		`[{path: csv, x-descriptors: ["service.binding:csv", "service.binding:known", "service.binding:crd", "service.binding:resource"]}]`,
		`[{path: secret, x-descriptors: ["urn:alm:descriptor:io.kubernetes:Secret", service.binding]}]`)
	s := sourcesOf(csv)
	s.Known = &generate.Description{Operator: "db-operator", Annotations: map[string]string{
		"service.binding/known": "known", "service.binding/crd": "known", "service.binding/resource": "known",
	}}
	s.CRD = map[string]string{"service.binding/crd": "crd", "service.binding/resource": "crd"}
	s.Resource = map[string]string{"service.binding/resource": "resource", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
	recipe, err := generate.Describe(s)
	if err != nil {
		t.Fatal(err)
	}
	const owned = "spec.customresourcedefinitions.owned[2]"
	want := []string{
		`"" path={.status.secret},objectType=Secret: ClusterServiceVersion "db.v1", ` + owned + ".statusDescriptors[0].x-descriptors[1]",
		`"crd" crd: annotation "service.binding/crd" of CustomResourceDefinition "databases.apps.kube.io"`,
		`"csv" path={.spec.csv}: ClusterServiceVersion "db.v1", ` + owned + ".specDescriptors[0].x-descriptors[0]",
		`"known" known: annotation "service.binding/known" known for "db-operator"`,
		`"resource" resource: annotation "service.binding/resource" of Database "my-cluster"`,
	}
	if diff := cmp.Diff(want, ruleLines(recipe)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDescribeNothing(t *testing.T) {
	t.Parallel()
	recipe, err := generate.Describe(generate.Sources{
		Kind: databaseKind, Name: "my-cluster", Definition: databaseDefinition,
		Resource: map[string]string{"example.com/a": "b"}, Versions: []map[string]any{{}, {"spec": "odd"}, clusterServiceVersion(t, "db.v1", "", "")},
	})
	if recipe != nil || err != nil {
		t.Errorf("got %v and the error %v", recipe, err)
	}
}

func TestDescribeTellsEveryFault(t *testing.T) {
	t.Parallel()
	csv := clusterServiceVersion(t, "db.v1", "", `[{path: a, x-descriptors: ["service.binding:x:kind=a", "servicebinding:y"]}]`)
	s := sourcesOf(csv)
	s.Resource = map[string]string{"service.bindings/a": "a", "service.binding/b": "path={.b", "service.binding/fine": "fine"}
	s.CRD = map[string]string{"service.binding/c": "path={.c},objectType=secret"}
	_, err := generate.Describe(s)
	want := `annotation "service.bindings/a" of Database "my-cluster": there is no annotation "service.bindings/"; write service.binding or service.binding/<name>
ClusterServiceVersion "db.v1", spec.customresourcedefinitions.owned[2].statusDescriptors[0].x-descriptors[1], position 0: there is no descriptor "servicebinding:"; write service.binding or service.binding:<name>
annotation "service.binding/b" of Database "my-cluster", position 5: the brace is not closed; an expression is written {.status.field}
annotation "service.binding/c" of CustomResourceDefinition "databases.apps.kube.io", position 21: objectType is "secret"; write objectType=Secret
ClusterServiceVersion "db.v1", spec.customresourcedefinitions.owned[2].statusDescriptors[0].x-descriptors[0], position 18: there is no parameter "kind"; there are: path, objectType, elementType, sourceKey, sourceValue, optional`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAHigherLevelCorrectsALowerOne(t *testing.T) {
	t.Parallel()
	csv := clusterServiceVersion(t, "db.v1", "", `[{path: "{.a}", x-descriptors: ["service.binding:host"]}]`)
	s := sourcesOf(csv)
	if _, err := generate.Describe(s); err == nil {
		t.Fatal("the wrong descriptor is taken")
	}
	s.Resource = map[string]string{"service.binding/host": "path={.status.a}"}
	recipe, err := generate.Describe(s)
	if err != nil || len(recipe.Rules()) != 1 {
		t.Errorf("got %v and the error %v", ruleLines(recipe), err)
	}
}

func TestTwoRulesForOneEntry(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec, status string
		resource     map[string]string
		definition   map[string]string
		want         string
		reason       string
	}{
		"one name twice": {
			spec: `[{path: a, x-descriptors: ["service.binding:host"]}, {path: b, x-descriptors: ["service.binding:host"]}]`,
			want: `specDescriptors[1].x-descriptors[0]: the entry "host" is described twice, here and by ClusterServiceVersion "db.v1"`, reason: "within one ClusterServiceVersion",
		},
		"the same twice": {
			spec:   `[{path: "hosts[0]", x-descriptors: ["service.binding:host"]}, {path: "hosts[0]", x-descriptors: ["service.binding:host"]}]`,
			reason: "it is no contradiction",
		},
		"two whole objects": {
			spec:   `[{path: secret, x-descriptors: ["urn:alm:descriptor:io.kubernetes:Secret", service.binding]}, {path: config, x-descriptors: ["urn:alm:descriptor:io.kubernetes:ConfigMap", service.binding]}]`,
			reason: "as long as their entries differ",
		},
		"two whole objects that overlap": {
			spec: `[{path: "secrets[0]", x-descriptors: ["urn:alm:descriptor:io.kubernetes:Secret", service.binding]}, {path: "secrets[1]", x-descriptors: ["urn:alm:descriptor:io.kubernetes:Secret", service.binding]}]`,
			want: `specDescriptors[1].x-descriptors[1]: it makes the entry "password", which ClusterServiceVersion "db.v1"`, reason: "neither is the better",
		},
		"a map and a name": {
			resource: map[string]string{"service.binding/labels": "path={.spec.labels},elementType=map", "service.binding/labels_tier": "x"},
			want:     `annotation "service.binding/labels_tier" of Database "my-cluster", position 0: it makes the entry "labels_tier", which annotation "service.binding/labels"`,
			reason:   "of one level",
		},
		"a map and a name of a higher level": {
			definition: map[string]string{"service.binding/labels": "path={.spec.labels},elementType=map"},
			resource:   map[string]string{"service.binding/labels_tier": "x"}, reason: "the higher one holds",
		},
		"a name and a map of a higher level": {
			resource:   map[string]string{"service.binding/labels": "path={.spec.labels},elementType=map"},
			definition: map[string]string{"service.binding/labels_tier": "x"}, reason: "the higher one holds",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sourcesOf(clusterServiceVersion(t, "db.v1", test.spec, test.status))
			s.Resource, s.CRD = test.resource, test.definition
			recipe, err := generate.Describe(s)
			if err == nil {
				_, err = recipe.Make(tree(t, service), reader(held()))
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s: the error is %v, want %q", test.reason, err, test.want)
			}
		})
	}
}

func TestReplacedVersionsArePassedOver(t *testing.T) {
	t.Parallel()
	old := clusterServiceVersion(t, "db.v1", "", `[{path: old, x-descriptors: ["service.binding:host"]}]`)
	replacing := clusterServiceVersion(t, "db.v2", "", `[{path: new, x-descriptors: ["service.binding:host"]}]`)
	replacing["spec"].(map[string]any)["replaces"] = "db.v1"
	for _, versions := range [][]map[string]any{{old, replacing}, {replacing, old}} {
		recipe, err := generate.Describe(sourcesOf(versions...))
		if err != nil {
			t.Fatal(err)
		}
		if got := recipe.Rules()[0]; got.Origin.Object != "db.v2" || got.String() != "path={.status.new}" {
			t.Errorf("the rule is %s of %s", got, got.Origin)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	annotations := map[string]string{}
	for i := range generate.MaxRules {
		annotations[fmt.Sprintf("service.binding/x%d", i)] = "x"
	}
	if _, err := described(annotations); err != nil {
		t.Errorf("%d rules: %v", generate.MaxRules, err)
	}
	annotations["service.binding/y"] = "y"
	if _, err := described(annotations); err == nil || !strings.Contains(err.Error(), "at most 256 rules") {
		t.Errorf("one more: the error is %v", err)
	}
	half := strings.Repeat("x", generate.MaxData/2)
	for value, reason := range map[string]string{half: "the names count, too", half + half: "a constant"} {
		_, err := makes(t, map[string]string{"service.binding/a": value, "service.binding/b": value})
		if err == nil || !strings.Contains(err.Error(), "take more than 1048576 bytes") {
			t.Errorf("%s: the error is %.100v", reason, err)
		}
	}
	if _, err := described(map[string]string{"service.binding/a": half + half + "x"}); err == nil {
		t.Error("a constant that no Secret holds is taken")
	}
}

func TestManyReferencesAreRefused(t *testing.T) {
	t.Parallel()
	names := make([]any, generate.MaxReferences+1)
	for i := range names {
		names[i] = fmt.Sprintf("secret-%d", i)
	}
	recipe, err := described(map[string]string{"service.binding/x": "path={.names},objectType=Secret,elementType=sliceOfStrings"})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	_, err = recipe.Make(map[string]any{"names": names}, func(generate.Reference) (map[string][]byte, bool) {
		asked++
		return map[string][]byte{"a": []byte("a")}, true
	})
	if err == nil || !strings.Contains(err.Error(), "more than 128 objects") || asked > generate.MaxReferences {
		t.Errorf("%d objects were read; the error is %v", asked, err)
	}
	needs, err := recipe.References(map[string]any{"names": names})
	if err == nil || len(needs) > generate.MaxReferences {
		t.Errorf("%d objects are to be read; the error is %v", len(needs), err)
	}
}

func TestManyEntriesAreRefused(t *testing.T) {
	t.Parallel()
	names, large := make([]any, 1000), map[string][]byte{}
	for i := range names {
		names[i] = "big"
	}
	for i := range 1000 {
		large[fmt.Sprintf("k%d", i)] = make([]byte, 1000)
	}
	recipe, err := described(map[string]string{"service.binding/x": "path={.names},objectType=Secret,elementType=sliceOfStrings"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = recipe.Make(map[string]any{"names": names}, func(generate.Reference) (map[string][]byte, bool) { return large, true })
	var fault *generate.Fault
	if !errors.As(err, &fault) || !strings.Contains(fault.Problem, "more than 4096 entries") {
		t.Errorf("the error is %.200v", err)
	}
}
