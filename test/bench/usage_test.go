package main

import "testing"

func TestParseStat(t *testing.T) {
	t.Parallel()
	const tail = " S 1 2 3 4 5 6 7 8 9 10 150 75 11 12 20 0 9 0 100 1000 10\n"
	for _, test := range []struct {
		reason, text string
		want         float64
		bad          bool
	}{
		{reason: "a plain name", text: "7 (bowline)" + tail, want: 2.25},
		{reason: "a name with what separates fields", text: "7 (a b) (c)" + tail, want: 2.25},
		{reason: "too short", text: "7 (bowline) S 1 2", bad: true},
		{reason: "no number", text: "7 (x) S 1 2 3 4 5 6 7 8 9 10 many 75 11", bad: true},
	} {
		got, err := parseStat(test.text)
		if got != test.want || (err != nil) != test.bad {
			t.Errorf("%s: got %v, %v; want %v", test.reason, got, err, test.want)
		}
	}
}

func TestParseMachine(t *testing.T) {
	t.Parallel()
	got, err := parseMachine("cpu  100 20 30 4000 500 6 7 0 0 0\ncpu0 1 2 3 4 5 6 7 0 0 0\n")
	if got != 1.63 || err != nil {
		t.Errorf("got %v, %v; want 1.63", got, err)
	}
	if _, err := parseMachine("intr 1 2 3 4 5 6 7 8"); err == nil {
		t.Error("another line was accepted")
	}
}

func TestParsePeak(t *testing.T) {
	t.Parallel()
	got, err := parsePeak("Name:\tbowline\nVmPeak:\t  900000 kB\nVmHWM:\t   52736 kB\nVmRSS:\t 1 kB\n")
	if got != 51.5 || err != nil {
		t.Errorf("got %v, %v; want 51.5", got, err)
	}
	if _, err := parsePeak("Name:\tbowline\n"); err == nil {
		t.Error("a status without the line was accepted")
	}
}
