package bindings_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

// entries makes what was read comparable, which nothing but a test does.
func entries(set bindings.Set) map[string]bindingstest.Entries {
	found := map[string]bindingstest.Entries{}
	for b := range set.All() {
		found[b.Name()] = bindingstest.Entries{}
		for _, name := range b.Entries() {
			value, _ := b.Value(name)
			found[b.Name()][name] = string(value.Bytes())
		}
	}
	return found
}

func read(t *testing.T, root string) bindings.Set {
	t.Helper()
	set, err := bindings.FromDir(root)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestFixturesAreRead(t *testing.T) {
	t.Parallel()
	for _, fixture := range bindingstest.Fixtures() {
		t.Run(fixture.Name, func(t *testing.T) {
			t.Parallel()
			root := bindingstest.New(t)
			fixture.Lay(root)
			set := read(t, root.Path())
			if diff := cmp.Diff(fixture.Want, entries(set)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", fixture.Reason, diff)
			}
			for name, kind := range fixture.Types {
				if found := set.Select(bindings.Query{Name: name, Type: kind}); len(found) != 1 {
					t.Errorf("%s: %d bindings %s of type %q", fixture.Reason, len(found), name, kind)
				}
			}
		})
	}
}

func TestFromEnv(t *testing.T) {
	root := bindingstest.New(t)
	root.Add("db", bindingstest.Entries{"type": "mysql"})
	root.Setenv()
	set, err := bindings.FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	if set.Len() != 1 || set.Root() != root.Path() {
		t.Errorf("read %v", set)
	}
	t.Setenv(bindings.RootVariable, "")
	if _, err := bindings.FromEnv(); !isRootError(err, "") {
		t.Errorf("error %v, want a RootError", err)
	}
}

func isRootError(err error, root string) bool {
	var missing *bindings.RootError
	return errors.As(err, &missing) && missing.Root == root
}

func TestRootThatIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"", filepath.Join(dir, "absent"), file} {
		if _, err := bindings.FromDir(root); !isRootError(err, root) {
			t.Errorf("reading %q: error %v, want a RootError", root, err)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.Add("orders", bindingstest.Entries{"type": "postgresql", "provider": "Example\n"})
	root.Add("users", bindingstest.Entries{"type": "PostgreSQL", "provider": "other"})
	root.Add("cache", bindingstest.Entries{"type": "redis\n"})
	set := read(t, root.Path())
	for reason, test := range map[string]struct {
		query bindings.Query
		want  string
	}{
		"by name":                      {bindings.Query{Name: "users"}, "users"},
		"by type, case does not count": {bindings.Query{Type: " REDIS "}, "cache"},
		"by type and provider":         {bindings.Query{Type: "postgresql", Provider: "example"}, "orders"},
	} {
		got, err := set.Find(test.query)
		if err != nil || got.Name() != test.want {
			t.Errorf("%s: found %v (%v), want %s", reason, got, err, test.want)
		}
	}
	if b, err := set.OneOf("postgresql", "other"); err != nil || !b.Is("PostgreSQL", "OTHER") || b.Provider() != "other" {
		t.Errorf("found %v (%v)", b, err)
	}
}

func TestFindRefusesToGuess(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.Add("orders", bindingstest.Entries{"type": "postgresql"})
	root.Add("users", bindingstest.Entries{"type": "PostgreSQL"})
	root.Add("cache", bindingstest.Entries{"type": "redis"})
	set := read(t, root.Path())
	var none *bindings.NoneError
	if _, err := set.One("kafka"); !errors.As(err, &none) || len(none.Others) != 3 {
		t.Errorf("error %v, want a NoneError", err)
	}
	if _, err := set.Named("absent"); !errors.As(err, &none) {
		t.Errorf("error %v, want a NoneError", err)
	}
	var several *bindings.SeveralError
	if _, err := set.One("postgresql"); !errors.As(err, &several) || !cmp.Equal(several.Names, []string{"orders", "users"}) {
		t.Errorf("error %v, want a SeveralError", err)
	}
}

func TestEntriesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.AddPlain("db", bindingstest.Entries{"type": "mysql"})
	large, err := os.Create(filepath.Join(root.Path(), "db", "dump"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(large.Truncate(9<<20), large.Close()); err != nil {
		t.Fatal(err)
	}
	var unreadable *bindings.ReadError
	if _, err := bindings.FromDir(root.Path()); !errors.As(err, &unreadable) || unreadable.Binding != "db" {
		t.Errorf("error %v, want a ReadError", err)
	}
}

// A link that leads nowhere and a pipe are no entries. Opening the pipe would wait for ever.
func TestWhatIsNoFileIsNoEntry(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	want := bindingstest.Entries{"type": "mysql"}
	root.AddPlain("db", want)
	if err := os.Symlink("nowhere", filepath.Join(root.Path(), "db", "link")); err != nil {
		t.Fatal(err)
	}
	makePipe(t, filepath.Join(root.Path(), "db", "pipe"))
	if diff := cmp.Diff(map[string]bindingstest.Entries{"db": want}, entries(read(t, root.Path()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The link of a volume that leads nowhere is a fault of the volume, which must not look like an absent binding.
func TestVolumeWithoutData(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.AddPlain("db", bindingstest.Entries{"type": "mysql"})
	if err := os.Symlink("..gone", filepath.Join(root.Path(), "db", "..data")); err != nil {
		t.Fatal(err)
	}
	var unreadable *bindings.ReadError
	if _, err := bindings.FromDir(root.Path()); !errors.As(err, &unreadable) {
		t.Errorf("error %v, want a ReadError", err)
	}
}
