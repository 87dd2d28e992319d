package generate_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/internal/generate"
)

// descriptions draws annotations that are read, whether or not anything can be made of them.
func descriptions() *rapid.Generator[map[string]string] {
	paths := rapid.SampledFrom([]string{
		"{.spec.secret}", "{.spec.config}", "{.spec.gone}", "{.spec.no}", "{.spec.labels}", "{.spec.hosts}", "{.spec.full}", "{.spec.users}", "{.spec.nodes[*]}",
	})
	rest := rapid.SampledFrom([]string{
		"", ",objectType=Secret", ",objectType=ConfigMap,sourceKey=mode", ",objectType=Secret,sourceKey=password", ",elementType=map",
		",elementType=sliceOfStrings", ",elementType=sliceOfMaps,sourceKey=name,sourceValue=host", ",elementType=sliceOfStrings,sourceValue=host",
		",objectType=Secret,elementType=sliceOfMaps,sourceKey=name,sourceValue=credentials", ",objectType=Secret,elementType=sliceOfStrings",
	})
	value := rapid.Custom(func(t *rapid.T) string {
		return "path=" + paths.Draw(t, "path") + rest.Draw(t, "rest") + rapid.SampledFrom([]string{"", ",optional=true"}).Draw(t, "optional")
	})
	name := rapid.SampledFrom([]string{"service.binding", "service.binding/a", "service.binding/a_x", "service.binding/b", "service.binding/password"})
	return rapid.MapOfN(name, value, 1, 5)
}

func TestLawsOfMaking(t *testing.T) {
	t.Parallel()
	root, untouched := tree(t, service), tree(t, service)
	data := map[generate.Reference]map[string][]byte{}
	for ref := range held() {
		data[ref], _ = reader(held())(ref)
	}
	good := 0
	rapid.Check(t, func(t *rapid.T) {
		annotations := descriptions().Draw(t, "annotations")
		recipe, err := described(annotations)
		if err != nil {
			return // a rule without a name does not go with every path
		}
		needs, _ := recipe.References(root)
		read := func(ref generate.Reference) (map[string][]byte, bool) {
			if !slicesContain(needs, ref) {
				t.Fatalf("%s is read and was not listed", ref)
			}
			return data[ref], data[ref] != nil
		}
		made, err := recipe.Make(root, read)
		again, errAgain := recipe.Make(runtime.DeepCopyJSON(root), read)
		if !reflect.DeepEqual(made, again) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("made %v (%v), and then %v (%v)", made, err, again, errAgain)
		}
		if err == nil {
			good++
		}
		checkMade(t, made, err, data)
	})
	if good == 0 {
		t.Error("nothing was ever made")
	}
	if !reflect.DeepEqual(root, untouched) {
		t.Error("the service was changed")
	}
}

func slicesContain(needs []generate.Need, ref generate.Reference) bool {
	for _, need := range needs {
		if need.Reference == ref {
			return true
		}
	}
	return false
}

// checkMade holds that each entry is a copy of what its key says, and that there is none beside an error, which holds no value.
func checkMade(t *rapid.T, made *generate.Made, err error, data map[generate.Reference]map[string][]byte) {
	if err != nil {
		if strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "hannah") || made != nil {
			t.Fatalf("made %v; the error is %v", made, err)
		}
		return
	}
	if len(made.Data) != len(made.Keys) {
		t.Fatalf("%d entries and %d keys", len(made.Data), len(made.Keys))
	}
	for _, key := range made.Keys {
		if problems := validation.IsConfigMapKey(key.Name); made.Data[key.Name] == nil || len(problems) > 0 {
			t.Fatalf("entry %q: %v", key.Name, problems)
		}
		if key.Reference != nil {
			checkCopy(t, key, made.Data[key.Name], data[*key.Reference][key.Entry])
		}
	}
}

func checkCopy(t *rapid.T, key generate.Key, value, source []byte) {
	if string(source) != string(value) {
		t.Fatalf("entry %q is not %s of %s", key.Name, key.Entry, key.Reference)
	}
	if len(value) > 0 && &value[0] == &source[0] {
		t.Fatalf("entry %q shares its bytes with its source", key.Name)
	}
}
