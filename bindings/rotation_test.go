package bindings_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

const (
	rotations = 1000
	readers   = 8
)

// generation makes entries that all say which generation they are of, one of them long enough to be torn.
func generation(n int) bindingstest.Entries {
	e := bindingstest.Entries{"type": "test", "blob": strings.Repeat(strconv.Itoa(n%10), 16<<10)}
	for i := range 8 {
		e[fmt.Sprintf("entry-%d", i)] = strconv.Itoa(n)
	}
	// Entries come and go, too, as they do where a producer changes its mind.
	e[fmt.Sprintf("only-%d", n%3)] = strconv.Itoa(n)
	return e
}

// mixed says what of a binding is not of one generation; "" for nothing.
func mixed(b *bindings.Binding) string {
	first, err := b.First("entry-0")
	if err != nil {
		return err.Error()
	}
	n, err := strconv.Atoi(first.Text())
	if err != nil {
		return err.Error()
	}
	want := generation(n)
	if len(b.Entries()) != len(want) {
		return fmt.Sprintf("generation %d with entries %v", n, b.Entries())
	}
	for name, text := range want {
		if v, ok := b.Value(name); !ok || string(v.Bytes()) != text {
			return fmt.Sprintf("generation %d with another %s", n, name)
		}
	}
	return ""
}

// rotate runs readers while a root is rotated. They read a few times a rotation, not all the time, so that on a machine with
// few processors the rotations get on.
func rotate(t *testing.T, lay, again func(*bindingstest.Root, bindingstest.Entries), times int) {
	t.Helper()
	root := bindingstest.New(t)
	lay(root, generation(0))
	var (
		all   sync.WaitGroup
		reads atomic.Int64
		turns = make(chan struct{}, 2*readers)
	)
	for range readers {
		all.Go(func() {
			for range turns {
				if wrong := readOnce(root.Path()); wrong != "" {
					t.Error(wrong)
				}
				reads.Add(1)
			}
		})
	}
	for n := range times {
		for len(turns) < cap(turns) {
			turns <- struct{}{}
		}
		again(root, generation(n+1))
	}
	close(turns)
	all.Wait()
	t.Logf("%d readings during %d rotations", reads.Load(), times)
	if wrong := readOnce(root.Path()); wrong != "" || reads.Load() < int64(times) {
		t.Errorf("after the last rotation: %s; %d readings", wrong, reads.Load())
	}
}

// readOnce says what is wrong with a reading; "" for nothing.
func readOnce(root string) string {
	set, err := bindings.FromDir(root)
	if err != nil {
		return fmt.Sprintf("reading: %v", err)
	}
	b, err := set.Named("db")
	if err != nil {
		return err.Error()
	}
	return mixed(b)
}

func TestNoReadIsMixed(t *testing.T) {
	t.Parallel()
	t.Run("one volume a binding", func(t *testing.T) {
		t.Parallel()
		rotate(t, func(r *bindingstest.Root, e bindingstest.Entries) { r.Add("db", e) },
			func(r *bindingstest.Root, e bindingstest.Entries) { r.Rotate("db", e) }, rotations)
	})
	t.Run("one volume for all", func(t *testing.T) {
		t.Parallel()
		lay := func(r *bindingstest.Root, e bindingstest.Entries) {
			r.Replace(map[string]bindingstest.Entries{"db": e, "other": {"type": "test"}})
		}
		rotate(t, lay, lay, rotations)
	})
}
