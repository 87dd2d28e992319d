package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// The sides that are compared.
const (
	sideBowline = "bowline"
	sideFloor   = "floor"
)

// report is all that was measured, and on what.
type report struct {
	Machine machine  `json:"machine"`
	Setting settings `json:"settings"`
	Plane   string   `json:"controlPlane"`
	Results []result `json:"results"`
	Summary summary  `json:"summary"`
}

// machine is what it was measured on.
type machine struct {
	Cores    int    `json:"cores"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// result is one run of one side.
type result struct {
	Side    string   `json:"side"`
	Round   int      `json:"round"`
	Bind    phase    `json:"bind"`
	Restart *restart `json:"restart,omitempty"`
	Unbind  *phase   `json:"unbind,omitempty"`
	// PeakMiB is the controller's most resident memory by the time that everything was bound.
	PeakMiB float64 `json:"peakMiB,omitempty"`
}

// summary compares the medians of the rounds.
type summary struct {
	Bowline float64 `json:"bowlinePerSecond"`
	Floor   float64 `json:"floorPerSecond"`
	// Ratio is Bowline's throughput as a part of the floor's; zero when one of them was not measured.
	Ratio float64 `json:"ratio"`
	// BowlineCPU and FloorCPU are the processor milliseconds that a binding cost all that took part. They hold even where
	// other programs slow everything down.
	BowlineCPU float64 `json:"bowlineCpuMilliseconds"`
	FloorCPU   float64 `json:"floorCpuMilliseconds"`
}

func summarize(results []result, n int) summary {
	rates, costs := map[string][]float64{}, map[string][]float64{}
	for _, r := range results {
		rates[r.Side] = append(rates[r.Side], r.Bind.PerSecond)
		costs[r.Side] = append(costs[r.Side], rounded(r.Bind.ownSeconds()*1000/float64(n)))
	}
	s := summary{
		Bowline: median(rates[sideBowline]), Floor: median(rates[sideFloor]),
		BowlineCPU: median(costs[sideBowline]), FloorCPU: median(costs[sideFloor]),
	}
	if s.Floor > 0 {
		s.Ratio = rounded(s.Bowline / s.Floor)
	}
	return s
}

// writeJSON writes the report for programs.
func (r report) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// writeText writes the report for people.
func (r report) writeText(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%d bindings, %d workers; %d cores, %s, %s\n",
		r.Setting.N, r.Setting.Workers, r.Machine.Cores, r.Machine.Go, r.Machine.Platform)
	fmt.Fprintf(&text, "control plane: %s\n", r.Plane)
	if len(r.Setting.Arguments) > 0 {
		fmt.Fprintf(&text, "further arguments of the controller: %s\n", strings.Join(r.Setting.Arguments, " "))
	}
	text.WriteString("\n")
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range r.rows() {
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t")+"\t") // into memory
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	for _, result := range r.Results {
		result.explain(&text, r.Setting.N)
	}
	if r.Summary.Ratio > 0 {
		fmt.Fprintf(&text, "\nBowline / floor: %.1f / %.1f bindings a second = %.2f (medians; rounds: %d)\n",
			r.Summary.Bowline, r.Summary.Floor, r.Summary.Ratio, r.Setting.Rounds)
		fmt.Fprintf(&text, "CPU of all that took part, each binding: Bowline %.1f ms, floor %.1f ms\n",
			r.Summary.BowlineCPU, r.Summary.FloorCPU)
		if r.disturbed() {
			text.WriteString("Other programs used more than a tenth of the machine: compare the CPU, not the time.\n")
		}
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// disturbed says whether other programs took so much of the machine in some phase that its times say little.
func (r report) disturbed() bool {
	const tenth = 0.1
	return slices.ContainsFunc(r.Results, func(one result) bool {
		return one.Bind.CPUSeconds[others] > tenth*one.Bind.Seconds*float64(r.Machine.Cores)
	})
}

// rows are the table, one row a phase.
func (r report) rows() [][]string {
	rows := [][]string{{
		"round", "", "seconds", "per second", "p50 ms", "p90 ms", "p99 ms", "max ms", "writes each", "live reads", "CPU ms each", "of controller",
	}}
	for _, result := range r.Results {
		rows = append(rows, result.Bind.row(result, "bind", r.Setting.N))
		if result.Unbind != nil {
			rows = append(rows, result.Unbind.row(result, "unbind", r.Setting.N))
		}
	}
	return rows
}

func (p phase) row(of result, what string, n int) []string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }
	row := []string{
		strconv.Itoa(of.Round), of.Side + " " + what,
		strconv.FormatFloat(p.Seconds, 'f', 2, 64), strconv.FormatFloat(p.PerSecond, 'f', 1, 64),
		number(p.Latency.P50), number(p.Latency.P90), number(p.Latency.P99), number(p.Latency.Max),
	}
	if of.Side == sideFloor { // its writes are this program's own, two each
		return append(row, "2", "0", each(p.ownSeconds(), n), "-")
	}
	return append(row, strconv.FormatFloat(float64(p.Writes)/float64(n), 'f', 2, 64),
		strconv.FormatInt(p.Reads, 10), each(p.ownSeconds(), n), each(p.CPUSeconds[controllerProcess], n))
}

// ownSeconds is the time used by all that took part: the driver, the API server, etcd and the controller.
func (p phase) ownSeconds() float64 {
	var sum float64
	for name, seconds := range p.CPUSeconds {
		if name != others {
			sum += seconds
		}
	}
	return sum
}

// each returns seconds as milliseconds for each of n.
func each(seconds float64, n int) string {
	return strconv.FormatFloat(seconds*1000/float64(n), 'f', 1, 64)
}

// explain tells what the table has no room for.
func (r result) explain(w *strings.Builder, n int) {
	fmt.Fprintf(w, "\nround %d, %s\n", r.Round, r.Side)
	r.Bind.explain(w, "bind", n)
	if r.Side == sideFloor {
		return
	}
	fmt.Fprintf(w, "  writes per binding (Bowline): %.2f; live reads (GET/LIST by Bowline) in the phase: %d\n",
		float64(r.Bind.Writes)/float64(n), r.Bind.Reads)
	fmt.Fprintf(w, "  peak memory of the controller: %.1f MiB\n", r.PeakMiB)
	if r.Restart != nil {
		fmt.Fprintf(w, "  restart with %d bound: ready after %.2f s; writes to bindings and workloads until idle: %d\n",
			n, r.Restart.Seconds, r.Restart.Writes)
		explainRequests(w, r.Restart.Requests, n)
	}
	if r.Unbind != nil {
		r.Unbind.explain(w, "unbind", n)
	}
}

func (p phase) explain(w *strings.Builder, what string, n int) {
	var used []string
	for _, name := range slices.Sorted(maps.Keys(p.CPUSeconds)) {
		used = append(used, fmt.Sprintf("%s %.2f", name, p.CPUSeconds[name]))
	}
	fmt.Fprintf(w, "  %s: CPU seconds: %s\n", what, strings.Join(used, ", "))
	explainRequests(w, p.Requests, n)
}

func explainRequests(w *strings.Builder, requests []requestCount, n int) {
	if len(requests) == 0 {
		w.WriteString("    no request but the driver's own\n")
	}
	for _, r := range requests {
		refused := ""
		if r.Refused {
			refused = " (refused)"
		}
		fmt.Fprintf(w, "    %8.3f per binding  %6d  %s %s%s\n", float64(r.Count)/float64(n), r.Count, r.Verb, r.Resource, refused)
	}
}
