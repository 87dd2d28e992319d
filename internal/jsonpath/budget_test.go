package jsonpath_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

func parsed(t *testing.T, expression string) *jsonpath.Path {
	t.Helper()
	path, err := jsonpath.Parse(expression)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBudgetGivesWhatFindFinds(t *testing.T) {
	t.Parallel()
	root := tree(t, document)
	for _, expression := range []string{".", ".kind", ".a.b", "..name", ".items[0,0,-3].name", ".annotations.*", ".items[?(@.size>1)]"} {
		path := parsed(t, expression)
		matches, err := path.Find(root)
		if err != nil {
			t.Fatal(err)
		}
		want := []any{}
		for _, m := range matches {
			want = append(want, m.Value)
		}
		got, err := jsonpath.NewBudget(jsonpath.MaxVisits).Values(path, root)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-find +values):\n%s", expression, diff)
		}
	}
}

func TestBudgetRunsOut(t *testing.T) {
	t.Parallel()
	budget, root := jsonpath.NewBudget(20), tree(t, document)
	var err error
	times := 0
	for ; err == nil && times < 100; times++ {
		_, err = budget.Values(parsed(t, ".kind"), root)
	}
	var limit *jsonpath.LimitError
	if !errors.As(err, &limit) || limit.Limit != 20 {
		t.Errorf("after %d evaluations the error is %v, want a *LimitError", times, err)
	}
	if times < 3 || times > 20 {
		t.Errorf("the budget lasted for %d evaluations", times)
	}
}

func TestLastField(t *testing.T) {
	t.Parallel()
	tests := map[string]string{".a.b": "b", "['x.y']": "x.y", ".items[*].name": "name", ".items[0]": "", "$": "", ".*": "", "..name": "name"}
	for expression, want := range tests {
		got, ok := parsed(t, expression).LastField()
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", expression, got, ok, want)
		}
	}
}
