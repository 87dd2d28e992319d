package check_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/check"
)

// What kubectl takes for several objects is several objects, and nothing behind the first is passed over without a word.
func TestJSONObjectsInARow(t *testing.T) {
	t.Parallel()
	const one = `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}`
	const two = `{"apiVersion": "v1", "kind": "Secret",
"metadata": {"name": "b"}}`
	objects, err := check.Parse("a.json", "\n"+one+"\n"+two+one+"\n---\n"+two+"\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range objects {
		got = append(got, objects[i].GetName()+" "+objects[i].Origin)
	}
	if diff := cmp.Diff([]string{"a a.json:2", "b a.json:3", "a a.json:4", "b a.json:6"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for reason, text := range map[string]string{
		"half an object":    one + "\n" + two[:20],
		"no object":         one + "\n[" + one + "]",
		"the same twice":    one + "\n" + strings.Replace(two, `"kind"`, `"kind": "hunter2", "kind"`, 1),
		"words behind it":   one + "\nhunter2",
		"YAML behind it":    one + "\napiVersion: hunter2",
		"another's bracket": one + "}",
	} {
		_, err := check.Parse("a.json", text)
		if wrong, ok := errors.AsType[*check.ManifestError](err); !ok || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", reason, err)
		} else if !strings.HasPrefix(wrong.Origin, "a.json:") {
			t.Errorf("%s: it is at %s", reason, wrong.Origin)
		}
	}
}

// YAML may begin with a bracket, too.
func TestYAMLInBrackets(t *testing.T) {
	t.Parallel()
	objects, err := check.Parse("a.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: a}}\n")
	if err != nil || len(objects) != 1 {
		t.Errorf("%d objects (%v)", len(objects), err)
	}
}

func TestSecretTypeThatIsNoText(t *testing.T) {
	t.Parallel()
	objects, err := check.Parse("a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: [hunter2]\n")
	if err == nil {
		_, err = check.Subjects(objects, check.Manifests)
	}
	if _, ok := errors.AsType[*check.ManifestError](err); !ok || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}
