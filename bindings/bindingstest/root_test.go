package bindingstest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

// tree lists what lies below a directory: links with what they lead to, files with what they hold.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := strings.TrimPrefix(path, dir+"/")
		switch {
		case entry.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			all = append(all, name+" -> "+target)
			return err
		case entry.IsDir():
			all = append(all, name+"/")
			return nil
		default:
			text, err := os.ReadFile(path)
			all = append(all, name+" = "+string(text))
			return err
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAddAndRotateDoWhatAKubeletDoes(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.Add("db", bindingstest.Entries{"type": "mysql", "former": "x"})
	root.Rotate("db", bindingstest.Entries{"type": "mysql", "host": "h", "extra/file": "y"})
	const dated = "..2026_01_02_03_04_05.000000002"
	want := []string{
		dated + "/", dated + "/extra/", dated + "/extra/file = y", dated + "/host = h", dated + "/type = mysql", "..data -> " + dated,
		"extra -> ..data/extra", "host -> ..data/host", "type -> ..data/type",
	}
	if diff := cmp.Diff(want, tree(t, filepath.Join(root.Path(), "db"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlainDirectoriesChangeAndSubPathsDoNot(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	first, second := bindingstest.Entries{"type": "mysql", "former": "x"}, bindingstest.Entries{"type": "mysql", "host": "h"}
	root.AddPlain("plain", first)
	root.AddSubPath("mounted", first)
	root.Rotate("plain", second)
	root.Rotate("mounted", second)
	if diff := cmp.Diff([]string{"host = h", "type = mysql"}, tree(t, filepath.Join(root.Path(), "plain"))); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"former = x", "type = mysql"}, tree(t, filepath.Join(root.Path(), "mounted"))); diff != "" {
		t.Errorf("mounted (-want +got):\n%s", diff)
	}
	root.Remove("plain")
	root.Remove("mounted")
	if left := tree(t, root.Path()); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	e := bindingstest.Entries{"a": "1", "b": "2", "c": ""}
	if diff := cmp.Diff(bindingstest.Entries{"a": "3", "c": ""}, e.With(bindingstest.Entries{"a": "3", "b": ""})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if e["a"] != "1" {
		t.Error("the original changed")
	}
}
