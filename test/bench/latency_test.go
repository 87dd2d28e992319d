package main

import (
	"testing"
	"time"
)

func TestNewLatency(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 0, 100)
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i)*time.Millisecond)
	}
	for _, test := range []struct {
		reason string
		times  []time.Duration
		want   latency
	}{
		{"none", nil, latency{}},
		{"one", []time.Duration{1500 * time.Microsecond}, latency{1.5, 1.5, 1.5, 1.5}},
		{"two: the half is the first", []time.Duration{2e6, 1e6}, latency{1, 2, 2, 2}},
		{"a hundred, unsorted", hundred, latency{50, 90, 99, 100}},
	} {
		if got := newLatency(test.times); got != test.want {
			t.Errorf("%s: got %v, want %v", test.reason, got, test.want)
		}
	}
	if hundred[0] != 100*time.Millisecond {
		t.Error("the input was sorted")
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{5, 1}, 3},
		{[]float64{9, 1, 4}, 4},
	} {
		if got := median(test.values); got != test.want {
			t.Errorf("%v: got %v, want %v", test.values, got, test.want)
		}
	}
}
