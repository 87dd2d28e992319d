package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/internal/watch"
)

// clock is a time that stands still until it is moved.
type clock struct{ at time.Time }

func newClock() *clock                   { return &clock{at: time.Unix(1_000_000, 0)} }
func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

func workloadKey(name string) watch.WorkloadKey {
	return watch.WorkloadKey{
		Kind:           schema.GroupKind{Group: "apps", Kind: "Deployment"},
		NamespacedName: types.NamespacedName{Namespace: "shop", Name: name},
	}
}

func TestGatheringWaitsForTheLast(t *testing.T) {
	t.Parallel()
	const window = time.Second
	c := newClock()
	g := newGathering(window, c.now)
	orders, carts := workloadKey("orders"), workloadKey("carts")
	if rest := g.rest(orders); rest != 0 {
		t.Errorf("a workload that nobody touched waits %s", rest)
	}
	if wait := g.touch(orders); wait != window {
		t.Errorf("the first binding lets it wait %s, want %s", wait, window)
	}
	c.advance(window / 2)
	if wait := g.touch(orders); wait != window {
		t.Errorf("the second binding lets it wait %s, want %s more", wait, window)
	}
	if rest := g.rest(carts); rest != 0 {
		t.Errorf("another workload waits %s", rest)
	}
	c.advance(window / 2)
	if rest := g.rest(orders); rest != window/2 {
		t.Errorf("it has %s to wait, want what is left: %s", rest, window/2)
	}
	c.advance(window / 2)
	if rest := g.rest(orders); rest != 0 {
		t.Errorf("it has %s to wait when the window is over", rest)
	}
	if len(g.pending) != 0 {
		t.Errorf("%d workloads are remembered when none waits", len(g.pending))
	}
}

func TestGatheringEndsThoughBindingsKeepComing(t *testing.T) {
	t.Parallel()
	const window = time.Second
	c := newClock()
	g := newGathering(window, c.now)
	key := workloadKey("orders")
	began := c.now()
	for g.touch(key); g.rest(key) > 0; g.touch(key) {
		c.advance(window / 4)
		if c.now().Sub(began) > 2*longestGather*window {
			t.Fatal("it waits for ever")
		}
	}
	if waited := c.now().Sub(began); waited != longestGather*window {
		t.Errorf("it waited %s, want %s", waited, longestGather*window)
	}
}

func TestGatheringWithoutAWindowWaitsNever(t *testing.T) {
	t.Parallel()
	c := newClock()
	g := newGathering(0, c.now)
	key := workloadKey("orders")
	if wait := g.touch(key); wait != 0 {
		t.Errorf("it waits %s", wait)
	}
	if rest := g.rest(key); rest != 0 {
		t.Errorf("it has %s to wait", rest)
	}
}

// TestGatheringLaws: however bindings come, a workload waits at most a window after the last of them, and at most the
// longest time after the first.
func TestGatheringLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		window := time.Duration(rapid.Int64Range(1, 1000).Draw(t, "window")) * time.Millisecond
		c := newClock()
		g := newGathering(window, c.now)
		key := workloadKey("orders")
		var first, last time.Time
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			c.advance(time.Duration(rapid.Int64Range(0, 1500).Draw(t, "pass")) * time.Millisecond)
			if rapid.Bool().Draw(t, "touch") {
				g.touch(key)
				if first.IsZero() {
					first = c.now()
				}
				last = c.now()
				continue
			}
			until := last.Add(window)
			if latest := first.Add(longestGather * window); latest.Before(until) {
				until = latest
			}
			want := max(0, until.Sub(c.now()))
			if first.IsZero() {
				want = 0
			}
			if got := g.rest(key); got != want {
				t.Fatalf("it has %s to wait, want %s", got, want)
			}
			if want == 0 {
				first, last = time.Time{}, time.Time{}
			}
		}
	})
}
