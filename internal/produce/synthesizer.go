package produce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/compose"
	"github.com/bowline-dev/bowline/internal/watch"
)

// Condition types of a SyntheticProvisionedService.
const (
	// ConditionReady sums up the others.
	ConditionReady = "Ready"
	// ConditionSources tells of the resources that the service is made of.
	ConditionSources = "SourcesAvailable"
)

// Reasons of those conditions while all is well; what can be wrong is listed above.
const (
	// ReasonSourcesFound is the reason when every source is there and may be read.
	ReasonSourcesFound = "SourcesFound"
	// ReasonMade is the reason when the Secret is as its sources are.
	ReasonMade = "SecretMade"
	// ReasonInvalidSpec is the reason when the spec breaks a rule that admission would have refused.
	ReasonInvalidSpec = "InvalidSpec"
)

// maxMessage bounds the message of a condition, in bytes.
const maxMessage = 8 << 10

// Synthesizer makes the Secrets of SyntheticProvisionedServices (early draft, section Synthetic Provisioned Service).
type Synthesizer struct {
	client   client.Client
	objects  *watch.Objects[types.NamespacedName]
	keeper   *Keeper
	permits  *permits
	platform platform
	clock    Clock
	// written holds the resource version that a status was written upon, until that comes back.
	written sync.Map
}

// SynthesizerConfig is what a synthesizer works with.
type SynthesizerConfig struct {
	Options

	// Client reads synthetic services from memory, and writes their statuses.
	Client client.Client
	// Objects MUST tell the synthesizer of changes, by the service's name.
	Objects *watch.Objects[types.NamespacedName]
	// Keeper writes the Secrets.
	Keeper *Keeper
	// Authority says who may read what.
	Authority Authority
	// Clock tells the time.
	Clock Clock
}

// NewSynthesizer returns a synthesizer.
func NewSynthesizer(c SynthesizerConfig) *Synthesizer {
	return &Synthesizer{
		client: c.Client, objects: c.Objects, keeper: c.Keeper, permits: newPermits(c.Authority, c.Clock),
		platform: platform{c.AllowedSecretTypes}, clock: c.Clock,
	}
}

// Reconcile makes the Secret of one synthetic service.
func (s *Synthesizer) Reconcile(ctx context.Context, name types.NamespacedName) (ctrl.Result, error) {
	begun, unbegun := s.keeper.begun()
	if !begun && unbegun == nil {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	var object draftv1alpha1.SyntheticProvisionedService
	err := s.client.Get(ctx, name, &object)
	if apierrors.IsNotFound(err) || err == nil && object.DeletionTimestamp != nil {
		s.objects.Need(name)
		s.written.Delete(name)
		return settled(s.keeper.RemoveOthers(ctx, ForSynthetic, name, "")) // where nobody collects garbage, too
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading SyntheticProvisionedService %s: %w", name, err)
	}
	if base, ok := s.written.Load(name); ok && base == object.ResourceVersion {
		return ctrl.Result{}, nil // the write itself comes back as a change
	}
	if unbegun != nil {
		err := s.report(ctx, &object, outcome{problem: unbegun})
		return ctrl.Result{RequeueAfter: lookAgain}, client.IgnoreNotFound(err)
	}
	return s.serve(ctx, &object)
}

// serve makes the Secret and says what came of it.
func (s *Synthesizer) serve(ctx context.Context, object *draftv1alpha1.SyntheticProvisionedService) (ctrl.Result, error) {
	outcome, err := s.make(ctx, object)
	if waiting(err) {
		return ctrl.Result{}, nil
	}
	if err == nil {
		err = s.report(ctx, object, outcome)
	}
	switch {
	case err != nil:
		return again(err)
	case outcome.sources != nil || outcome.problem != nil:
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	case object.Status.Binding == nil || object.Status.Binding.Name != outcome.secret:
		return ctrl.Result{}, nil // the status comes back as a change
	}
	return settled(s.keeper.RemoveOthers(ctx, ForSynthetic, client.ObjectKeyFromObject(object), outcome.secret))
}

// outcome is what came of an attempt.
type outcome struct {
	// secret is the name of the Secret where there is one.
	secret string
	// sources is what is wrong with the sources, problem with anything else.
	sources, problem *trouble
}

// make makes the Secret. The error is watch.ErrStarting or passing.
func (s *Synthesizer) make(ctx context.Context, object *draftv1alpha1.SyntheticProvisionedService) (outcome, error) {
	name := syntheticName(object)
	o := outcome{}
	if s.keeper.Has(name, object.UID) {
		o.secret = name.Name // the one before stays, whatever is wrong now
	}
	wanted := compose.SyntheticOf(&object.Spec)
	if errs := compose.CheckSynthetic(wanted, field.NewPath("spec")); len(errs) > 0 {
		s.objects.Need(client.ObjectKeyFromObject(object))
		o.problem = &trouble{ReasonInvalidSpec, errs.ToAggregate().Error()}
		return o, nil
	}
	record := object.Annotations[binding.RequesterAnnotation]
	err := s.permits.check(ctx, record, object.Namespace, authority.SyntheticReferences(&object.Spec))
	if no, is := errors.AsType[*refusal](err); is {
		s.objects.Need(client.ObjectKeyFromObject(object))
		o.sources = &trouble{ReasonRequester, no.message + "; grant it, or refer to other resources"}
		return o, nil
	}
	if err != nil {
		return o, err
	}
	if o.sources, err = s.load(object, wanted.Sources); err != nil || o.sources != nil {
		return o, err
	}
	return s.write(ctx, object, o, wanted)
}

// load gets the sources. The error is watch.ErrStarting.
func (s *Synthesizer) load(
	object *draftv1alpha1.SyntheticProvisionedService, sources []compose.Source,
) (*trouble, error) {
	refs := make([]watch.ObjectRef, 0, len(sources))
	for _, source := range sources {
		kind := schema.FromAPIVersionAndKind(source.APIVersion, source.Kind)
		refs = append(refs, objectRef(kind, object.Namespace, source.Name))
	}
	s.objects.Need(client.ObjectKeyFromObject(object), refs...)
	var unreached []string
	var first *trouble
	for i, ref := range refs {
		found, err := s.objects.Get(ref)
		found, t, err := s.platform.usable(found, err, ForSynthetic)
		if err != nil {
			return nil, err
		}
		if t != nil {
			unreached = append(unreached, fmt.Sprintf("spec.services[%d]: %s", i, t.message))
			if first == nil {
				first = t
			}
		}
		if found != nil {
			sources[i].Object = found.Object
		}
	}
	if first == nil {
		return nil, nil //nolint:nilnil // nothing is wrong
	}
	return &trouble{first.reason, strings.Join(unreached, "; ")}, nil
}

func (s *Synthesizer) write(
	ctx context.Context, object *draftv1alpha1.SyntheticProvisionedService, o outcome, wanted compose.Synthetic,
) (outcome, error) {
	made, err := compose.Synthesize(wanted)
	if missing, is := errors.AsType[*compose.Missing](err); is {
		o.sources = &trouble{ReasonSourceMissing, missing.Error()}
		return o, nil
	}
	if err != nil {
		o.problem = &trouble{ReasonTemplate, err.Error()}
		return o, nil //nolint:nilerr // it is the answer
	}
	name := syntheticName(object)
	err = s.keeper.Ensure(ctx, Wanted{
		NamespacedName: name, Purpose: ForSynthetic, Type: made.SecretType, Data: made.Data,
		Owner: owner(draftv1alpha1.GroupVersion.String(), "SyntheticProvisionedService", object.Name, object.UID),
	})
	if t := unwritten(err); t != nil {
		o.problem = t
		return o, nil
	}
	if err != nil {
		return o, err
	}
	o.secret = name.Name
	return o, nil
}

// report writes the status where it differs.
func (s *Synthesizer) report(ctx context.Context, object *draftv1alpha1.SyntheticProvisionedService, o outcome) error {
	next := o.status(object, metav1.NewTime(s.clock().Truncate(1e9)))
	if equality.Semantic.DeepEqual(object.Status, next) {
		return nil
	}
	base := object.ResourceVersion
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": base}, "status": next,
	})
	if err != nil {
		return fmt.Errorf("encoding the status of SyntheticProvisionedService %s: %w", object.Name, err)
	}
	err = s.client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
	if err != nil {
		return fmt.Errorf("writing the status of SyntheticProvisionedService %s: %w", object.Name, err)
	}
	s.written.Store(client.ObjectKeyFromObject(object), base)
	return nil
}

// status says what came of an attempt.
func (o outcome) status(
	object *draftv1alpha1.SyntheticProvisionedService, now metav1.Time,
) draftv1alpha1.SyntheticProvisionedServiceStatus {
	next := *object.Status.DeepCopy()
	next.ObservedGeneration = object.Generation
	if o.secret != "" {
		next.Binding = &draftv1alpha1.SecretReference{Name: o.secret}
	}
	sources := metav1.Condition{
		Type: ConditionSources, Status: metav1.ConditionTrue, Reason: ReasonSourcesFound, Message: "every source is there",
	}
	ready := metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonMade, Message: fmt.Sprintf("Secret %q", o.secret),
	}
	if o.sources != nil {
		sources.Status, sources.Reason, sources.Message = metav1.ConditionFalse, o.sources.reason, o.sources.message
	} else if o.problem != nil && o.problem.reason == ReasonInvalidSpec {
		sources.Status, sources.Reason, sources.Message = metav1.ConditionUnknown, o.problem.reason, "not looked for until the spec is valid"
	}
	for _, problem := range []*trouble{o.problem, o.sources} {
		if problem == nil {
			continue
		}
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, problem.reason, problem.keeping(o.secret).message
	}
	for _, c := range []metav1.Condition{ready, sources} {
		c.Message, c.ObservedGeneration, c.LastTransitionTime = clip(c.Message), object.Generation, now
		next.Conditions = setCondition(next.Conditions, c)
	}
	return next
}

// setCondition replaces the condition of a type in a list sorted by type. One that keeps its status keeps its time.
func setCondition(conditions []metav1.Condition, c metav1.Condition) []metav1.Condition {
	at, known := slices.BinarySearchFunc(conditions, c.Type, func(have metav1.Condition, kind string) int {
		return strings.Compare(have.Type, kind)
	})
	if !known {
		return slices.Insert(conditions, at, c)
	}
	if conditions[at].Status == c.Status {
		c.LastTransitionTime = conditions[at].LastTransitionTime
	}
	conditions[at] = c
	return conditions
}

// clip shortens a message to what a condition holds.
func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	const mark = " …"
	return strings.ToValidUTF8(text[:maxMessage-len(mark)], "") + mark
}

// syntheticName is the name of the Secret of a synthetic service.
func syntheticName(object *draftv1alpha1.SyntheticProvisionedService) types.NamespacedName {
	base := object.Spec.Name
	if base == "" {
		base = object.Name
	}
	return types.NamespacedName{Namespace: object.Namespace, Name: SecretName(base, string(ForSynthetic), object.Name)}
}

// SyntheticNameOf names the synthetic service that owns a Secret.
func SyntheticNameOf(namespace string, owner metav1.OwnerReference) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: owner.Name}
}
