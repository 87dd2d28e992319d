package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/watch"
	"github.com/bowline-dev/bowline/projection"
)

const (
	// projectGrace is how long a projection may be under way before the status says so; most are over sooner, even in a long
	// queue, and then cost one status write, not two.
	projectGrace = 20 * time.Second

	// coverGrace is how long a status waits at most for admission to see the binding's workloads.
	coverGrace = 3 * time.Second

	// releaseGrace is how long a deleted binding waits for a permission to unbind before it is let go.
	releaseGrace = 20 * time.Second

	// admissionRetry is how soon to look again whether admission sees a binding's workloads.
	admissionRetry = 50 * time.Millisecond

	// maxNote is the API server's limit for an event's note, in bytes.
	maxNote = 1024
)

// BindingReconciler writes what is observed of a binding into its status, and lets a deleted binding go once its
// projections are gone.
type BindingReconciler struct {
	hub    *watch.Hub
	client client.Client
	events events.EventRecorder
	ledger *ledger
	now    func() time.Time
	// covered says whether admission already sees the workloads of a binding, so that those created from now on are bound
	// from their first moment.
	covered  func(b *binding.Binding) bool
	lastSeen *writes
}

// Reconcile looks at one binding.
func (r *BindingReconciler) Reconcile(ctx context.Context, key binding.Key) (ctrl.Result, error) {
	b := r.hub.Binding(key)
	if b == nil {
		r.lastSeen.forget(key)
		return ctrl.Result{}, nil
	}
	if r.lastSeen.stale(key, b.ResourceVersion) {
		return ctrl.Result{}, nil // the write itself comes back as a change
	}
	if !b.Deleting.IsZero() {
		return r.finalize(ctx, b)
	}
	if unmarked(b) {
		return passing(r.mark(ctx, b))
	}
	o, err := r.observe(b)
	if errors.Is(err, watch.ErrStarting) {
		return ctrl.Result{}, nil // it comes back when the kind is in memory
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if rest := r.hold(b, o); rest > 0 {
		return ctrl.Result{RequeueAfter: rest}, nil
	}
	if err := r.report(ctx, b, o); err != nil {
		return passing(err)
	}
	return passing(r.prune(ctx, b, o))
}

// prune forgets the kinds that the binding's workload was of once, when it is projected and none of them bears it.
func (r *BindingReconciler) prune(ctx context.Context, b *binding.Binding, o observation) error {
	if len(b.FormerKinds) < 2 || o.ready().status != metav1.ConditionTrue {
		return nil
	}
	bearing, forbidden, err := r.hub.Bearing(b)
	if err != nil || len(forbidden) > 0 {
		return nil //nolint:nilerr // a kind that is not known now is asked again when that changes
	}
	for _, w := range bearing {
		if w.Key.Kind != b.Workload.GroupKind() {
			return nil
		}
	}
	return r.edit(ctx, b, func(object client.Object) {
		annotate(object, binding.WorkloadKindsAnnotation, binding.FormatKinds([]schema.GroupVersionKind{b.Workload.GroupVersionKind}))
	})
}

// hold returns how long to say nothing yet about a binding; zero for no longer.
func (r *BindingReconciler) hold(b *binding.Binding, o observation) time.Duration {
	switch {
	case o.pending():
		return r.lastSeen.rest(b.Key, projectGrace, r.now())
	case !r.covered(b):
		return min(r.lastSeen.rest(b.Key, coverGrace, r.now()), admissionRetry)
	}
	r.lastSeen.done(b.Key)
	return 0
}

// observe sees what there is of a binding. The error is watch.ErrStarting while that cannot be said.
func (r *BindingReconciler) observe(b *binding.Binding) (observation, error) {
	o := observation{binding: b}
	if b.Fault != nil {
		return o, nil //nolint:nilerr // the fault is what is observed
	}
	var err error
	o.projection, err = r.hub.Resolve(b)
	if errors.Is(err, watch.ErrStarting) {
		return o, fmt.Errorf("resolving the service of binding %s: %w", b.Key, err)
	}
	o.service = serviceProblem(err)
	workloads, err := r.hub.WorkloadsOf(b)
	if errors.Is(err, watch.ErrStarting) {
		return o, fmt.Errorf("looking for the workloads of binding %s: %w", b.Key, err)
	}
	o.kind = workloadProblem(err, b.Key.API.WorkloadField())
	for _, w := range workloads {
		s, err := r.sight(b, o, w)
		if err != nil {
			return o, err
		}
		o.workloads = append(o.workloads, s)
	}
	slices.SortFunc(o.workloads, func(a, b sighting) int { return strings.Compare(a.name, b.name) })
	return o, nil
}

// sight sees whether one workload bears the projection. While the service is not available, any projection counts.
func (r *BindingReconciler) sight(b *binding.Binding, o observation, w watch.Workload) (sighting, error) {
	s := sighting{name: w.Key.Name, problem: r.ledger.problem(w.Key, b.Projection.UID)}
	if o.service != nil {
		s.projected = slices.Contains(w.Projected(), b.Projection.UID)
		return s, nil
	}
	mapping, err := r.hub.Mapping(w.Key.Kind.WithVersion(w.Version))
	if errors.Is(err, watch.ErrStarting) {
		return s, fmt.Errorf("looking for the mapping of %s: %w", w.Key.Kind, err)
	}
	if err != nil {
		return s, nil //nolint:nilerr // the workload's reconciler notes the problem
	}
	after, refusals, err := projection.Settle(w.Object, mapping, []projection.Binding{o.projection}, nil)
	s.projected = err == nil && len(refusals) == 0 && len(projection.Diff(w.Object, after)) == 0
	if s.projected {
		s.problem = nil
	}
	return s, nil
}

// report writes the status where it differs, and an event where Ready does.
func (r *BindingReconciler) report(ctx context.Context, b *binding.Binding, o observation) error {
	next, changed := o.status(r.now())
	if !changed {
		return nil
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": b.ResourceVersion},
		"status":   next,
	})
	if err != nil {
		return fmt.Errorf("encoding the status of binding %s: %w", b.Key, err)
	}
	err = r.client.Status().Patch(ctx, stub(b), client.RawPatch(types.MergePatchType, data))
	if err != nil {
		return fmt.Errorf("writing the status of binding %s: %w", b.Key, err)
	}
	r.lastSeen.wrote(b.Key, b.ResourceVersion)
	r.announce(b, o)
	return nil
}

// announce makes an event of a change of Ready.
func (r *BindingReconciler) announce(b *binding.Binding, o observation) {
	ready := o.ready()
	if ready.status == metav1.ConditionUnknown {
		return // what is under way is no news
	}
	for _, c := range b.Status.Conditions {
		if c.Type == ConditionReady && c.Status == ready.status && c.Reason == ready.reason {
			return
		}
	}
	kind := corev1.EventTypeWarning
	if ready.status == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
	}
	r.events.Eventf(stub(b), nil, kind, ready.reason, "Bind", "%s", clip(ready.message, maxNote))
}

// unmarked says whether a binding lacks what must be there before anything is projected: the finalizer, and the note of
// its workloads' kind.
func unmarked(b *binding.Binding) bool {
	return !b.Finalized || (!b.Workload.Empty() && !slices.Contains(b.FormerKinds, b.Workload.GroupVersionKind))
}

// mark adds the finalizer and the note of kinds. Admission does so at creation; this is for when Bowline was away.
func (r *BindingReconciler) mark(ctx context.Context, b *binding.Binding) error {
	return r.edit(ctx, b, func(object client.Object) {
		if !slices.Contains(object.GetFinalizers(), binding.Finalizer) {
			object.SetFinalizers(append(object.GetFinalizers(), binding.Finalizer))
		}
		annotate(object, binding.WorkloadKindsAnnotation, binding.FormatKinds(b.WorkloadKinds()))
	})
}

// edit changes a binding's metadata by a patch that fails when the binding is no longer as it is in memory.
func (r *BindingReconciler) edit(ctx context.Context, b *binding.Binding, change func(client.Object)) error {
	object := empty(b.Key.API)
	if err := r.client.Get(ctx, b.Key.NamespacedName, object); err != nil { // from memory
		return fmt.Errorf("reading binding %s: %w", b.Key, err)
	}
	base, _ := object.DeepCopyObject().(client.Object)
	change(object)
	err := r.client.Patch(ctx, object, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("editing binding %s: %w", b.Key, err)
	}
	r.lastSeen.wrote(b.Key, base.GetResourceVersion())
	return nil
}

func annotate(object client.Object, name, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	object.SetAnnotations(annotations)
}

// empty is an object of the API that declares a binding.
func empty(api binding.API) client.Object {
	if api == binding.Draft {
		return &draftv1alpha1.ServiceBinding{}
	}
	return &bindingv1.ServiceBinding{}
}

// stub is an object that only says which binding is meant.
func stub(b *binding.Binding) client.Object {
	object, version := empty(b.Key.API), bindingv1.GroupVersion
	if b.Key.API == binding.Draft {
		version = draftv1alpha1.GroupVersion
	}
	object.SetNamespace(b.Key.Namespace)
	object.SetName(b.Key.Name)
	object.SetUID(types.UID(b.Projection.UID))
	object.SetResourceVersion(b.ResourceVersion)
	object.GetObjectKind().SetGroupVersionKind(version.WithKind("ServiceBinding"))
	return object
}
