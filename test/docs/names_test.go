package docs_test

import (
	"go/ast"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/generate"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/produce"
)

const (
	bindingPage = "docs/reference/servicebinding.md"
	mappingPage = "docs/reference/clusterworkloadresourcemapping.md"
	draftPage   = "docs/reference/draft-servicebinding.md"
	madePage    = "docs/reference/synthetic-provisioned-service.md"
)

// fields lists the fields of a type as paths, those of lists as name[]. It does not descend into types of others.
func fields(of reflect.Type, at string) []string {
	var found []string
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		path, inner := at+"."+name, f.Type
		found = append(found, path)
		if inner.Kind() == reflect.Slice {
			path, inner = path+"[]", inner.Elem()
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == of.PkgPath() {
			found = append(found, fields(inner, path)...)
		}
	}
	return found
}

func TestEveryFieldIsNamed(t *testing.T) {
	t.Parallel()
	for name, paths := range map[string][]string{
		bindingPage: append(fields(reflect.TypeFor[bindingv1.ServiceBindingSpec](), "spec"),
			fields(reflect.TypeFor[bindingv1.ServiceBindingStatus](), "status")...),
		draftPage: fields(reflect.TypeFor[draftv1alpha1.ServiceBindingSpec](), "spec"),
		madePage: append(fields(reflect.TypeFor[draftv1alpha1.SyntheticProvisionedServiceSpec](), "spec"),
			fields(reflect.TypeFor[draftv1alpha1.SyntheticProvisionedServiceStatus](), "status")...),
		mappingPage: fields(reflect.TypeFor[bindingv1.ClusterWorkloadResourceMappingSpec](), "spec"),
	} {
		text := page(t, name).text
		for _, path := range paths {
			if !strings.Contains(text, "| `"+path+"` |") {
				t.Errorf("%s has no row for the field %s", name, path)
			}
		}
	}
}

// reasons gives the reasons of conditions that packages use, sorted, but for some.
func reasons(t *testing.T, packages []string, others ...string) []string {
	t.Helper()
	s := sources(t, "internal", "projection", "cmd")
	found := map[string]bool{}
	for _, at := range packages {
		p := s.packages[at]
		if p == nil {
			t.Fatalf("there is no package %s", at)
		}
		for name, value := range p.constants {
			if isReason(at, name, value) && s.uses[name] > 1 {
				found[value] = true
			}
		}
	}
	for _, other := range others {
		delete(found, other)
	}
	return slices.Sorted(maps.Keys(found))
}

// isReason tells the constants that are reasons from others.
func isReason(at, name, value string) bool {
	rest, is := strings.CutPrefix(name, "Reason")
	return is && rest != "" || at == "projection" && ast.IsExported(name) && name == value
}

var conditionRow = regexp.MustCompile("(?m)^\\| (?:all|`[A-Z][^|]*) \\| [^|]* \\| `([A-Za-z]+)` \\|")

func TestConditionsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	const makers = "internal/produce"
	for name, want := range map[string][]string{
		bindingPage: reasons(t, []string{"internal/controller", "internal/service", "projection", makers},
			produce.ReasonMade, produce.ReasonSourcesFound),
		madePage: reasons(t, []string{makers}, produce.ReasonDescription, produce.ReasonOptions, produce.ReasonSecretShared),
	} {
		listed := map[string]bool{}
		_, table, _ := strings.Cut(page(t, name).text, "\n## Conditions")
		for _, match := range conditionRow.FindAllStringSubmatch(table, -1) {
			listed[match[1]] = true
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(listed))); diff != "" {
			t.Errorf("reasons in the table of %s (-code +page):\n%s", name, diff)
		}
	}
}

func TestEveryFeatureIsNamed(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/reference/features.md").text
	for _, f := range feature.All() {
		if !strings.Contains(text, "| `--"+string(f)+"` |") {
			t.Errorf("features.md has no row for %s", f)
		}
	}
}

func TestEveryKnownOperatorIsNamed(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/guides/known-operators.md").text
	known, err := generate.Known(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range known.Names() {
		if !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("known-operators.md has no row for %s", name)
		}
	}
}

func TestEveryEventIsNamed(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(page(t, bindingPage).text, "\n## Events")
	events := 0
	for _, p := range sources(t, "internal").packages {
		for _, reason := range p.events() {
			events++
			if !strings.Contains(table, "`"+reason+"`") {
				t.Errorf("%s does not tell of the event %s", bindingPage, reason)
			}
		}
	}
	if events == 0 {
		t.Error("no event was found in the code: the test looks in the wrong place")
	}
}

func TestEveryAnnotationIsNamed(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/reference/annotations.md").text
	key := regexp.MustCompile(`^bowline\.dev/[a-z-]+$`)
	found := 0
	for at, p := range sources(t, "internal", "projection").packages {
		for value := range p.texts() {
			if !key.MatchString(value) {
				continue
			}
			found++
			if !strings.Contains(text, "`"+value+"`") {
				t.Errorf("annotations.md does not have %s, which %s uses", value, at)
			}
		}
		for name, value := range p.constants {
			if at == "projection" && strings.HasSuffix(name, "Mark") && !strings.Contains(text, "projector.servicebinding.io/"+value+"-<uid>") {
				t.Errorf("annotations.md does not have projector.servicebinding.io/%s-<uid>", value)
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d keys were found in the code: the test looks in the wrong place", found)
	}
}

func TestEveryRoleIsNamed(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/reference/rbac.md").text
	objects, err := install.Objects(install.Options{Features: feature.Of(feature.All()...)})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
			continue
		}
		row := "| `" + o.GetName() + "` | " + o.GetKind()
		if o.GetLabels()["bowline.dev/feature"] != "" {
			row = "| `" + o.GetName() + "`"
		}
		if name, view := strings.CutSuffix(row, "-view`"); view && !strings.Contains(text, row) {
			row = name + "-edit`, `-view`" // one row for both
		}
		if !strings.Contains(text, row) {
			t.Errorf("rbac.md has no row for %s %s", o.GetKind(), o.GetName())
		}
	}
}
