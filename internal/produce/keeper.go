package produce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// MadeForLabel marks the Secrets that Bowline made; its value says for what kind of thing.
const MadeForLabel = "bowline.dev/made-for"

// Purpose is a value of MadeForLabel.
type Purpose string

// The purposes.
const (
	// ForBinding is a Secret that was composed for a binding, its owner.
	ForBinding Purpose = "binding"
	// ForService is a Secret that was made for a described service, its owner.
	ForService Purpose = "service"
	// ForSynthetic is a Secret that was made for a synthetic service, its owner.
	ForSynthetic Purpose = "synthetic-service"
)

// ErrNotLeading says that this replica writes nothing, since another one leads.
var ErrNotLeading = errors.New("another replica writes")

// ErrEnding says that the namespace is being deleted, so that nothing is made in it any more.
var ErrEnding = errors.New("the namespace is being deleted")

// TakenError says that a Secret of the name exists that was not made for this.
type TakenError struct {
	// Name of the Secret.
	Name string
}

// Error names the Secret and what to do.
func (e *TakenError) Error() string {
	return fmt.Sprintf("Secret %q exists and was not made by Bowline for this; it is left as it is: delete or rename it", e.Name)
}

// Wanted is a Secret as it is to be.
type Wanted struct {
	types.NamespacedName

	// Owner is what the Secret is made for, in the same namespace; it goes with it.
	Owner metav1.OwnerReference
	// Purpose says what kind of thing that is.
	Purpose Purpose
	// Type of the Secret.
	Type string
	// Data are the entries.
	Data map[string][]byte
}

// Keeper writes the Secrets that Bowline makes, and knows those it made. It keeps no value in memory.
type Keeper struct {
	client   kubernetes.Interface
	leading  func() bool
	informer cache.SharedIndexInformer

	forbidden atomic.Bool

	mu      sync.Mutex
	written map[types.NamespacedName]trace
	owners  map[Purpose]func(namespace string, owner metav1.OwnerReference)
}

// trace is what is known of the last write, until it comes back as a change.
type trace struct {
	base  string // the resource version that was written upon; empty for a creation
	state *state
}

// state is what is known of a Secret.
type state struct {
	uid, resourceVersion string
	owner                types.UID
	kind                 string
	digest               string
}

// NewKeeper returns a keeper that writes while leading says so.
func NewKeeper(client kubernetes.Interface, leading func() bool) (*Keeper, error) {
	k := &Keeper{
		client: client, leading: leading,
		written: map[types.NamespacedName]trace{},
		owners:  map[Purpose]func(string, metav1.OwnerReference){},
	}
	made := func(options *metav1.ListOptions) { options.LabelSelector = MadeForLabel }
	all := client.CoreV1().Secrets(metav1.NamespaceAll)
	k.informer = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			made(&options)
			return all.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			made(&options)
			return all.Watch(ctx, options)
		},
	}, &corev1.Secret{}, 0, cache.Indexers{})
	_, err := k.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: k.changed, UpdateFunc: func(_, item any) { k.changed(item) }, DeleteFunc: k.changed,
	})
	err = errors.Join(err, k.informer.SetTransform(withoutValues), k.informer.SetWatchErrorHandlerWithContext(
		func(_ context.Context, _ *cache.Reflector, err error) { k.forbidden.Store(apierrors.IsForbidden(err)) }))
	if err != nil {
		return nil, fmt.Errorf("preparing to follow the Secrets that Bowline made: %w", err)
	}
	return k, nil
}

const (
	// digestKey holds, of a Secret in memory, the digest in the place of the values.
	digestKey = "digest"
	// digested is the kind that a Secret in memory has once that is so: what comes from the API server has none.
	digested = "digest"
)

// withoutValues keeps of a Secret what tells whether it is as it is to be. It may be given what it gave.
func withoutValues(item any) (any, error) {
	secret, ok := item.(*corev1.Secret)
	if !ok || secret.Kind == digested {
		return item, nil
	}
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{Kind: digested},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: secret.Namespace, Name: secret.Name, UID: secret.UID, ResourceVersion: secret.ResourceVersion,
			Labels: secret.Labels, OwnerReferences: secret.OwnerReferences,
		},
		Type: secret.Type,
		Data: map[string][]byte{digestKey: []byte(digest(string(secret.Type), secret.Data))},
	}, nil
}

// NeedLeaderElection is false: every replica knows what was made.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Start follows the Secrets that Bowline made until the context ends.
func (k *Keeper) Start(ctx context.Context) error {
	k.informer.RunWithContext(ctx)
	return nil
}

// begun says whether all Secrets are known that were made before. Where that cannot come to be, the trouble says why.
func (k *Keeper) begun() (bool, *trouble) {
	if k.informer.HasSynced() {
		return true, nil
	}
	if k.forbidden.Load() {
		return false, &trouble{ReasonNotWritten, "Bowline may not list and watch the Secrets that it made; " +
			"ask an administrator to install the role of the feature, or to switch the feature off"}
	}
	return false, nil
}

// Tell has a function told of the owner of each Secret of a purpose that changes. It must be called before Start.
func (k *Keeper) Tell(purpose Purpose, tell func(namespace string, owner metav1.OwnerReference)) {
	k.owners[purpose] = tell
}

func (k *Keeper) changed(item any) {
	if tombstone, ok := item.(cache.DeletedFinalStateUnknown); ok {
		item = tombstone.Obj
	}
	secret, ok := item.(*corev1.Secret)
	if !ok {
		return
	}
	tell := k.owners[Purpose(secret.Labels[MadeForLabel])]
	owner := metav1.GetControllerOf(secret)
	if tell != nil && owner != nil {
		tell(secret.Namespace, *owner)
	}
}

// Ensure makes the Secret be as it is wanted, with one write where it is not. The error is ErrNotLeading, ErrEnding, a
// *TakenError, or passing.
func (k *Keeper) Ensure(ctx context.Context, w Wanted) error {
	have := k.known(w.NamespacedName)
	want := digest(w.Type, w.Data)
	switch {
	case have != nil && have.owner != w.Owner.UID:
		return &TakenError{Name: w.Name}
	case have != nil && have.digest == want:
		return nil
	case !k.leading():
		return ErrNotLeading
	case have == nil:
		return k.create(ctx, w)
	case have.kind != w.Type:
		return k.replace(ctx, w, have)
	}
	return k.update(ctx, w, have)
}

// Has says whether a Secret was made for an owner and is there.
func (k *Keeper) Has(name types.NamespacedName, owner types.UID) bool {
	have := k.known(name)
	return have != nil && have.owner == owner
}

// Remove deletes a Secret that was made for an owner, where there is one.
func (k *Keeper) Remove(ctx context.Context, name types.NamespacedName, purpose Purpose) error {
	secret, ok := k.cached(name)
	if !ok || secret.Labels[MadeForLabel] != string(purpose) {
		return nil
	}
	if !k.leading() {
		return ErrNotLeading
	}
	uid := secret.UID
	err := k.client.CoreV1().Secrets(name.Namespace).Delete(ctx, name.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting Secret %s: %w", name, err)
	}
	k.forget(name)
	return nil
}

func (k *Keeper) forget(name types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.written, name)
}

func (k *Keeper) cached(name types.NamespacedName) (*corev1.Secret, bool) {
	item, ok, err := k.informer.GetStore().GetByKey(name.String())
	secret, is := item.(*corev1.Secret)
	return secret, ok && is && err == nil
}

// known is what is known of a Secret that Bowline made; nil for none. What was just written counts before it comes back.
func (k *Keeper) known(name types.NamespacedName) *state {
	k.mu.Lock()
	defer k.mu.Unlock()
	var now *state
	base := ""
	if secret, ok := k.cached(name); ok {
		now, base = stateOf(secret, string(secret.Data[digestKey])), secret.ResourceVersion
	}
	last, ok := k.written[name]
	if ok && last.base == base {
		return last.state
	}
	delete(k.written, name)
	return now
}

func stateOf(secret *corev1.Secret, digest string) *state {
	s := &state{
		uid: string(secret.UID), resourceVersion: secret.ResourceVersion, kind: string(secret.Type), digest: digest,
	}
	if owner := metav1.GetControllerOf(secret); owner != nil {
		s.owner = owner.UID
	}
	return s
}

func (k *Keeper) wrote(name types.NamespacedName, base string, secret *corev1.Secret) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.written[name] = trace{base: base, state: stateOf(secret, digest(string(secret.Type), secret.Data))}
}

func (k *Keeper) create(ctx context.Context, w Wanted) error {
	secret, err := k.client.CoreV1().Secrets(w.Namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: w.Name,
			Labels:          map[string]string{MadeForLabel: string(w.Purpose), "app.kubernetes.io/managed-by": "bowline"},
			OwnerReferences: []metav1.OwnerReference{w.Owner},
		},
		Type: corev1.SecretType(w.Type),
		Data: w.Data,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return &TakenError{Name: w.Name} // or made a moment ago by a replica that led: it will be known, and then looked at again
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return ErrEnding
	}
	if err != nil {
		return fmt.Errorf("creating Secret %s: %w", w.NamespacedName, err)
	}
	k.wrote(w.NamespacedName, "", secret)
	return nil
}

// replace makes a Secret anew whose type is to be another: the API server lets no Secret change it.
func (k *Keeper) replace(ctx context.Context, w Wanted, have *state) error {
	uid, resourceVersion := types.UID(have.uid), have.resourceVersion
	err := k.client.CoreV1().Secrets(w.Namespace).Delete(ctx, w.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &resourceVersion},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting Secret %s, whose type changes: %w", w.NamespacedName, err)
	}
	return k.create(ctx, w)
}

// update replaces the entries and leaves all else as it is.
func (k *Keeper) update(ctx context.Context, w Wanted, have *state) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": have.uid},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": have.resourceVersion},
		{"op": "add", "path": "/data", "value": w.Data},
	})
	if err != nil {
		return fmt.Errorf("encoding a change of Secret %s: %w", w.NamespacedName, err)
	}
	secret, err := k.client.CoreV1().Secrets(w.Namespace).Patch(ctx, w.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("updating Secret %s: %w", w.NamespacedName, err)
	}
	k.wrote(w.NamespacedName, have.resourceVersion, secret)
	return nil
}
