package generate_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/generate"
)

// checkRefused holds that an error says where, and what.
func checkRefused(t *testing.T, err error, longest int) {
	t.Helper()
	var fault *generate.Fault
	if !errors.As(err, &fault) {
		t.Fatalf("the error %v is no *Fault", err)
	}
	if fault.Problem == "" || fault.Position < -1 || fault.Position > longest || fault.Reason != generate.ReasonInvalid {
		t.Fatalf("the fault is %+v", fault)
	}
}

func FuzzAnnotation(f *testing.F) {
	for _, example := range examples {
		f.Add(example.key, example.value)
		f.Add(example.printed[0], example.printed[1])
	}
	for _, slip := range slips {
		f.Add(slip.key, slip.value)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		rule, err := generate.ParseAnnotation(key, value, origin)
		again, errAgain := generate.ParseAnnotation(key, value, origin)
		if !reflect.DeepEqual(rule, again) || !reflect.DeepEqual(err, errAgain) {
			t.Fatalf("%q: %q is read as %v (%v), and then as %v (%v)", key, value, rule, err, again, errAgain)
		}
		switch {
		case err != nil:
			checkRefused(t, err, len(value))
		case rule == nil:
			if key == generate.Prefix || strings.HasPrefix(key, generate.Prefix+"/") {
				t.Fatalf("%q is passed over", key)
			}
		default:
			checkNormal(t, key, rule)
			makeSomething(t, map[string]string{key: value})
		}
	})
}

// checkNormal holds that the normal form of a rule says the same.
func checkNormal(t *testing.T, key string, rule *generate.Rule) {
	t.Helper()
	text := rule.String()
	if len(text) > generate.MaxLength {
		return
	}
	same, err := generate.ParseAnnotation(key, text, origin)
	if err != nil || same.String() != text {
		t.Fatalf("%q has the normal form %q, which is read as %v (%v)", key, text, same, err)
	}
}

// makeSomething holds that making never panics, whatever is described, and that an error holds no value of a Secret.
func makeSomething(t *testing.T, annotations map[string]string) {
	t.Helper()
	recipe, err := described(annotations)
	if err != nil || recipe == nil {
		t.Fatalf("%v gives %v and the error %v", annotations, recipe, err)
	}
	service := tree(t, database)
	needs, _ := recipe.References(service)
	asked := map[generate.Reference]bool{}
	for _, need := range needs {
		asked[need.Reference] = true
	}
	made, err := recipe.Make(service, func(ref generate.Reference) (map[string][]byte, bool) {
		if !asked[ref] {
			t.Errorf("%v is read and was not listed", ref)
		}
		return reader(objects())(ref)
	})
	if (made == nil) == (err == nil) {
		t.Fatalf("made %v and the error %v", made, err)
	}
	if err != nil && strings.Contains(err.Error(), "s3cr3t") {
		t.Fatalf("the error holds a value: %v", err)
	}
}

func FuzzDescriptor(f *testing.F) {
	for _, seed := range [][3]string{
		{"data.dbCredentials", objectURN + "Secret", "service.binding"},
		{"data.dbConfiguration", objectURN + "ConfigMap", "service.binding:timeout:sourceKey=db_timeout"},
		{"bootstrap", "", "service.binding:endpoints:elementType=sliceOfMaps:sourceKey=type:sourceValue=url"},
		{"a[0].b-c", "", "service.binding:x:elementType=sliceOfStrings:sourceValue=y:optional=true"},
		{"data.uri", "", "servicebinding:uri"}, {"{.a}", "", "service.binding:x"}, {"a", objectURN + "secret", "service.binding:x"},
		{"labels['a}b']", "", "service.binding:x"}, {`a\{b`, "", "service.binding:“x”"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, path, urn, x string) {
		d := generate.Descriptor{Root: "status", Path: path, XDescriptors: []string{urn, x}}
		rules, err := generate.ParseDescriptor(d, origin)
		again, errAgain := generate.ParseDescriptor(d, origin)
		if !reflect.DeepEqual(rules, again) || !reflect.DeepEqual(err, errAgain) {
			t.Fatalf("%v is read as %v (%v), and then as %v (%v)", d, rules, err, again, errAgain)
		}
		if err != nil {
			checkRefused(t, err, max(len(path), len(urn), len(x)))
			return
		}
		for _, rule := range rules {
			checkNormal(t, strings.TrimSuffix(generate.Prefix+"/"+rule.Name, "/"), rule)
		}
	})
}
