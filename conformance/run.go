package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Defaults of Options.
const (
	// DefaultParallel is how many clauses are tested at a time.
	DefaultParallel = 4
	// DefaultTimeout is how long one clause may take.
	DefaultTimeout = 90 * time.Second
	// DefaultImage is an image that has sh, test and cat.
	DefaultImage = "busybox"

	teardownTime = time.Minute
)

// ErrNoClause says that nothing was left to run.
var ErrNoClause = errors.New("no clause has a name that matches")

// Options say what is run, and how.
type Options struct {
	// API is the text that is tested; Specification when empty.
	API API
	// Run limits the clauses to those whose names match; all when nil.
	Run *regexp.Regexp
	// Parallel is how many clauses are tested at a time; DefaultParallel when zero.
	Parallel int
	// Timeout is how long one clause may take; DefaultTimeout when zero.
	Timeout time.Duration
	// Image is what pods run where a node is needed. It must have sh, test and cat; DefaultImage when empty.
	Image string
	// Progress is told of each result as it comes, one at a time; it may be nil.
	Progress func(Result)
}

func (o Options) withDefaults() Options {
	if o.API == "" {
		o.API = Specification
	}
	if o.Parallel <= 0 {
		o.Parallel = DefaultParallel
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Image == "" {
		o.Image = DefaultImage
	}
	if o.Progress == nil {
		o.Progress = func(Result) {}
	}
	return o
}

// selected returns the clauses to run, and how many are left out.
func (o Options) selected() (clauses []Clause, leftOut int, err error) {
	all, err := ClausesOf(o.API)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range all {
		if o.Run == nil || o.Run.MatchString(c.Name) {
			clauses = append(clauses, c)
		}
	}
	if len(clauses) == 0 {
		return nil, 0, ErrNoClause
	}
	return clauses, len(all) - len(clauses), nil
}

// Run tests the implementation that runs in a cluster. The configuration has to be an administrator's: kinds, roles and
// namespaces are made and removed again. A clause that is broken is no error but a result; an error means that the
// report says too little.
//
// Two runs in one cluster at the same time disturb each other.
func Run(ctx context.Context, config *rest.Config, options Options) (report Report, err error) {
	options = options.withDefaults()
	clauses, leftOut, err := options.selected()
	if err != nil {
		return Report{}, err
	}
	s, err := newSuite(ctx, config, options)
	if err != nil {
		return Report{}, err
	}
	defer func() {
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), teardownTime)
		defer cancel()
		err = errors.Join(err, s.teardown(rest))
	}()
	if err := s.setup(ctx, clauses); err != nil {
		return Report{}, err
	}
	report = Report{
		Specification: s.apiVersion(), Kubernetes: s.kubernetes, Started: time.Now().UTC(),
		LeftOut: leftOut,
	}
	report.Results = s.runAll(ctx, clauses)
	report.Seconds = time.Since(report.Started).Seconds()
	if ctx.Err() != nil {
		return report, fmt.Errorf("testing the clauses: %w", ctx.Err())
	}
	return report, nil
}

// runAll tests the clauses, some at a time, and returns the results in the order of the clauses.
func (s *suite) runAll(ctx context.Context, clauses []Clause) []Result {
	results := make([]Result, len(clauses))
	next := make(chan int)
	var (
		workers sync.WaitGroup
		telling sync.Mutex
	)
	for range s.options.Parallel {
		workers.Go(func() {
			for i := range next {
				results[i] = s.run(ctx, clauses[i])
				telling.Lock()
				s.options.Progress(results[i])
				telling.Unlock()
			}
		})
	}
	for i := range clauses {
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

// run tests one clause.
func (s *suite) run(ctx context.Context, c Clause) Result {
	result := Result{Clause: c.Name, SpecRef: c.SpecRef, Level: c.Level, Text: c.Text}
	if c.NeedsNode && !s.node {
		result.Outcome, result.Message = NotRun, "no node"
		return result
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	t := &T{suite: s, ctx: ctx, clause: c.Name}
	offered, err := s.offers(t, c.Extension)
	if err != nil {
		result.Outcome, result.Message = Failed, err.Error()
		return result
	}
	if !offered {
		result.Outcome, result.Message = NotOffered, "the API server does not serve the extension: "+string(c.Extension)
		return result
	}
	message := t.try(c)
	if left := t.cleanup(); message == "" {
		message = left
	}
	result.Seconds = time.Since(began).Seconds()
	result.Outcome, result.Message = outcome(c.Level, message), message
	return result
}

// outcome is what a message means: none is success.
func outcome(level Level, message string) Outcome {
	switch {
	case message == "":
		return Passed
	case level == May:
		return NotOffered
	default:
		return Failed
	}
}
