package controller

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/watch"
)

// finalize lets a deleted binding go once none of its projections is left, or nothing can be done about those that are.
func (r *BindingReconciler) finalize(ctx context.Context, b *binding.Binding) (ctrl.Result, error) {
	if !b.Finalized {
		return ctrl.Result{}, nil
	}
	left, forbidden, err := r.hub.Bearing(b)
	if errors.Is(err, watch.ErrStarting) {
		return ctrl.Result{}, nil
	}
	stuck, closed, waiting := r.remains(b, left)
	if waiting {
		return ctrl.Result{}, nil // each comes back as a change
	}
	forbidden = append(forbidden, closed...)
	if rest := releaseGrace - r.now().Sub(b.Deleting); len(forbidden) > 0 && rest > 0 && mayBearUnseen(b) {
		return ctrl.Result{RequeueAfter: rest}, nil
	}
	return passing(r.release(ctx, b, stuck, forbidden))
}

// remains sorts the workloads that still bear a deleted binding: stuck are those from which it could not be removed,
// forbidden the kinds where that is for want of a permission; waiting says that there are others.
func (r *BindingReconciler) remains(b *binding.Binding, left []watch.Workload) (stuck []string, forbidden []*watch.KindError, waiting bool) {
	for _, w := range left {
		problem := r.ledger.problem(w.Key, b.Projection.UID)
		if problem == nil || !problem.Stuck {
			return nil, nil, true
		}
		stuck = append(stuck, w.Key.Kind.Kind+" "+w.Key.Name)
		if problem.Reason == ReasonWorkloadForbidden {
			forbidden = append(forbidden, &watch.KindError{Kind: w.Key.Kind.WithVersion(w.Version), Fault: watch.Forbidden})
		}
	}
	return stuck, forbidden, false
}

// mayBearUnseen says whether the binding may have been projected at all.
func mayBearUnseen(b *binding.Binding) bool {
	return b.Status.Binding != nil
}

// release removes the finalizer. What is left behind is told by an event.
func (r *BindingReconciler) release(ctx context.Context, b *binding.Binding, stuck []string, forbidden []*watch.KindError) error {
	for _, fault := range forbidden {
		stuck = append(stuck, "any "+fault.Kind.Kind+", which Bowline may not see or change")
	}
	if len(stuck) > 0 {
		slices.Sort(stuck)
		r.events.Eventf(stub(b), nil, corev1.EventTypeWarning, "LeftBehind", "Unbind", "%s",
			clip("the projection could not be removed from "+strings.Join(slices.Compact(stuck), ", "), maxNote))
	}
	return r.edit(ctx, b, func(object client.Object) {
		object.SetFinalizers(slices.DeleteFunc(object.GetFinalizers(), func(f string) bool {
			return f == binding.Finalizer || f == binding.ReferenceFinalizer
		}))
	})
}
