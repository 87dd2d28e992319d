package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFairTakesTurns(t *testing.T) {
	t.Parallel()
	q := newFair(func(key string) string { return key[:1] })
	var got []string
	pop := func(n int) {
		for range n {
			got = append(got, q.Pop())
		}
	}
	push := func(keys ...string) {
		for _, key := range keys {
			q.Push(key)
		}
	}
	push("a1", "a2", "a3", "a4")
	pop(1)
	push("b1", "c1", "b2")
	pop(4)
	push("c2", "a5")
	pop(4)
	// Who comes waits for one key of each that is there; who is alone is served in order.
	want := []string{"a1", "a2", "b1", "c1", "a3", "b2", "a4", "c2", "a5"}
	if q.Len() != 0 {
		t.Errorf("%d keys are left", q.Len())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys in their order (-want +got):\n%s", diff)
	}
	if len(q.waiting) != 0 || len(q.turns) != 0 {
		t.Errorf("an empty queue remembers %v, %v", q.waiting, q.turns)
	}
}
