// Command bench measures how fast Bowline binds, what it asks of the API server for it, and what it costs, against the
// floor: a plain client that makes only the two writes that each binding needs.
//
// It promises figures that were measured in this very run, on a real API server, and that each side did all of the work:
// every projection is checked. It refuses to judge: no time is too long, it fails only when something does not finish or
// is wrong.
//
// With -fairness it measures instead how long a small tenant's bindings take alone, beside a hostile tenant, and beside a
// large one.
//
// With -generation it measures how Secrets are made for a few of many services that annotations describe.
//
// It runs from the root of the repository, after "make build". What follows "--" is handed on to the controller.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/internal/feature"
)

// settings are what a person chooses.
type settings struct {
	N         int           `json:"n"`
	Workers   int           `json:"workers"`
	Rounds    int           `json:"rounds"`
	Bowline   string        `json:"-"`
	Repeat    int           `json:"-"`
	Arguments []string      `json:"controllerArguments,omitempty"`
	Timeout   time.Duration `json:"-"`

	features feature.Set
	progress io.Writer
	began    time.Time
}

// tellf says how far it got.
func (s settings) tellf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.progress, "%7.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

func main() {
	set := settings{progress: os.Stderr, began: time.Now()}
	flag.IntVar(&set.N, "n", 500, "number of bindings, each with a Secret and a Deployment of its own")
	flag.IntVar(&set.Workers, "workers", 8, "number of clients that create bindings at a time")
	flag.IntVar(&set.Rounds, "rounds", 1, "how often each side is measured")
	flag.StringVar(&set.Bowline, "bowline", "bin/bowline", "path of the program whose controller is measured")
	flag.DurationVar(&set.Timeout, "timeout", 10*time.Minute, "how long one phase may take")
	asJSON := flag.Bool("json", false, "write JSON")
	asRun := flag.Bool("run", false, "measure bowline run instead, beside running a program directly")
	flag.IntVar(&set.Repeat, "repeat", 50, "how often -run runs each")
	only := flag.String("only", "", "measure one side only: bowline or floor")
	fair := flag.Bool("fairness", false, "measure instead how long a small tenant waits beside a hostile and a large one, of -n bindings")
	generated := flag.Bool("generation", false, "measure instead how Secrets are made for a hundredth of -n described services")
	flag.Parse()
	set.Arguments = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	var err error
	switch {
	case *fair:
		err = runFairness(ctx, set, os.Stdout)
	case *generated:
		err = runGeneration(ctx, set, os.Stdout)
	case *asRun:
		err = benchRun(ctx, set, os.Stdout)
	default:
		err = bench(ctx, set, *only, writer(*asJSON))
	}
	stop()
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// writer returns how a report is written.
func writer(asJSON bool) func(report) error {
	if asJSON {
		return func(r report) error { return r.writeJSON(os.Stdout) }
	}
	return func(r report) error { return r.writeText(os.Stdout) }
}

var errSettings = errors.New("-n, -workers and -rounds must be 1 or more, and -only must be bowline, floor or left out")

// bench measures both sides in each round, and writes the report.
func bench(ctx context.Context, set settings, only string, write func(report) error) error {
	if min(set.N, set.Workers, set.Rounds) < 1 || (only != "" && only != sideBowline && only != sideFloor) {
		return errSettings
	}
	r := report{
		Machine: machine{runtime.NumCPU(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH},
		Setting: set,
		Plane: "etcd and kube-apiserver on this machine, fresh for each run; etcd does not wait for the disk; " +
			"no kube-controller-manager",
	}
	for round := 1; round <= set.Rounds; round++ {
		for _, side := range order(round) {
			if only != "" && only != side {
				continue
			}
			set.tellf("round %d of %d: %s", round, set.Rounds, side)
			one, err := measureSide(ctx, set, side)
			if err != nil {
				return err
			}
			one.Round = round
			r.Results = append(r.Results, one)
		}
	}
	r.Summary = summarize(r.Results, set.N)
	return write(r)
}

// order alternates which side goes first, since the machine may be faster at one time than at another.
func order(round int) []string {
	if round%2 == 0 {
		return []string{sideFloor, sideBowline}
	}
	return []string{sideBowline, sideFloor}
}

func measureSide(ctx context.Context, set settings, side string) (result, error) {
	if side == sideFloor {
		return runFloor(ctx, set)
	}
	return runBowline(ctx, set)
}
