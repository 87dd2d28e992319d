package jsonpath_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

func parse(t *testing.T, expression string) *jsonpath.Path {
	t.Helper()
	path, err := jsonpath.Parse(expression)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestValues(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason, expression string
		want               []any
	}{
		{"one", ".kind", []any{"Thing"}},
		{"several, in the order of Find", ".items[*].name", []any{"a", "b", "c"}},
		{"null is a value", ".nothing", []any{nil}},
		{"none", ".missing", []any{}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, test.expression).Values(tree(t, document))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
	var wrong *jsonpath.TypeError
	if _, err := parse(t, ".kind.name").Values(tree(t, document)); !errors.As(err, &wrong) {
		t.Errorf("got %v, want a TypeError", err)
	}
}

func TestBudgetIsShared(t *testing.T) {
	t.Parallel()
	const together = "nodes for all paths together"
	path := parse(t, "[*]")
	list := nested(0, objects(900)) // some 3,600 nodes and levels of places
	tests := []struct {
		reason string
		nodes  int
		want   int
		what   string
	}{
		{"none is left at once", 100, 0, together},
		{"one fits", 5_000, 1, together},
		{"several fit, and more than one evaluation may cost", 60_000, 16, together},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			budget := jsonpath.NewBudget(test.nodes)
			done := 0
			var err error
			for ; done < 1000 && err == nil; done++ {
				_, err = budget.Values(path, list)
			}
			var limit *jsonpath.LimitError
			if !errors.As(err, &limit) || limit.What != test.what || done-1 != test.want {
				t.Errorf("after %d evaluations: %v", done-1, err)
			}
			if _, err := budget.Values(path, list); err == nil {
				t.Error("a budget that is spent paid for one more")
			}
		})
	}
}

func TestBudgetLeavesTheBoundOfOne(t *testing.T) {
	t.Parallel()
	var limit *jsonpath.LimitError
	budget := jsonpath.NewBudget(3 * jsonpath.MaxVisits)
	_, err := budget.Values(parse(t, ".*"), manyKeys(100_000))
	if !errors.As(err, &limit) || limit.Limit != jsonpath.MaxVisits {
		t.Errorf("got %v", err)
	}
	if _, err := budget.Values(parse(t, ".a"), deepTree(1)); err != nil {
		t.Errorf("the budget did not pay for the next: %v", err)
	}
}
