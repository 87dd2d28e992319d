package controller

import (
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/watch"
)

// longestGather is how many times the window a workload waits at most while bindings keep coming.
const longestGather = 10

// gathering delays the projection into a workload until no further binding of it has come for a while, so that bindings
// applied together cause one rollout.
type gathering struct {
	window time.Duration
	now    func() time.Time

	mu      sync.Mutex
	pending map[watch.WorkloadKey]gather
}

type gather struct{ first, until time.Time }

func newGathering(window time.Duration, now func() time.Time) *gathering {
	return &gathering{window: window, now: now, pending: map[watch.WorkloadKey]gather{}}
}

// touch notes that a binding of the workload has come, changed or gone, and returns how long to wait.
func (g *gathering) touch(key watch.WorkloadKey) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	p, ok := g.pending[key]
	if !ok {
		p.first = now
	}
	p.until = now.Add(g.window)
	if latest := p.first.Add(longestGather * g.window); p.until.After(latest) {
		p.until = latest
	}
	g.pending[key] = p
	return p.until.Sub(now)
}

// rest returns how long the workload has still to wait, and forgets it once that is over.
func (g *gathering) rest(key watch.WorkloadKey) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, ok := g.pending[key]
	if !ok {
		return 0
	}
	if rest := p.until.Sub(g.now()); rest > 0 {
		return rest
	}
	delete(g.pending, key)
	return 0
}
