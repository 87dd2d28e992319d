package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/localplane"
)

const (
	// boundOf is how many services are described for each that is bound.
	boundOf = 100
	// rotations is how many sources are changed, one after the other.
	rotations = 50
	// longRunning is the API server's metric of watches that are open.
	longRunning = "apiserver_longrunning_requests"
)

// described is the kind of service that is described and not provisioned, and the role that lets it be read.
const described = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.bench.example}
spec:
  group: bench.example
  scope: Namespaced
  names: {kind: Database, plural: databases, singular: database, listKind: DatabaseList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: bench-databases}
rules: [{apiGroups: [bench.example], resources: [databases], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bench-databases}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bench-databases}
subjects: [{kind: ServiceAccount, name: bowline-controller, namespace: bowline-system}]
`

const databaseManifest = `
apiVersion: bench.example/v1
kind: Database
metadata:
  name: NAME
  namespace: bench
  annotations:
    service.binding: path={.status.credentials},objectType=Secret
    service.binding/uri: postgresql://{.status.host}:{.status.port}/orders
    service.binding/provider: bench
status: {credentials: NAME, host: NAME.example, port: 5432}
`

const describedBinding = `
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: NAME, namespace: bench}
spec:
  workload: {apiVersion: apps/v1, kind: Deployment, name: NAME}
  service: {apiVersion: bench.example/v1, kind: Database, name: NAME}
`

func databases() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "bench.example", Version: "v1", Resource: "databases"}
}

// generation is what was measured of the making of Secrets.
type generation struct {
	services, bound int
	// floor is how long a plain client takes to read the sources and write the same Secrets; ready from the first binding to
	// the last that is Ready; start from the controller's start until it is ready.
	floor, ready, start time.Duration
	// writes of Secrets while binding, in all and while sources changed; requests of whatever sort while binding.
	writes, changed int64
	requests        []requestCount
	// watches that the controller opened for what is bound, by resource.
	watches map[string]float64
	// changes is how long each change of a source took to be in the Secret that is made from it.
	changes []time.Duration
	// idle and peak are the controller's memory before anything is bound and at most, in MiB.
	idle, peak float64
}

// runGeneration measures how Secrets are made for a few of many services that annotations describe.
func runGeneration(ctx context.Context, set settings, out io.Writer) (err error) {
	g := generation{services: set.N, bound: max(1, set.N/boundOf)}
	set.N, set.features = g.bound, feature.Of(feature.SecretGeneration)
	set.Arguments = append(slices.Clone(set.Arguments), set.features.Arguments()...)
	s, err := newStage(ctx, set)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.describe(ctx, g.services); err != nil {
		return err
	}
	if g.floor, err = s.writePlainly(ctx); err != nil {
		return err
	}
	c, err := newController(s.plane, set)
	if err != nil {
		return err
	}
	if g.start, err = c.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := s.generate(ctx, c, &g); err != nil {
		return fmt.Errorf("measuring the making of Secrets: %w%s", err, c.tail())
	}
	return g.write(out)
}

// describe makes the kind and its objects.
func (s *stage) describe(ctx context.Context, n int) error {
	s.settings.tellf("creating %d described services", n)
	for document := range strings.SplitSeq(described, "\n---\n") {
		o, err := object(document, "")
		if err != nil {
			return err
		}
		resource := schema.GroupVersionResource{
			Group: o.GroupVersionKind().Group, Version: "v1", Resource: strings.ToLower(o.GetKind()) + "s",
		}
		if _, err := s.client.Resource(resource).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	if err := s.until(ctx, "the kind is served", func(ctx context.Context) (bool, error) {
		_, err := s.client.Resource(databases()).Namespace(namespace).List(ctx, metav1.ListOptions{})
		return err == nil, nil
	}); err != nil {
		return err
	}
	return inParallel(ctx, s.settings.Workers, n, func(ctx context.Context, i int) error {
		return s.put(ctx, databases(), databaseManifest, place{namespace, nameOf(i)})
	})
}

// writePlainly does what any maker has to: of each service that is bound it reads the source and writes a Secret.
func (s *stage) writePlainly(ctx context.Context) (time.Duration, error) {
	s.settings.tellf("the floor: writing %d Secrets by hand", s.settings.N)
	all := s.client.Resource(secrets()).Namespace(namespace)
	began := time.Now()
	err := inParallel(ctx, s.settings.Workers, s.settings.N, func(ctx context.Context, i int) error {
		source, err := all.Get(ctx, nameOf(i), metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading Secret %q: %w", nameOf(i), err)
		}
		data, _, _ := unstructured.NestedMap(source.Object, "data")
		data["uri"] = base64.StdEncoding.EncodeToString([]byte("postgresql://" + nameOf(i) + ".example:5432/orders"))
		_, err = all.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "floor-" + nameOf(i)}, "data": data,
		}}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating Secret %q: %w", "floor-"+nameOf(i), err)
		}
		return nil
	})
	return time.Since(began), err
}

// generate binds what is to be bound, and then changes sources.
func (s *stage) generate(ctx context.Context, c *controller, g *generation) (err error) {
	before, err := s.quiet(ctx, bindQuiet, c.idle)
	if err != nil {
		return err
	}
	if g.idle, err = peakMemory(c.pid()); err != nil {
		return err
	}
	open, err := s.watches(ctx)
	if err != nil {
		return err
	}
	if g.ready, err = s.bindDescribed(ctx, g.bound); err != nil {
		return err
	}
	after, err := s.quiet(ctx, bindQuiet, c.idle)
	if err != nil {
		return err
	}
	made := after.minus(before)
	g.writes, g.requests = made.sum(changesSecrets), made.counts()
	if g.watches, err = s.watches(ctx); err != nil {
		return err
	}
	for resource := range g.watches {
		g.watches[resource] -= open[resource]
	}
	if err := s.changeSources(ctx, g); err != nil {
		return err
	}
	last, err := s.quiet(ctx, bindQuiet, c.idle)
	if err != nil {
		return err
	}
	g.changed = last.minus(after).sum(changesSecrets)
	g.peak, err = peakMemory(c.pid())
	return err
}

func changesSecrets(r request) bool { return r.writes() && r.resource == "secrets" }

// watches counts those that are open at the API server, by resource.
func (s *stage) watches(ctx context.Context) (map[string]float64, error) {
	page, err := s.clients.Discovery().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", localplane.APIServer, err)
	}
	defer func() { _ = page.Close() }()
	samples, err := readMetrics(page, longRunning)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", localplane.APIServer, err)
	}
	open := map[string]float64{}
	for _, one := range samples {
		if one.labels["verb"] == "WATCH" {
			open[one.labels["resource"]] += one.value
		}
	}
	return open, nil
}

// bindDescribed makes bindings, and returns how long it took until all were Ready.
func (s *stage) bindDescribed(ctx context.Context, n int) (time.Duration, error) {
	s.settings.tellf("binding %d of the services", n)
	w, err := watchFrom(ctx, s.client.Resource(servicebindings()).Namespace(namespace))
	if err != nil {
		return 0, fmt.Errorf("watching bindings: %w", err)
	}
	defer w.Stop()
	began := time.Now()
	// Until the API server asks admission, nobody is recorded as who asked, and nothing is made.
	err = inParallel(ctx, s.settings.Workers, n, func(ctx context.Context, i int) error {
		return s.put(ctx, servicebindings(), describedBinding, place{namespace, nameOf(i)})
	})
	if err != nil {
		return 0, err
	}
	ready := map[string]bool{}
	for len(ready) < n {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("waiting for bindings, of which %d of %d are ready: %w", len(ready), n, context.Cause(ctx))
		case event, isOpen := <-w.ResultChan():
			if !isOpen {
				return 0, errWatchEnded
			}
			if seen, ok := event.Object.(*unstructured.Unstructured); ok && isReady(seen) {
				ready[seen.GetName()] = true
			}
		}
	}
	return time.Since(began), nil
}

// changeSources changes one source after the other, and notes how long each took to be in the Secret that is made from it.
func (s *stage) changeSources(ctx context.Context, g *generation) error {
	s.settings.tellf("changing %d sources", rotations)
	all := s.client.Resource(secrets()).Namespace(namespace)
	w, err := watchFrom(ctx, all)
	if err != nil {
		return fmt.Errorf("watching Secrets: %w", err)
	}
	defer w.Stop()
	for i := range rotations {
		name := nameOf(i % g.bound)
		value := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "rotated-%d", i))
		began := time.Now()
		patch := fmt.Appendf(nil, `{"data":{"password":%q}}`, value)
		if _, err := all.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("changing Secret %q: %w", name, err)
		}
		for arrived := false; !arrived; {
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting for what is made from Secret %q: %w", name, context.Cause(ctx))
			case event, isOpen := <-w.ResultChan():
				if !isOpen {
					return errWatchEnded
				}
				seen, ok := event.Object.(*unstructured.Unstructured)
				got, _, _ := unstructured.NestedString(seen.Object, "data", "password")
				arrived = ok && seen.GetName() != name && got == value
			}
		}
		g.changes = append(g.changes, time.Since(began))
	}
	return nil
}

// until waits until something is so.
func (s *stage) until(ctx context.Context, what string, so func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, s.settings.Timeout)
	defer cancel()
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		if is, err := so(ctx); is || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// write shows it as a table.
func (g generation) write(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(what, format string, args ...any) { _, _ = fmt.Fprintf(table, what+"\t"+format+"\n", args...) }
	took := newLatency(g.changes)
	row("services described, of which bound", "%d, %d", g.services, g.bound)
	row("the controller is ready after", "%.1f s", g.start.Seconds())
	row("the same Secrets written by hand", "%.2f s", g.floor.Seconds())
	row("all bindings Ready after", "%.2f s", g.ready.Seconds())
	row("writes for each Secret", "%.2f", float64(g.writes)/float64(g.bound))
	row("a changed source is in its Secret after, ms", "p50 %.0f, p99 %.0f, max %.0f", took.P50, took.P99, took.Max)
	row("writes for each change", "%.2f", float64(g.changed)/float64(len(g.changes)))
	row("memory, before and at most", "%.0f MiB, %.0f MiB", g.idle, g.peak)
	for _, resource := range []string{"databases", "secrets", "configmaps", "clusterserviceversions", "deployments"} {
		row("watches opened for "+resource, "%.0f", g.watches[resource])
	}
	for _, r := range g.requests {
		row("requests while binding", "%d %s %s", r.Count, r.Verb, r.Resource)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
