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

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/install"
)

const (
	bindingPage = "docs/reference/servicebinding.md"
	mappingPage = "docs/reference/clusterworkloadresourcemapping.md"
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

// reasons gives the reasons of conditions that the code uses, sorted.
func reasons(t *testing.T) []string {
	t.Helper()
	s := sources(t, "internal", "projection", "cmd")
	found := map[string]bool{}
	for _, at := range []string{"internal/controller", "internal/service", "projection"} {
		p := s.packages[at]
		if p == nil {
			t.Fatalf("there is no package %s", at)
		}
		for name, value := range p.constants {
			rest, isReason := strings.CutPrefix(name, "Reason")
			isReason = isReason && rest != "" || at == "projection" && ast.IsExported(name) && name == value
			if isReason && s.uses[name] > 1 {
				found[value] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

var conditionRow = regexp.MustCompile("(?m)^\\| (?:all|`[A-Z][^|]*) \\| [^|]* \\| `([A-Za-z]+)` \\|")

func TestConditionsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	_, table, _ := strings.Cut(page(t, bindingPage).text, "\n## Conditions")
	for _, match := range conditionRow.FindAllStringSubmatch(table, -1) {
		listed[match[1]] = true
	}
	if diff := cmp.Diff(reasons(t), slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("reasons in the table of %s (-code +page):\n%s", bindingPage, diff)
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
	objects, err := install.Objects(install.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		isRole := o.GetKind() == "ClusterRole" || o.GetKind() == "Role"
		if isRole && !strings.Contains(text, "| `"+o.GetName()+"` | "+o.GetKind()) {
			t.Errorf("rbac.md has no row for %s %s", o.GetKind(), o.GetName())
		}
	}
}
