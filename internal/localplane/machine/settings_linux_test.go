package machine

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestSettingsAreSavedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := SaveSettings(path, path); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(first, &values); err != nil || values["vm/overcommit_memory"] == "" {
		t.Fatalf("it saved %s: %v", first, err)
	}
	// Those of before the node count: a second start finds what the first one's kubelet made of them.
	if err := os.WriteFile(path, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SaveSettings(path, path); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(path); err != nil || string(second) != "{}" {
		t.Errorf("the second time it saved %s: %v", second, err)
	}
}

func TestRestoredSettingsAreForgotten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := SaveSettings(path, path); err != nil {
		t.Fatal(err)
	}
	if err := RestoreSettings(path, path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file stays: %v", err)
	}
}

// kernel stands for the kernel's settings, so that a test changes none of the machine's.
type kernel struct {
	t         *testing.T
	root, run string
}

func newKernel(t *testing.T) *kernel {
	t.Helper()
	k := &kernel{t: t, root: t.TempDir(), run: t.TempDir()}
	if err := os.Mkdir(filepath.Join(k.root, "kernel"), 0o700); err != nil {
		t.Fatal(err)
	}
	k.set("before")
	return k
}

func (k *kernel) set(value string) {
	k.t.Helper()
	if err := os.WriteFile(filepath.Join(k.root, "kernel/panic"), []byte(value), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kernel) is(want string) {
	k.t.Helper()
	if got, err := os.ReadFile(filepath.Join(k.root, "kernel/panic")); err != nil || string(got) != want {
		k.t.Errorf("the setting is %q, want %q: %v", got, want, err)
	}
}

func (k *kernel) pattern() string         { return filepath.Join(k.run, "node-*", "settings.json") }
func (k *kernel) path(node string) string { return filepath.Join(k.run, "node-"+node, "settings.json") }

func (k *kernel) up(node string) {
	k.t.Helper()
	if err := os.MkdirAll(filepath.Dir(k.path(node)), 0o700); err != nil {
		k.t.Fatal(err)
	}
	if err := saveSettings(k.root, k.path(node), k.pattern()); err != nil {
		k.t.Fatal(err)
	}
	k.set("of a node")
}

func (k *kernel) down(node string) {
	k.t.Helper()
	if err := restoreSettings(k.root, k.path(node), k.pattern()); err != nil {
		k.t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(k.path(node)), "*")); err != nil || len(left) > 0 {
		k.t.Errorf("down leaves %v: %v", left, err)
	}
}

// A second node finds the settings as the first one's kubelet made them, and neither may take them from under the other.
func TestTheLastNodeRestoresTheSettings(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"first", "second"}, {"second", "first"}} {
		k := newKernel(t)
		k.up("first")
		k.up("second")
		k.down(order[0])
		k.is("of a node")
		k.down(order[1])
		k.is("before")
	}
}

// Down may be killed before it has put the settings back: what comes next still knows them.
func TestRestoringThatWasCutShort(t *testing.T) {
	t.Parallel()
	for reason, next := range map[string]func(*kernel){
		"down again":   func(*kernel) {},
		"up, and down": func(k *kernel) { k.up("first") },
		"another node": func(k *kernel) { k.up("second"); k.down("first"); k.is("of a node"); k.up("first"); k.down("second") },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			k := newKernel(t)
			k.up("first")
			if err := os.Rename(k.path("first"), k.path("first")+leaving); err != nil {
				t.Fatal(err)
			}
			next(k)
			k.down("first")
			k.is("before")
		})
	}
}
