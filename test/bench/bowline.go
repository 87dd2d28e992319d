package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restart is what was measured while the controller was started again with everything bound.
type restart struct {
	// Seconds is from the start of the new process to its being ready.
	Seconds float64 `json:"seconds"`
	// Writes are those to bindings, their status and workloads: there must be none.
	Writes int64 `json:"writes"`
	// Requests are all that were made until the controller was idle.
	Requests []requestCount `json:"requests"`
}

// errRestartWrites is broken idempotence.
var errRestartWrites = errors.New("the controller wrote to bindings or workloads after a restart with nothing changed")

// runBowline measures the controller: it binds, survives a restart, and unbinds.
func runBowline(ctx context.Context, set settings) (r result, err error) {
	r.Side = sideBowline
	s, err := newStage(ctx, set)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	c, err := newController(s.plane, set)
	if err != nil {
		return r, err
	}
	set.tellf("starting the controller")
	if _, err := c.start(ctx); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := s.runController(ctx, c, &r); err != nil {
		return r, fmt.Errorf("measuring Bowline: %w%s", err, c.tail())
	}
	return r, nil
}

// runController measures a controller that runs.
func (s *stage) runController(ctx context.Context, c *controller, r *result) (err error) {
	s.settings.tellf("Bowline: binding %d workloads", s.settings.N)
	do := func(ctx context.Context, i int) error { _, err := s.bind(ctx, i); return err }
	r.Bind, err = s.run(ctx, task{do: do, done: (*track).bound, idle: c.idle, pids: c.pids()})
	if err != nil {
		return fmt.Errorf("binding: %w", err)
	}
	if err := s.checkBound(); err != nil {
		return err
	}
	if r.PeakMiB, err = peakMemory(c.pid()); err != nil {
		return err
	}
	s.settings.tellf("Bowline: restarting the controller")
	if r.Restart, err = s.restart(ctx, c); err != nil {
		return fmt.Errorf("restarting: %w", err)
	}
	s.settings.tellf("Bowline: unbinding %d workloads", s.settings.N)
	unbound, err := s.run(ctx, task{do: s.unbind, done: (*track).unbound, idle: c.idle, pids: c.pids()})
	if err != nil {
		return fmt.Errorf("unbinding: %w", err)
	}
	r.Unbind = &unbound
	return s.checkRestored()
}

// restart ends the controller, starts it again and waits until it is idle.
func (s *stage) restart(ctx context.Context, c *controller) (*restart, error) {
	if err := c.stop(); err != nil {
		return nil, err
	}
	before, err := s.quiet(ctx, bindQuiet, nil)
	if err != nil {
		return nil, err
	}
	took, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	after, err := s.quiet(ctx, restartQuiet, c.idle)
	if err != nil {
		return nil, err
	}
	requests := after.minus(before)
	r := &restart{Seconds: rounded(took.Seconds()), Requests: requests.counts(), Writes: requests.sum(changesBound)}
	if r.Writes != 0 {
		return r, fmt.Errorf("%w: %d times", errRestartWrites, r.Writes)
	}
	return r, nil
}

// changesBound says whether a request writes to bindings or workloads.
func changesBound(r request) bool {
	resource, _, _ := strings.Cut(r.resource, "/")
	return r.writes() && (resource == "servicebindings" || resource == "deployments")
}

func (s *stage) unbind(ctx context.Context, i int) error {
	err := s.client.Resource(servicebindings()).Namespace(namespace).Delete(ctx, nameOf(i), metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("deleting binding %q: %w", nameOf(i), err)
	}
	return nil
}

// readyTimeout is how long the controller may take to be ready.
const readyTimeout = time.Minute
