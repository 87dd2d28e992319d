package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/watch"
	"github.com/bowline-dev/bowline/projection"
)

const (
	// grantCheck is how often, at the least, a missing permission is looked for again.
	grantCheck = 20 * time.Second

	// overtaken is how long to wait for what overtook a write to come in, should it not come as a change before.
	overtaken = time.Second
)

// WorkloadReconciler projects all bindings of a workload into it, in one patch.
type WorkloadReconciler struct {
	hub    *watch.Hub
	client dynamic.Interface
	ledger *ledger
	gather *gathering
	now    func() time.Time
	// tell has the binding of a UID looked at again.
	tell func(uid string)
}

// Reconcile brings one workload in step with its bindings. It reads from memory and writes at most one patch, unless the
// API server refuses that patch and each binding has to be tried by itself.
func (r *WorkloadReconciler) Reconcile(ctx context.Context, key watch.WorkloadKey) (ctrl.Result, error) {
	if rest := r.gather.rest(key); rest > 0 {
		return ctrl.Result{RequeueAfter: rest}, nil
	}
	w, ok, err := r.hub.Workload(key)
	if err != nil || !ok || w.Deleting() {
		r.settle(key, nil)
		if !ok {
			r.ledger.forget(key)
		}
		return ctrl.Result{}, nil // a kind that is not there yet, or no more, comes back as a change
	}
	if r.ledger.stale(key, w.ResourceVersion()) {
		return ctrl.Result{}, nil // the patch itself comes back as a change
	}
	p, problems, err := r.decide(w)
	if errors.Is(err, watch.ErrStarting) {
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	refused, err := r.apply(ctx, w, p)
	if err != nil {
		return passing(err)
	}
	maps.Copy(problems, refused)
	r.settle(key, problems)
	return ctrl.Result{RequeueAfter: r.again(key, p, refused)}, nil
}

// again returns when to look at a workload again although nothing changes; zero for never.
func (r *WorkloadReconciler) again(key watch.WorkloadKey, p plan, refused map[string]Problem) time.Duration {
	if len(refused) == 0 {
		r.ledger.succeeded(key)
		return p.again
	}
	wait := r.ledger.attempt(key)
	for _, problem := range refused {
		if problem.Reason == ReasonWorkloadForbidden {
			return min(wait, grantCheck) // a new grant is no change of the workload
		}
	}
	return wait
}

// settle notes the problems of a workload and has the bindings looked at for which they are news.
func (r *WorkloadReconciler) settle(key watch.WorkloadKey, problems map[string]Problem) {
	for _, uid := range r.ledger.note(key, problems) {
		r.tell(uid)
	}
}

// decide makes the plan for a workload. A binding that has a problem already is left out of it.
func (r *WorkloadReconciler) decide(w watch.Workload) (plan, map[string]Problem, error) {
	problems := map[string]Problem{}
	want, matched, err := wanted(r.hub, w)
	if err != nil {
		return plan{}, nil, err
	}
	p := plan{want: want}
	p.drop, p.again = r.dropped(w, matched)
	p.mapping, err = r.hub.Mapping(w.Key.Kind.WithVersion(w.Version))
	if errors.Is(err, watch.ErrStarting) {
		return plan{}, nil, fmt.Errorf("looking for the mapping of %s: %w", w.Key.Kind, err)
	}
	if err != nil {
		for _, b := range want {
			problems[b.UID] = Problem{Reason: ReasonMappingInvalid, Message: err.Error() + "; correct the mapping"}
		}
		p.want, p.mapping = nil, projection.Default()
	}
	return p, problems, nil
}

// apply carries a plan out. It returns the bindings that could not be projected or unprojected, by UID; the error is one
// that passes.
func (r *WorkloadReconciler) apply(ctx context.Context, w watch.Workload, p plan) (map[string]Problem, error) {
	after, refusals, err := projection.Settle(w.Object, p.mapping, p.want, p.drop)
	if err != nil {
		return everyone(p, Problem{Reason: ReasonWorkloadRejected, Message: err.Error()}), nil //nolint:nilerr // it is the answer
	}
	problems := map[string]Problem{}
	for _, refusal := range refusals {
		problems[refusal.UID] = Problem{Reason: refusal.Reason, Message: refusal.Message}
	}
	operations := projection.Diff(w.Object, after)
	if len(operations) == 0 {
		return problems, nil
	}
	kept, err := r.patch(ctx, w, operations)
	switch {
	case err == nil:
		r.remember(w, kept)
		maps.Copy(problems, everyone(unsettled(kept, p, problems), r.unkept(w)))
	case isRefusal(err):
		pending := unsettled(w.Object, p, problems)
		if len(pending.want)+len(pending.drop) > 1 && !isPermission(err) {
			return r.one(ctx, w, pending, problems)
		}
		maps.Copy(problems, everyone(pending, r.refusal(w, err)))
	default:
		return nil, fmt.Errorf("patching %s %s: %w", w.Key.Kind, w.Key.NamespacedName, err)
	}
	return problems, nil
}

// one carries out a refused plan step by step, so that the binding at fault is found and disturbs no other.
func (r *WorkloadReconciler) one(ctx context.Context, w watch.Workload, p plan, problems map[string]Problem) (map[string]Problem, error) {
	first := w.ResourceVersion()
	for _, step := range steps(p, problems) {
		after, _, err := projection.Settle(w.Object, step.mapping, step.want, step.drop)
		if err != nil {
			continue // told by the plan as a whole
		}
		kept, err := r.patch(ctx, w, projection.Diff(w.Object, after))
		switch {
		case err == nil:
			r.ledger.wrote(w.Key, first)
			w.Object = kept
		case isRefusal(err):
			maps.Copy(problems, everyone(step, r.refusal(w, err)))
		default:
			return nil, fmt.Errorf("patching %s %s: %w", w.Key.Kind, w.Key.NamespacedName, err)
		}
	}
	return problems, nil
}

// steps takes a plan apart into plans for one binding each, those with a problem left out.
func steps(p plan, problems map[string]Problem) []plan {
	var single []plan
	for _, uid := range p.drop {
		single = append(single, plan{mapping: p.mapping, drop: []string{uid}})
	}
	for _, b := range p.want {
		if _, bad := problems[b.UID]; !bad {
			single = append(single, plan{mapping: p.mapping, want: []projection.Binding{b}})
		}
	}
	return single
}

// unsettled returns what a plan would still change about a workload. As a rule that is nothing, which is seen by one look at
// the whole plan: a workload may have hundreds of bindings.
func unsettled(w projection.Workload, p plan, problems map[string]Problem) plan {
	rest := plan{mapping: p.mapping}
	if after, _, err := projection.Settle(w, p.mapping, p.want, p.drop); err == nil && len(projection.Diff(w, after)) == 0 {
		return rest
	}
	for _, step := range steps(p, problems) {
		after, _, err := projection.Settle(w, step.mapping, step.want, step.drop)
		if err == nil && len(projection.Diff(w, after)) == 0 {
			continue
		}
		rest.want = append(rest.want, step.want...)
		rest.drop = append(rest.drop, step.drop...)
	}
	return rest
}

// everyone gives each binding of a plan the same problem.
func everyone(p plan, problem Problem) map[string]Problem {
	problems := map[string]Problem{}
	for _, b := range p.want {
		problems[b.UID] = problem
	}
	problem.Stuck = true
	for _, uid := range p.drop {
		problems[uid] = problem
	}
	return problems
}

// patch sends a patch that fails when the workload is no longer as it was read, and returns the workload as the API
// server kept it.
func (r *WorkloadReconciler) patch(ctx context.Context, w watch.Workload, operations []projection.Operation) (projection.Workload, error) {
	kind := w.Key.Kind.WithVersion(w.Version)
	resource, ok := r.hub.Resource(kind)
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, w.Key.Name)
	}
	guard := projection.Operation{Op: "replace", Path: "/metadata/resourceVersion", Value: w.ResourceVersion()}
	data, err := json.Marshal(append([]projection.Operation{guard}, operations...))
	if err != nil {
		return nil, fmt.Errorf("encoding the patch: %w", err)
	}
	object, err := r.client.Resource(resource).Namespace(w.Key.Namespace).
		Patch(ctx, w.Key.Name, types.JSONPatchType, data, metav1.PatchOptions{FieldManager: "bowline"})
	if err != nil {
		return nil, err //nolint:wrapcheck // the callers decide by its kind and wrap it
	}
	return object.Object, nil
}

// remember notes a patch that has changed something, so that its coming back is waited for.
func (r *WorkloadReconciler) remember(w watch.Workload, kept projection.Workload) {
	if (watch.Workload{Object: kept}).ResourceVersion() != w.ResourceVersion() {
		r.ledger.wrote(w.Key, w.ResourceVersion())
	}
}

// unkept is the problem of bindings whose projection the API server accepted but did not keep, as it does when the schema
// of a custom resource knows nothing of volumes.
func (r *WorkloadReconciler) unkept(w watch.Workload) Problem {
	return Problem{Reason: ReasonWorkloadRejected, Message: fmt.Sprintf(
		"the API server did not keep all of the projection; see whether the schema of %s has all that its mapping names",
		w.Key.Kind)}
}

// refusal says what a refused patch means for the bindings in it.
func (r *WorkloadReconciler) refusal(w watch.Workload, err error) Problem {
	kind := w.Key.Kind.WithVersion(w.Version)
	resource, _ := r.hub.Resource(kind)
	switch {
	case isPermission(err):
		return *forbiddenWorkload(&watch.KindError{Kind: kind, Resource: resource, Fault: watch.Forbidden})
	case isImmutable(err):
		return Problem{Reason: ReasonWorkloadImmutable, Message: fmt.Sprintf(
			"the pods of an existing %s cannot be changed; delete it and create it again, it is bound while it is created", w.Key.Kind.Kind)}
	}
	return Problem{Reason: ReasonWorkloadRejected, Message: "the API server refused the projection: " + clip(err.Error(), 1<<10)}
}

// passing decides about an error that passes: what was overtaken by another write, or by a deletion, is looked at again
// when that has come in; all else is tried again, ever more slowly.
func passing(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: overtaken}, nil
	}
	return ctrl.Result{}, err
}

// isRefusal says whether trying the same again is of no use. A conflict passes.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// isPermission tells a missing permission from the refusal of an admission plugin, which has the same code.
func isPermission(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot patch resource")
}

func isImmutable(err error) bool {
	text := err.Error()
	return apierrors.IsInvalid(err) &&
		(strings.Contains(text, "field is immutable") || strings.Contains(text, "may not change fields other than"))
}
