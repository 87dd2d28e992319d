package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/binding"
)

func TestLedgerTellsWhatIsNews(t *testing.T) {
	t.Parallel()
	l, key := newLedger(), workloadKey("orders")
	rejected := Problem{Reason: ReasonWorkloadRejected, Message: "no"}
	immutable := Problem{Reason: ReasonWorkloadImmutable, Message: "never"}
	stuck := Problem{Reason: ReasonWorkloadRejected, Message: "no", Stuck: true}
	steps := []struct {
		reason   string
		problems map[string]Problem
		news     []string
	}{
		{reason: "nothing known, nothing wrong"},
		{reason: "the first problems are news", problems: map[string]Problem{"a": rejected, "b": rejected}, news: []string{"a", "b"}},
		{reason: "the same again is none", problems: map[string]Problem{"a": rejected, "b": rejected}},
		{reason: "another reason is", problems: map[string]Problem{"a": rejected, "b": immutable}, news: []string{"b"}},
		{reason: "that unbinding is stuck is", problems: map[string]Problem{"a": stuck, "b": immutable}, news: []string{"a"}},
		{reason: "one that is over is, and so is a new one", problems: map[string]Problem{"a": stuck, "c": rejected}, news: []string{"b", "c"}},
		{reason: "all over", problems: map[string]Problem{}, news: []string{"a", "c"}},
		{reason: "and quiet again"},
	}
	for _, step := range steps {
		news := l.note(key, step.problems)
		slices.Sort(news)
		if diff := cmp.Diff(step.news, news); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
		for _, uid := range []string{"a", "b", "c"} {
			want, bad := step.problems[uid]
			got := l.problem(key, uid)
			if bad != (got != nil) || bad && *got != want {
				t.Errorf("%s: the problem of %s is %v", step.reason, uid, got)
			}
		}
	}
	if len(l.problems) != 0 {
		t.Errorf("%d workloads are remembered when none has a problem", len(l.problems))
	}
}

func TestLedgerKeepsItsOwnCopy(t *testing.T) {
	t.Parallel()
	l, key := newLedger(), workloadKey("orders")
	problems := map[string]Problem{"a": {Reason: ReasonWorkloadRejected}}
	l.note(key, problems)
	delete(problems, "a")
	if l.problem(key, "a") == nil {
		t.Error("the problem went with the caller's map")
	}
	l.problem(key, "a").Reason = "changed"
	if got := l.problem(key, "a").Reason; got != ReasonWorkloadRejected {
		t.Errorf("a reader changed the reason to %q", got)
	}
	if l.problem(workloadKey("carts"), "a") != nil {
		t.Error("the problem shows on another workload")
	}
}

func TestLedgerWaitsForItsOwnWrite(t *testing.T) {
	t.Parallel()
	l, key := newLedger(), workloadKey("orders")
	if l.stale(key, "7") {
		t.Error("a workload is stale that was never written")
	}
	l.wrote(key, "7")
	for range 2 {
		if !l.stale(key, "7") {
			t.Error("memory as it was before the write is taken for current")
		}
	}
	if l.stale(workloadKey("carts"), "7") {
		t.Error("another workload of the same version is stale")
	}
	if l.stale(key, "8") {
		t.Error("what came after the write is taken for stale")
	}
	if l.stale(key, "7") {
		t.Error("the write is remembered after it came back")
	}
}

func TestLedgerTriesEverMoreSeldom(t *testing.T) {
	t.Parallel()
	l, key := newLedger(), workloadKey("orders")
	var waits []time.Duration
	for range 9 {
		waits = append(waits, l.attempt(key))
	}
	want := []time.Duration{
		10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 320 * time.Second,
		10 * time.Minute, 10 * time.Minute, 10 * time.Minute,
	}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	l.succeeded(key)
	if wait := l.attempt(key); wait != want[0] {
		t.Errorf("after a success it waits %s, want %s", wait, want[0])
	}
}

func TestLedgerForgets(t *testing.T) {
	t.Parallel()
	l, key := newLedger(), workloadKey("orders")
	l.note(key, map[string]Problem{"a": {}})
	l.wrote(key, "7")
	l.attempt(key)
	l.forget(key)
	if l.problem(key, "a") != nil || l.stale(key, "7") || l.attempt(key) != 10*time.Second {
		t.Error("something is remembered of a workload that is gone")
	}
}

func TestLedgerCountsHowLongABindingIsUnknown(t *testing.T) {
	t.Parallel()
	l, c := newLedger(), newClock()
	if d := l.orphaned("a", c.now()); d != 0 {
		t.Errorf("at first sight it has been unknown for %s", d)
	}
	c.advance(orphanGrace)
	if d := l.orphaned("a", c.now()); d != orphanGrace {
		t.Errorf("it has been unknown for %s, want %s", d, orphanGrace)
	}
	if d := l.orphaned("b", c.now()); d != 0 {
		t.Errorf("another has been unknown for %s", d)
	}
	l.adopted("a")
	if d := l.orphaned("a", c.now()); d != 0 {
		t.Errorf("after it was known it has been unknown for %s", d)
	}
}

func TestWritesKeepSilentForAWhile(t *testing.T) {
	t.Parallel()
	const grace = 20 * time.Second
	w, c := newWrites(), newClock()
	key := binding.KeyOf(binding.Specification, "shop", "orders-db")
	if rest := w.rest(key, grace, c.now()); rest != grace {
		t.Errorf("at first it keeps silent for %s, want %s", rest, grace)
	}
	c.advance(time.Second)
	if rest := w.rest(key, grace, c.now()); rest != grace-time.Second {
		t.Errorf("then it keeps silent for %s, want what is left", rest)
	}
	c.advance(grace)
	if rest := w.rest(key, grace, c.now()); rest > 0 {
		t.Errorf("in the end it keeps silent for %s", rest)
	}
	w.done(key)
	if rest := w.rest(key, grace, c.now()); rest != grace {
		t.Errorf("once nothing was under way it keeps silent for %s, want %s", rest, grace)
	}
}

func TestWritesWaitForTheirReturn(t *testing.T) {
	t.Parallel()
	const grace = 20 * time.Second
	w, c := newWrites(), newClock()
	key := binding.KeyOf(binding.Specification, "shop", "orders-db")
	w.rest(key, grace, c.now())
	c.advance(grace)
	w.wrote(key, "7")
	if !w.stale(key, "7") || w.stale(key, "8") || w.stale(key, "7") {
		t.Error("the write is not told from what came after it")
	}
	if rest := w.rest(key, grace, c.now()); rest != grace {
		t.Errorf("after a write it keeps silent for %s, want %s", rest, grace)
	}
	w.forget(key)
	if len(w.written)+len(w.waiting) != 0 {
		t.Error("something is remembered of a binding that is gone")
	}
}
