package controller

import (
	"errors"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/watch"
	"github.com/bowline-dev/bowline/projection"
)

// orphanGrace is how long a projection whose binding is not known is left alone: another replica may have seen the
// binding first.
const orphanGrace = 2 * time.Second

// plan is what is to be done to one workload.
type plan struct {
	mapping *projection.Mapping
	// want are the bindings to project, the oldest first.
	want []projection.Binding
	// drop are the UIDs of projections to remove.
	drop []string
	// again is when to look again although nothing changes; zero for never.
	again time.Duration
}

// world answers a plan's questions from memory.
type world interface {
	BindingsOf(key watch.WorkloadKey, labels map[string]string) []*binding.Binding
	BindingByUID(uid string) *binding.Binding
	Resolve(b *binding.Binding) (projection.Binding, error)
	WorkloadKind(b *binding.Binding) error
}

// wanted lists the bindings that are to be projected into a workload. Those whose service is not available stay as they
// are: neither wanted nor dropped. The error is watch.ErrStarting.
func wanted(of world, w watch.Workload) (want []projection.Binding, matched map[string]struct{}, err error) {
	matched = map[string]struct{}{}
	for _, b := range of.BindingsOf(w.Key, w.Labels()) {
		matched[b.Projection.UID] = struct{}{}
		if _, unavailable := errors.AsType[*watch.KindError](of.WorkloadKind(b)); unavailable {
			continue // it names a version that is not served
		}
		p, err := of.Resolve(b)
		if errors.Is(err, watch.ErrStarting) {
			return nil, nil, fmt.Errorf("resolving the service of binding %s: %w", b.Key, err)
		}
		if err != nil {
			continue
		}
		want = append(want, p)
	}
	return want, matched, nil
}

// dropped lists the projections of a workload that are to go: those of bindings that are being deleted or no longer name
// or select it, and, after a while, those of bindings that nobody knows.
func (r *WorkloadReconciler) dropped(w watch.Workload, matched map[string]struct{}) (drop []string, again time.Duration) {
	for _, uid := range w.Projected() {
		if _, ok := matched[uid]; ok {
			continue
		}
		b := r.hub.BindingByUID(uid)
		if b != nil {
			r.ledger.adopted(uid)
			if !b.Deleting.IsZero() || b.Fault == nil {
				drop = append(drop, uid)
			}
			continue
		}
		if rest := orphanGrace - r.ledger.orphaned(uid, r.now()); rest > 0 {
			again = rest
			continue
		}
		drop = append(drop, uid)
	}
	return drop, again
}
