package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// What the tenants of a fairness run make.
const (
	smallBindings = 50
	// strangeBindings are bindings of one tenant to kinds that do not exist, each its own.
	strangeBindings = 100
	// crowdWorkloads are the Deployments that half of the large tenant's bindings share; the other half names services that
	// are not there.
	crowdWorkloads = 50
)

// fairness is what a small tenant met with, by what went on beside it.
type fairness struct{ situations []situation }

// write shows it as a table.
func (f fairness) write(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "a small tenant\tp50 ms\tp95 ms\tmax ms\tp50 / alone\tp95 / alone\tlarge tenant then")
	for _, one := range f.situations {
		alone := f.situations[0]
		_, _ = fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t%s\n", one.name,
			one.p50, one.p95, one.most, one.p50/alone.p50, one.p95/alone.p95, one.beside)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// situation is one that the small tenant was in.
type situation struct {
	name string
	// How long a binding took to be ready, in milliseconds.
	p50, p95, most float64
	// beside says how far the large tenant was when the last of the small tenant's bindings was ready.
	beside string
}

// runFairness measures how long a small tenant waits for each of its bindings, alone and beside others.
func runFairness(ctx context.Context, set settings, out io.Writer) (err error) {
	large := set.N
	set.N = 3 * smallBindings
	s, err := newStage(ctx, set)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	c, err := newController(s.plane, set)
	if err != nil {
		return err
	}
	if _, err := c.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	f, err := s.fairness(ctx, large)
	if err != nil {
		return fmt.Errorf("measuring fairness: %w%s", err, c.tail())
	}
	return f.write(out)
}

func (s *stage) fairness(ctx context.Context, large int) (fairness, error) {
	var f fairness
	s.settings.tellf("a small tenant alone: %d bindings, one after the other", smallBindings)
	if err := s.meet(ctx, &f, "alone", nil); err != nil {
		return f, err
	}
	s.settings.tellf("a hostile tenant: %d kinds that do not exist, a mapping that cannot compile, a namespace that ends", strangeBindings)
	if err := s.hostile(ctx); err != nil {
		return f, err
	}
	if err := s.meet(ctx, &f, "beside a hostile tenant", nil); err != nil {
		return f, err
	}
	s.settings.tellf("a large tenant: %d bindings", large)
	crowd, err := s.crowd(ctx, large)
	if err != nil {
		return f, err
	}
	err = s.meet(ctx, &f, "beside both, and a large one", crowd)
	return f, errors.Join(err, crowd.end())
}

// meet makes the small tenant's bindings, one after the other, and notes how long each took to be ready.
func (s *stage) meet(ctx context.Context, f *fairness, name string, beside *crowd) error {
	w, err := watchFrom(ctx, s.client.Resource(servicebindings()).Namespace(namespace))
	if err != nil {
		return fmt.Errorf("watching bindings: %w", err)
	}
	defer w.Stop()
	var times []time.Duration
	first := len(f.situations) * smallBindings
	for i := first; i < first+smallBindings; i++ {
		began := time.Now()
		if _, err := s.bind(ctx, i); err != nil {
			return err
		}
		if err := untilReady(ctx, w.ResultChan(), nameOf(i)); err != nil {
			return err
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	one := situation{
		name: name, p50: milliseconds(percentile(times, 50)), p95: milliseconds(percentile(times, 95)),
		most: milliseconds(percentile(times, 100)),
	}
	if beside != nil {
		made, told, err := beside.state(ctx)
		if err != nil {
			return err
		}
		one.beside = fmt.Sprintf("%d of %d made, %d with a status", made, beside.total, told)
	}
	f.situations = append(f.situations, one)
	return nil
}

func untilReady(ctx context.Context, events <-chan watch.Event, name string) error {
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for binding %q: %w", name, context.Cause(ctx))
		case event, open := <-events:
			if !open {
				return errWatchEnded
			}
			if seen, ok := event.Object.(*unstructured.Unstructured); ok && seen.GetName() == name && isReady(seen) {
				return nil
			}
		}
	}
}

// hostile makes what must not slow others down.
func (s *stage) hostile(ctx context.Context) error {
	if err := s.namespaces(ctx, "hostile", "ending"); err != nil {
		return err
	}
	if err := s.smuggle(ctx); err != nil {
		return err
	}
	stateful := strings.Replace(deploymentManifest, "kind: Deployment", "kind: StatefulSet", 1)
	statefulsets := deployments().GroupVersion().WithResource("statefulsets")
	if err := s.put(ctx, statefulsets, stateful, place{"hostile", nameOf(0)}); err != nil {
		return err
	}
	for i := range strangeBindings {
		strange := strings.Replace(crowdManifest, "kind: Secret", fmt.Sprintf("kind: Strange%d", i), 1)
		if err := s.put(ctx, servicebindings(), strange, place{"hostile", "strange-" + nameOf(i)}); err != nil {
			return err
		}
		unmapped := strings.NewReplacer("kind: Deployment", "kind: StatefulSet", "name: WORKLOAD", "name: "+nameOf(0)).Replace(crowdManifest)
		if err := s.put(ctx, servicebindings(), unmapped, place{"hostile", "unmapped-" + nameOf(i)}); err != nil {
			return err
		}
	}
	return s.ending(ctx)
}

// ending makes a namespace that is terminating and stays so: nobody here removes what is in it.
func (s *stage) ending(ctx context.Context) error {
	for i := range strangeBindings {
		for resource, text := range boundTogether() {
			if err := s.put(ctx, resource, text, place{"ending", nameOf(i)}); err != nil {
				return err
			}
		}
	}
	if err := s.client.Resource(namespaces()).Delete(ctx, "ending", metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting namespace %q: %w", "ending", err)
	}
	return nil
}
