package bindings_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

// patience is for a machine that has much else to do.
const patience = time.Minute

// sights is a watch that is asked for one state after the other.
type sights struct {
	t    *testing.T
	next func() (bindings.Set, error, bool)
}

func watch(t *testing.T, root string) *sights {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	next, stop := iter.Pull2(bindings.Watcher{Root: root, Interval: time.Millisecond}.Watch(ctx))
	t.Cleanup(func() { stop(); cancel() })
	return &sights{t: t, next: next}
}

// until reads on until a state is seen.
func (s *sights) until(want map[string]bindingstest.Entries) {
	s.t.Helper()
	for {
		set, err, ok := s.next()
		if !ok {
			s.t.Fatalf("the watch ended before it saw %v", want)
		}
		if err == nil && cmp.Equal(want, entries(set)) {
			return
		}
	}
}

func one(entries bindingstest.Entries) map[string]bindingstest.Entries {
	return map[string]bindingstest.Entries{"db": entries}
}

func TestWatchSeesEveryKindOfChange(t *testing.T) {
	t.Parallel()
	first, second := bindingstest.Entries{"type": "mysql", "password": "one"}, bindingstest.Entries{"type": "mysql", "password": "two"}
	for name, lay := range map[string]func(*bindingstest.Root, bindingstest.Entries){
		"kubelet volume":      func(r *bindingstest.Root, e bindingstest.Entries) { r.Add("db", e) },
		"plain directory":     func(r *bindingstest.Root, e bindingstest.Entries) { r.AddPlain("db", e) },
		"one volume for all":  func(r *bindingstest.Root, e bindingstest.Entries) { r.Replace(one(e)) },
		"file by file, again": func(r *bindingstest.Root, e bindingstest.Entries) { r.AddPlain("db", e) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := bindingstest.New(t)
			s := watch(t, root.Path())
			s.until(map[string]bindingstest.Entries{})
			lay(root, first)
			s.until(one(first))
			lay(root, second)
			s.until(one(second))
			lay(root, first)
			s.until(one(first))
			root.Remove("db")
			s.until(map[string]bindingstest.Entries{})
		})
	}
}

// Two values of one length, written within one tick of the file system's clock, leave no trace but the value.
func TestWatchSeesAChangeThatLeavesNoTrace(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	first, second := bindingstest.Entries{"type": "mysql", "password": "one"}, bindingstest.Entries{"type": "mysql", "password": "two"}
	now := time.Now()
	lay := func(e bindingstest.Entries) {
		root.AddPlain("db", e)
		for name := range e {
			if err := os.Chtimes(filepath.Join(root.Path(), "db", name), now, now); err != nil {
				t.Fatal(err)
			}
		}
	}
	lay(first)
	s := watch(t, root.Path())
	s.until(one(first))
	lay(second)
	s.until(one(second))
}

func TestWatchGivesAnErrorOnceAndGoesOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bindings")
	s := watch(t, path)
	if _, err, ok := s.next(); !ok || !isRootError(err, path) {
		t.Fatalf("the first state is %v (%v), want a RootError", err, ok)
	}
	if err := os.MkdirAll(filepath.Join(path, "db"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "db", "type"), []byte("mysql"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.until(one(bindingstest.Entries{"type": "mysql"}))
}

func TestWatchEndsWithItsContext(t *testing.T) {
	root := bindingstest.New(t)
	root.Add("db", bindingstest.Entries{"type": "mysql"})
	root.Setenv()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	states := 0
	for set, err := range bindings.Watch(ctx) {
		if states++; err != nil || set.Len() != 1 {
			t.Errorf("the state is %v (%v)", set, err)
		}
		cancel() // a second state will not come
	}
	if states != 1 {
		t.Errorf("%d states", states)
	}
}

func TestWatchNeverGivesAMix(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.Add("db", generation(0))
	root.Add("still", bindingstest.Entries{"type": "test"})
	s := watch(t, root.Path())
	last := 100
	for n := range last {
		root.Rotate("db", generation(n+1))
		set, err, ok := s.next()
		if err != nil || !ok {
			t.Fatal(err, ok)
		}
		b, err := set.Named("db")
		if err != nil {
			t.Fatal(err)
		}
		if wrong := mixed(b); wrong != "" {
			t.Errorf("a mixed state: %s", wrong)
		}
	}
}
