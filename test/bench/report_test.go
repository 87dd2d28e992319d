package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// testReport is of one round, with figures that are easy to follow.
func testReport() report {
	bowline := result{
		Side: sideBowline, Round: 1, PeakMiB: 60,
		Bind: phase{
			Seconds: 2, PerSecond: 5, Latency: latency{100, 200, 300, 400}, Writes: 20, Reads: 1,
			CPUSeconds: map[string]float64{controllerProcess: 0.1, "driver": 0.2, others: 9},
			Requests:   []requestCount{{"PATCH", "deployments", false, 10}, {"PATCH", "servicebindings/status", true, 10}},
		},
		Restart: &restart{Seconds: 1.5},
		Unbind:  &phase{Seconds: 1, PerSecond: 10},
	}
	floor := result{Side: sideFloor, Round: 1, Bind: phase{Seconds: 1, PerSecond: 10}}
	r := report{Machine: machine{Cores: 2}, Setting: settings{N: 10, Workers: 2, Rounds: 1}, Results: []result{bowline, floor}}
	r.Summary = summarize(r.Results, r.Setting.N)
	return r
}

func TestReportText(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := testReport().writeText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"10 bindings, 2 workers",
		"writes per binding (Bowline): 2.00; live reads (GET/LIST by Bowline) in the phase: 1",
		"restart with 10 bound: ready after 1.50 s; writes to bindings and workloads until idle: 0",
		"1.000 per binding      10  PATCH servicebindings/status (refused)",
		"no request but the driver's own",
		"  30.0 ", // own CPU time of each binding, without that of others
		"Bowline / floor: 5.0 / 10.0 bindings a second = 0.50",
		"each binding: Bowline 30.0 ms, floor 0.0 ms",
		"compare the CPU, not the time",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

func TestReportOfOneSide(t *testing.T) {
	t.Parallel()
	r := testReport()
	r.Results = r.Results[:1]
	r.Summary = summarize(r.Results, r.Setting.N)
	var out strings.Builder
	if err := r.writeText(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "Bowline / floor") {
		t.Errorf("one side is compared with nothing:\n%s", out.String())
	}
}

func TestReportJSON(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := testReport().writeJSON(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Summary struct {
			Ratio float64 `json:"ratio"`
		} `json:"summary"`
		Results []struct {
			Side string `json:"side"`
		} `json:"results"`
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Summary.Ratio != 0.5 || len(got.Results) != 2 || got.Results[1].Side != sideFloor {
		t.Errorf("got %+v", got)
	}
}
