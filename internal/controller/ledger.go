package controller

import (
	"maps"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/watch"
)

// ledger is what the workload reconciler remembers of workloads: why bindings are not projected into them, and which
// writes have not come back yet. After a restart it is empty and is made anew by looking.
type ledger struct {
	mu       sync.Mutex
	problems map[watch.WorkloadKey]map[string]Problem // by the binding's UID
	written  map[watch.WorkloadKey]string             // the resource version that was patched
	attempts map[watch.WorkloadKey]int
	orphans  map[string]time.Time // by the UID of a binding that is not known
}

func newLedger() *ledger {
	return &ledger{
		problems: map[watch.WorkloadKey]map[string]Problem{},
		written:  map[watch.WorkloadKey]string{},
		attempts: map[watch.WorkloadKey]int{},
		orphans:  map[string]time.Time{},
	}
}

// note replaces the problems of a workload and returns the UIDs of the bindings for which that makes a difference.
func (l *ledger) note(key watch.WorkloadKey, problems map[string]Problem) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var changed []string
	before := l.problems[key]
	for uid, p := range problems {
		if before[uid] != p {
			changed = append(changed, uid)
		}
	}
	for uid := range before {
		if _, still := problems[uid]; !still {
			changed = append(changed, uid)
		}
	}
	delete(l.problems, key)
	if len(problems) > 0 {
		l.problems[key] = maps.Clone(problems)
	}
	return changed
}

// problem returns why a binding is not projected into a workload; nil for no known reason.
func (l *ledger) problem(key watch.WorkloadKey, uid string) *Problem {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.problems[key][uid]; ok {
		return &p
	}
	return nil
}

// wrote notes that a workload was patched as it was in a resource version.
func (l *ledger) wrote(key watch.WorkloadKey, resourceVersion string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written[key] = resourceVersion
}

// stale says whether what is in memory of a workload is older than the last patch of it.
func (l *ledger) stale(key watch.WorkloadKey, resourceVersion string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written[key] == resourceVersion {
		return true
	}
	delete(l.written, key)
	return false
}

// attempt counts a try that was refused and returns when to try again although nothing has changed.
func (l *ledger) attempt(key watch.WorkloadKey) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	const first, last, steps = 10 * time.Second, 10 * time.Minute, 6
	n := l.attempts[key]
	l.attempts[key] = min(n+1, steps)
	return min(first<<n, last)
}

// succeeded forgets refused tries.
func (l *ledger) succeeded(key watch.WorkloadKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.attempts, key)
}

// forget drops all that is known of a workload.
func (l *ledger) forget(key watch.WorkloadKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.problems, key)
	delete(l.written, key)
	delete(l.attempts, key)
}

// orphaned returns for how long the binding of a projection has been unknown.
func (l *ledger) orphaned(uid string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, ok := l.orphans[uid]
	if !ok {
		since = now
		l.orphans[uid] = now
	}
	return now.Sub(since)
}

// adopted forgets that a projection had no binding.
func (l *ledger) adopted(uid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.orphans, uid)
}
