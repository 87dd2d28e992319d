package bindings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

// settle makes the files of a binding look as if they had been written long ago, after which they are read only once.
func settle(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	former := time.Now().Add(-time.Hour)
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			if err := os.Chtimes(path, former, former); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A link to itself leads nowhere, as one to an absent file does, however old the files beside it are.
func TestLinkToItselfIsNoEntry(t *testing.T) {
	t.Parallel()
	want := bindingstest.Entries{"type": "mysql"}
	for reason, prepare := range map[string]func(*testing.T, string){
		"new files": func(*testing.T, string) {},
		"old files": settle,
	} {
		root := bindingstest.New(t)
		root.AddPlain("db", want)
		dir := filepath.Join(root.Path(), "db")
		if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
			t.Fatal(err)
		}
		prepare(t, dir)
		if diff := cmp.Diff(map[string]bindingstest.Entries{"db": want}, entries(read(t, root.Path()))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}

// What lies in a directory without a type is nobody's business: it keeps no binding from being read.
func TestDirectoryWithoutTypeIsNotRead(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	want := bindingstest.Entries{"type": "mysql"}
	root.Add("db", want)
	root.AddPlain("backup", bindingstest.Entries{"note": "x"})
	if err := os.Truncate(filepath.Join(root.Path(), "backup", "note"), 9<<20); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bindingstest.Entries{"db": want}, entries(read(t, root.Path()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A directory that gets a type becomes a binding, and is none any more when the type goes.
func TestTypeComesAndGoes(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.AddPlain("db", bindingstest.Entries{"host": "h"})
	s := watch(t, root.Path())
	s.until(map[string]bindingstest.Entries{})
	root.AddPlain("db", bindingstest.Entries{"type": "mysql"})
	s.until(one(bindingstest.Entries{"type": "mysql", "host": "h"}))
	root.Rotate("db", bindingstest.Entries{"host": "h"})
	s.until(map[string]bindingstest.Entries{})
}

// A path through a file, and a link to itself, name no directory.
func TestRootThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, loop := filepath.Join(dir, "file"), filepath.Join(dir, "loop")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("loop", loop)); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{filepath.Join(file, "below"), loop} {
		if _, err := bindings.FromDir(root); !isRootError(err, root) {
			t.Errorf("reading %q: error %v, want a RootError", root, err)
		}
	}
}

// An entry that is there and empty is not to be added, but to be filled.
func TestMissingSaysWhetherItIsEmpty(t *testing.T) {
	t.Parallel()
	for _, empty := range []bool{true, false} {
		entries := bindingstest.Entries{}
		if empty {
			entries["host"] = "\n"
		}
		_, err := postgresURL(bound(t, entries))
		var missing *bindings.MissingError
		if !errors.As(err, &missing) || missing.Empty != empty || strings.Contains(err.Error(), "is empty") != empty {
			t.Errorf("error %v, want a MissingError, empty: %v", err, empty)
		}
	}
}

// Producers leave out what they have no value for by leaving it empty; the other spelling then counts.
func TestEmptyEntryGivesWayToAnotherSpelling(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		build   builder
		entries bindingstest.Entries
		want    string
	}{
		{postgresURL, bindingstest.Entries{"host": "db", "username": "\n", "user": "u", "dbname": "d"}, "postgresql://u@db:5432/d"},
		{mysqlDSN, bindingstest.Entries{"host": "\n", "uri": "mysql://u:p@db/d"}, "u:p@tcp(db:3306)/d"},
		{amqpURI, bindingstest.Entries{"host": "\n", "addresses": "mq:1"}, "amqp://mq:1"},
	} {
		got, err := test.build(bound(t, test.entries))
		if err != nil || got.Text() != test.want {
			t.Errorf("%v makes %q (%v), want %q", test.entries, got.Text(), err, test.want)
		}
	}
}
