package main

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestSpent(t *testing.T) {
	t.Parallel()
	got := spent(map[string]float64{whole: 100, "a": 10, "b": 5}, map[string]float64{whole: 110, "a": 14, "b": 6})
	want := map[string]float64{"a": 4, "b": 1, others: 5}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
}
