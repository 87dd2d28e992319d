package main

import (
	"math"
	"slices"
	"time"
)

// latency sums up how long each of many things took, in milliseconds.
type latency struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func newLatency(times []time.Duration) latency {
	sorted := slices.Sorted(slices.Values(times))
	return latency{
		P50: milliseconds(percentile(sorted, 50)),
		P90: milliseconds(percentile(sorted, 90)),
		P99: milliseconds(percentile(sorted, 99)),
		Max: milliseconds(percentile(sorted, 100)),
	}
}

// percentile returns the smallest of the sorted times that p of a hundred do not exceed; zero where there are none.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// median returns the middle value, the mean of the two where there is no one; zero for none.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

func milliseconds(d time.Duration) float64 { return rounded(float64(d) / float64(time.Millisecond)) }

// rounded keeps three decimals, which is more than any figure here is good for.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }
