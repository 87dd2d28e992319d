package main

import (
	"strings"
	"testing"
	"time"
)

func TestWriteRun(t *testing.T) {
	t.Parallel()
	times := func(ms ...int) []time.Duration {
		var list []time.Duration
		for _, n := range ms {
			list = append(list, time.Duration(n)*time.Millisecond)
		}
		return list
	}
	var out strings.Builder
	ways := []*way{{name: "directly", times: times(3, 1, 2)}, {name: "bowline run", times: times(72, 92, 82)}}
	if err := writeRun(&out, ways, times(5), 31.25); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"directly 2.0 3.0 0.0", "bowline run 82.0 92.0 80.0", "after 5.0 5.0", "31.2 MiB"} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}
