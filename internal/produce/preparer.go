package produce

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/compose"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/internal/watch"
	"github.com/bowline-dev/bowline/projection"
)

// lookAgain is how soon to look again at what nobody would tell of, such as the end of a Secret that is not ours.
const lookAgain = 10 * time.Second

// Preparer composes Secrets for bindings with mappings and environment values, and finds the keys of those that want every
// entry as an environment variable.
type Preparer struct {
	hub      *watch.Hub
	objects  *watch.Objects[binding.Key]
	keeper   *Keeper
	features feature.Set
	platform platform
}

// NewPreparer returns a preparer. objects MUST tell it of changes, by the binding's key.
func NewPreparer(hub *watch.Hub, objects *watch.Objects[binding.Key], keeper *Keeper, options Options) *Preparer {
	return &Preparer{
		hub: hub, objects: objects, keeper: keeper, features: options.Features, platform: platform{options.AllowedSecretTypes},
	}
}

// Options are what the makers of Secrets have in common.
type Options struct {
	// Features are those that are switched on.
	Features feature.Set
	// AllowedSecretTypes are those of service.PlatformSecretTypes that may be read all the same.
	AllowedSecretTypes []string
}

// Reconcile prepares one binding.
func (p *Preparer) Reconcile(ctx context.Context, key binding.Key) (ctrl.Result, error) {
	b := p.hub.Binding(key)
	if begun, t := p.keeper.begun(); !begun {
		if b != nil && t != nil && watch.NeedsPreparation(b) {
			source, _ := p.hub.Secret(b)
			p.hub.SetPrepared(watch.Prepared{For: b, Source: source, Problem: t.unavailable()})
		}
		return ctrl.Result{RequeueAfter: soonOr(t)}, nil
	}
	switch {
	case b == nil:
		p.objects.Need(key)
		return settled(p.keeper.Remove(ctx, composedName(key), ForBinding))
	case !b.Deleting.IsZero():
		return ctrl.Result{}, nil // what is projected stays until it is projected no more
	case !watch.NeedsPreparation(b):
		p.objects.Need(key)
		return settled(p.retire(ctx, b))
	}
	return p.serve(ctx, b)
}

// serve prepares a binding that asks for it.
func (p *Preparer) serve(ctx context.Context, b *binding.Binding) (ctrl.Result, error) {
	if !p.serves(b) || b.Fault != nil {
		return ctrl.Result{}, nil //nolint:nilerr // the hub says so
	}
	prepared, t, err := p.prepare(ctx, b)
	if waiting(err) {
		return ctrl.Result{}, nil
	}
	if err != nil {
		return again(err)
	}
	prepared.Problem = t.keeping(prepared.Secret).unavailable()
	p.hub.SetPrepared(prepared)
	if t != nil {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	return settled(p.retire(ctx, b))
}

// serves says whether the features are on that a binding needs.
func (p *Preparer) serves(b *binding.Binding) bool {
	return (b.Composition == nil || p.features.Has(feature.Templates)) &&
		(len(b.Options) == 0 || p.features.Has(feature.EntriesAsEnv))
}

// retire removes the Secret that was composed for a binding that composes no more, once another one is projected.
func (p *Preparer) retire(ctx context.Context, b *binding.Binding) error {
	name := composedName(b.Key)
	if b.Composition != nil || b.Status.Binding == nil || b.Status.Binding.Name == name.Name {
		return nil
	}
	return p.keeper.Remove(ctx, name, ForBinding)
}

// prepare makes what a binding needs. The error is watch.ErrStarting, ErrNotLeading or passing.
func (p *Preparer) prepare(ctx context.Context, b *binding.Binding) (watch.Prepared, *trouble, error) {
	source, err := p.hub.Secret(b)
	if err != nil {
		return watch.Prepared{}, nil, watch.ErrStarting // the hub says why, and when that changes
	}
	prepared := watch.Prepared{For: b, Source: source, Env: b.Projection.Env}
	entries, t, err := p.read(b, source)
	if err == nil && t == nil && b.Composition != nil {
		entries, t, err = p.compose(ctx, b, &prepared, entries)
	}
	if err != nil || t != nil || len(b.Options) == 0 {
		return prepared, t, err
	}
	env, err := everyEntry(b, entries, prepared.Env)
	if err != nil {
		return prepared, &trouble{ReasonOptions, err.Error()}, nil //nolint:nilerr // it is the answer
	}
	prepared.Env = env
	return prepared, nil, nil
}

// read returns the entries of the service's Secret. The error is watch.ErrStarting.
func (p *Preparer) read(b *binding.Binding, name string) (map[string][]byte, *trouble, error) {
	ref := objectRef(binding.SecretKind, b.Key.Namespace, name)
	p.objects.Need(b.Key, ref)
	purpose := Purpose("") // keys may be those of any Secret
	if b.Composition != nil {
		purpose = ForBinding
	}
	secret, err := p.objects.Get(ref)
	secret, t, err := p.platform.usable(secret, err, purpose)
	if t != nil || err != nil {
		return nil, t, err
	}
	if secret == nil {
		return nil, &trouble{service.ReasonSecretNotFound, fmt.Sprintf(
			"Secret %q does not exist in this namespace, or is of a type that may not be bound; create it, or wait for it", name)}, nil
	}
	entries, err := entriesOf(secret)
	if err != nil {
		return nil, &trouble{ReasonTemplate, err.Error()}, nil //nolint:nilerr // it is the answer
	}
	return entries, nil, nil
}

// compose writes the composed Secret and returns its entries.
func (p *Preparer) compose(
	ctx context.Context, b *binding.Binding, into *watch.Prepared, source map[string][]byte,
) (map[string][]byte, *trouble, error) {
	name := composedName(b.Key)
	if p.keeper.Has(name, types.UID(b.Projection.UID)) {
		into.Secret = name.Name // the one before stays projected, whatever is wrong now
	}
	derived, err := compose.Derive(source, compose.TemplatesOf(b))
	if err != nil {
		return nil, &trouble{ReasonTemplate, err.Error()}, nil //nolint:nilerr // it is the answer
	}
	err = p.keeper.Ensure(ctx, Wanted{
		NamespacedName: name, Owner: ownerBinding(b), Purpose: ForBinding, Type: derived.SecretType, Data: derived.Data,
	})
	if t := unwritten(err); t != nil {
		return nil, t, nil
	}
	if err != nil {
		return nil, nil, err
	}
	into.Secret, into.Env = name.Name, derived.Env
	return derived.Data, nil, nil
}

// everyEntry adds a variable for each entry to those that the binding names.
func everyEntry(b *binding.Binding, entries map[string][]byte, explicit []projection.Env) ([]projection.Env, error) {
	rule, err := compose.ParseEnvRule(b.Options)
	if err != nil || rule == nil {
		return explicit, err //nolint:wrapcheck // it names the annotation
	}
	keys := slices.Collect(maps.Keys(entries))
	for key, override := range map[string]string{"type": b.Projection.Type, "provider": b.Projection.Provider} {
		if override != "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	env, err := rule.Env(slices.Compact(keys), explicit)
	if err != nil {
		return explicit, err //nolint:wrapcheck // it names the keys
	}
	return slices.Concat(explicit, env), nil
}

// composedName is the name of the Secret that is composed for a binding.
func composedName(key binding.Key) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace, Name: SecretName(key.Name, string(ForBinding), string(key.API))}
}

func ownerBinding(b *binding.Binding) metav1.OwnerReference {
	version := bindingv1.GroupVersion
	if b.Key.API == binding.Draft {
		version = draftv1alpha1.GroupVersion
	}
	return owner(version.String(), "ServiceBinding", b.Key.Name, types.UID(b.Projection.UID))
}

func owner(apiVersion, kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: new(true)}
}

// soon is when to look again at what only waits for the start.
const soon = 50 * time.Millisecond

// soonOr is when to look again where the start is awaited, or where there is trouble with it.
func soonOr(t *trouble) time.Duration {
	if t != nil {
		return lookAgain
	}
	return soon
}

// settled turns ErrNotLeading into nothing to do.
func settled(err error) (ctrl.Result, error) {
	if errors.Is(err, ErrNotLeading) {
		return ctrl.Result{}, nil
	}
	return again(err)
}

// BindingOf is the key of the binding that owns a Secret.
func BindingOf(namespace string, owner metav1.OwnerReference) binding.Key {
	api := binding.Specification
	if owner.APIVersion == draftv1alpha1.GroupVersion.String() {
		api = binding.Draft
	}
	return binding.KeyOf(api, namespace, owner.Name)
}
