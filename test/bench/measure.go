package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/bowline-dev/bowline/internal/localplane"
)

const (
	quietPoll = 500 * time.Millisecond
	// bindQuiet is how long nothing may be asked of the API server until a phase counts as over. Events are sent late.
	bindQuiet = 1500 * time.Millisecond
	// restartQuiet is longer: a controller that comes back may have things to do that it puts off.
	restartQuiet = 5 * time.Second
)

// phase is what was measured while something was done to all bindings.
type phase struct {
	// Seconds is from the first request to the moment that the last binding was seen to be as wanted.
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"perSecond"`
	// Latency is that of each binding, from the start of its request to the moment that it was seen to be as wanted.
	Latency latency `json:"latencyMilliseconds"`
	// CPUSeconds are by process; "others" is the rest of the machine, which should be little for figures to be good.
	CPUSeconds map[string]float64 `json:"cpuSeconds"`
	// Writes and Reads are by others than this program; Reads are GET and LIST.
	Writes   int64          `json:"writes"`
	Reads    int64          `json:"reads"`
	Requests []requestCount `json:"requests"`
}

// requestCount says how often a sort of request was made by others than this program.
type requestCount struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	Refused  bool   `json:"refused,omitempty"`
	Count    int64  `json:"count"`
}

// counts lists a tally, the most frequent first.
func (t tally) counts() []requestCount {
	list := make([]requestCount, 0, len(t))
	for _, r := range t.sorted() {
		list = append(list, requestCount{r.verb, r.resource, r.refused, t[r]})
	}
	return list
}

// task is one thing to do to all bindings.
type task struct {
	// do begins it for one binding; done says whether it is seen to be over.
	do   func(ctx context.Context, i int) error
	done func(*track) bool
	// idle says whether whoever finishes it has nothing to do; nil where nobody else does.
	idle func(ctx context.Context) (bool, error)
	// pids are further processes whose time is measured.
	pids map[string]int
}

// run does it to all bindings and measures.
func (s *stage) run(ctx context.Context, t task) (phase, error) {
	var p phase
	before, err := s.quiet(ctx, bindQuiet, t.idle)
	if err != nil {
		return p, err
	}
	processes := s.processes(t.pids)
	used, err := usedBy(processes)
	if err != nil {
		return p, err
	}
	if err := s.drive(ctx, t); err != nil {
		return p, err
	}
	after, err := usedBy(processes)
	if err != nil {
		return p, err
	}
	p.CPUSeconds = spent(used, after)
	each, total := s.observer.times()
	p.Seconds, p.PerSecond = rounded(total.Seconds()), rounded(float64(len(each))/total.Seconds())
	p.Latency = newLatency(each)
	end, err := s.quiet(ctx, bindQuiet, t.idle)
	if err != nil {
		return p, err
	}
	requests := end.minus(before)
	p.Writes, p.Reads, p.Requests = requests.sum(request.writes), requests.sum(request.reads), requests.counts()
	return p, nil
}

// drive is what is measured.
func (s *stage) drive(ctx context.Context, t task) error {
	ctx, cancel := context.WithTimeout(ctx, s.settings.Timeout)
	defer cancel()
	s.observer.expect(t.done)
	err := inParallel(ctx, s.settings.Workers, s.settings.N, func(ctx context.Context, i int) error {
		s.observer.begin(i)
		return t.do(ctx, i)
	})
	if err != nil {
		return err
	}
	return s.observer.wait(ctx)
}

// processes are those whose time is measured.
func (s *stage) processes(further map[string]int) map[string]int {
	pids := map[string]int{"driver": os.Getpid()}
	for _, status := range s.plane.Status() {
		if status.Running {
			pids[status.Component] = status.PID
		}
	}
	maps.Copy(pids, further)
	return pids
}

// whole stands for the whole machine among the processes, others for what is not ours of it.
const (
	whole  = "machine"
	others = "others"
)

// spent returns the time used between two looks.
func spent(before, after map[string]float64) map[string]float64 {
	used := map[string]float64{}
	rest := after[whole] - before[whole]
	for name, seconds := range after {
		if name == whole {
			continue
		}
		used[name] = rounded(seconds - before[name])
		rest -= used[name]
	}
	used[others] = rounded(max(0, rest))
	return used
}

// usedBy returns the time used so far by processes and by the machine as a whole.
func usedBy(pids map[string]int) (map[string]float64, error) {
	machine, err := machineSeconds()
	if err != nil {
		return nil, err
	}
	used := map[string]float64{whole: machine}
	for name, pid := range pids {
		seconds, err := cpuSeconds(pid)
		if err != nil {
			return nil, fmt.Errorf("measuring %s: %w", name, err)
		}
		used[name] = seconds
	}
	return used, nil
}

// quiet waits until others than this program have asked nothing of the API server for a while and are idle, and returns
// what they have asked so far.
func (s *stage) quiet(ctx context.Context, window time.Duration, idle func(context.Context) (bool, error)) (tally, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.Timeout)
	defer cancel()
	var last tally
	since := time.Now()
	ticker := time.NewTicker(quietPoll)
	defer ticker.Stop()
	for {
		now, still, err := s.look(ctx, idle)
		if err != nil {
			return nil, err
		}
		if !still || last == nil || len(now.minus(last)) > 0 {
			since = time.Now()
		}
		if last = now; time.Since(since) >= window {
			return last, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting until all is quiet: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// look returns what others have asked so far, and whether who may still ask is idle.
func (s *stage) look(ctx context.Context, idle func(context.Context) (bool, error)) (now tally, still bool, err error) {
	if now, err = s.others(ctx); err != nil || idle == nil {
		return now, true, err
	}
	still, err = idle(ctx)
	return now, still, err
}

// others counts the requests that were not this program's.
func (s *stage) others(ctx context.Context) (tally, error) {
	page, err := s.clients.Discovery().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", localplane.APIServer, err)
	}
	samples, err := readMetrics(page, requestMetric)
	_ = page.Close()
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", localplane.APIServer, err)
	}
	return served(samples).minus(s.ledger.copy()), nil
}
