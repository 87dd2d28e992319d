package produce

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// RefusedError says that the API server refuses a write, and will as long as nobody does anything about it.
type RefusedError struct {
	// Name of the Secret.
	Name string

	cause error
	text  string
}

// Error names the Secret, what the API server said, and what to do. It holds no value.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the API server does not let Bowline write Secret %q: %s; see what Bowline's roles, quotas and admission "+
		"policies say of Secrets in this namespace", e.Name, e.text)
}

// Unwrap is what the API server answered, which may hold values.
func (e *RefusedError) Unwrap() error { return e.cause }

// refusedWrite makes the error of a refused write. What the API server said is left out where it repeats a value, as the
// message of an admission policy might.
func refusedWrite(w Wanted, err error) *RefusedError {
	text := err.Error()
	for _, value := range w.Data {
		if len(value) > 0 && (strings.Contains(text, string(value)) || strings.Contains(text, base64.StdEncoding.EncodeToString(value))) {
			text = "it was refused as " + string(apierrors.ReasonForError(err))
		}
	}
	return &RefusedError{Name: w.Name, cause: err, text: text}
}

// errPassed says that a Secret was there and then was not.
var errPassed = errors.New("it was there a moment ago, and is not now")

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
	// From is the value of MadeFromAnnotation; empty for no annotation.
	From string
}

func (w Wanted) annotations() map[string]string {
	if w.From == "" {
		return nil
	}
	return map[string]string{MadeFromAnnotation: w.From}
}

// Keeper writes the Secrets that Bowline makes, and knows those it made. It keeps no value in memory.
type Keeper struct {
	client   kubernetes.Interface
	leading  func() bool
	informer cache.SharedIndexInformer

	forbidden atomic.Bool

	// lists counts how often the Secrets were listed: what went in between is never told of.
	lists atomic.Int64

	mu      sync.Mutex
	written map[types.NamespacedName]*state
	owners  map[Purpose]func(namespace string, owner metav1.OwnerReference)
}

// NewKeeper returns a keeper that writes while leading says so.
func NewKeeper(client kubernetes.Interface, leading func() bool) (*Keeper, error) {
	k := &Keeper{
		client: client, leading: leading,
		written: map[types.NamespacedName]*state{},
		owners:  map[Purpose]func(string, metav1.OwnerReference){},
	}
	made := func(options *metav1.ListOptions) { options.LabelSelector = MadeForLabel }
	all := client.CoreV1().Secrets(metav1.NamespaceAll)
	k.informer = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			made(&options)
			k.lists.Add(1)
			return all.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			made(&options)
			if options.SendInitialEvents != nil && *options.SendInitialEvents {
				k.lists.Add(1)
			}
			return all.Watch(ctx, options)
		},
	}, &corev1.Secret{}, 0, cache.Indexers{ownerIndex: byOwner})
	_, err := k.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: k.changed, UpdateFunc: func(_, item any) { k.changed(item) }, DeleteFunc: k.deleted,
	})
	err = errors.Join(err, k.informer.SetTransform(withoutValues), k.informer.SetWatchErrorHandlerWithContext(
		func(_ context.Context, _ *cache.Reflector, err error) { k.forbidden.Store(apierrors.IsForbidden(err)) }))
	if err != nil {
		return nil, fmt.Errorf("preparing to follow the Secrets that Bowline made: %w", err)
	}
	return k, nil
}

// NeedLeaderElection is false: every replica knows what was made.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Start follows the Secrets that Bowline made until the context ends.
func (k *Keeper) Start(ctx context.Context) error {
	k.informer.RunWithContext(ctx)
	return nil
}

// Synced says whether all Secrets are known that were made before.
func (k *Keeper) Synced() bool { return k.informer.HasSynced() }

// begun says the same. Where it cannot come to be, the trouble says why.
func (k *Keeper) begun() (bool, *trouble) {
	if k.Synced() {
		return true, nil
	}
	if k.forbidden.Load() {
		return false, &trouble{ReasonWriteRefused, "Bowline may not list and watch the Secrets that it made; " +
			"ask an administrator to install the role of the feature, or to switch the feature off"}
	}
	return false, nil
}

// Tell has a function told of the owner of each Secret of a purpose that changes. It must be called before Start.
func (k *Keeper) Tell(purpose Purpose, tell func(namespace string, owner metav1.OwnerReference)) {
	k.owners[purpose] = tell
}

// Ensure makes the Secret be as it is wanted, with one write where it is not. The error is ErrNotLeading, ErrEnding, a
// *TakenError, a *RefusedError, or passing.
func (k *Keeper) Ensure(ctx context.Context, w Wanted) error {
	have := k.known(w.NamespacedName)
	if have != nil && k.missed(w.NamespacedName, have) {
		var err error
		if have, err = k.look(ctx, w.NamespacedName); err != nil {
			return err
		}
	}
	return k.bring(ctx, w, have)
}

// bring makes the Secret be as it is wanted, from what it is; nil for nothing.
func (k *Keeper) bring(ctx context.Context, w Wanted, have *state) error {
	if have == nil {
		return k.whileLeading(func() error { return k.create(ctx, w) })
	}
	ours := have.owner.UID == w.Owner.UID
	switch {
	case !have.isFor(w):
		return &TakenError{Name: w.Name}
	case ours && have.digest == digest(w.Type, w.Data) && have.from == w.From:
		return nil
	case !ours || have.immutable || have.kind != w.Type:
		return k.whileLeading(func() error { return k.replace(ctx, w, have) })
	}
	return k.whileLeading(func() error { return k.update(ctx, w, have) })
}

func (k *Keeper) whileLeading(write func() error) error {
	if !k.leading() {
		return ErrNotLeading
	}
	return write()
}

// Has says whether a Secret was made for an owner and is there.
func (k *Keeper) Has(name types.NamespacedName, owner types.UID) bool {
	have := k.known(name)
	return have != nil && have.owner.UID == owner
}

// From is what a Secret says that it was made from; empty where there is none.
func (k *Keeper) From(name types.NamespacedName) string {
	if have := k.known(name); have != nil {
		return have.from
	}
	return ""
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
	return k.delete(ctx, secret)
}

// RemoveOthers deletes what was made for a purpose and an owner of a name, but for the Secret of one name, empty for none.
func (k *Keeper) RemoveOthers(ctx context.Context, purpose Purpose, owner types.NamespacedName, keep string) error {
	items, err := k.informer.GetIndexer().ByIndex(ownerIndex, ownerKey(purpose, owner))
	if err != nil {
		return fmt.Errorf("looking for what was made for %s: %w", owner, err)
	}
	for _, item := range items {
		secret, ok := item.(*corev1.Secret)
		if !ok || secret.Name == keep {
			continue
		}
		if !k.leading() {
			return ErrNotLeading
		}
		if err := k.delete(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes a Secret as it is known.
func (k *Keeper) delete(ctx context.Context, secret *corev1.Secret) error {
	uid, name := secret.UID, types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}
	err := k.client.CoreV1().Secrets(name.Namespace).Delete(ctx, name.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting Secret %s: %w", name, err)
	}
	k.forget(name)
	return nil
}

func (k *Keeper) create(ctx context.Context, w Wanted) error {
	secret, err := k.client.CoreV1().Secrets(w.Namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: w.Name, Annotations: w.annotations(),
			Labels:          map[string]string{MadeForLabel: string(w.Purpose), "app.kubernetes.io/managed-by": "bowline"},
			OwnerReferences: []metav1.OwnerReference{w.Owner},
		},
		Type: corev1.SecretType(w.Type),
		Data: w.Data,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return k.takeUp(ctx, w)
	}
	return k.finish(w, secret, "creating", err)
}

// takeUp goes on from a Secret that is there although it was not known: another replica may have made it a moment ago, or
// the answer to our own write was lost. One that was not made for this is left alone.
func (k *Keeper) takeUp(ctx context.Context, w Wanted) error {
	have, err := k.look(ctx, w.NamespacedName)
	if err != nil {
		return err
	}
	if have == nil {
		return fmt.Errorf("creating Secret %s: %w", w.NamespacedName,
			apierrors.NewConflict(corev1.Resource("secrets"), w.Name, errPassed))
	}
	return k.bring(ctx, w, have)
}

// replace makes a Secret anew that cannot be changed into what is wanted: the API server lets no Secret change its type, and
// what was made for an owner that is no more goes with that.
func (k *Keeper) replace(ctx context.Context, w Wanted, have *state) error {
	uid, resourceVersion := types.UID(have.uid), have.resourceVersion
	err := k.client.CoreV1().Secrets(w.Namespace).Delete(ctx, w.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &resourceVersion},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return k.finish(w, nil, "deleting, to make it anew,", err)
	}
	k.forget(w.NamespacedName)
	return k.create(ctx, w)
}

// update replaces the entries and leaves all else as it is.
func (k *Keeper) update(ctx context.Context, w Wanted, have *state) error {
	changes := []map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": have.uid},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": have.resourceVersion},
		{"op": "add", "path": "/data", "value": w.Data},
	}
	if have.from != w.From && have.annotated {
		changes = append(changes, map[string]any{
			"op": "add", "path": "/metadata/annotations/" + strings.ReplaceAll(MadeFromAnnotation, "/", "~1"), "value": w.From,
		})
	} else if have.from != w.From {
		changes = append(changes, map[string]any{"op": "add", "path": "/metadata/annotations", "value": w.annotations()})
	}
	patch, err := json.Marshal(changes)
	if err != nil {
		return fmt.Errorf("encoding a change of Secret %s: %w", w.NamespacedName, err)
	}
	secret, err := k.client.CoreV1().Secrets(w.Namespace).Patch(ctx, w.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return k.finish(w, secret, "updating", err)
}

// finish notes what came of a write.
func (k *Keeper) finish(w Wanted, secret *corev1.Secret, doing string, err error) error {
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return ErrEnding
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err):
		return refusedWrite(w, err)
	case err != nil:
		return fmt.Errorf("%s Secret %s: %w", doing, w.NamespacedName, err)
	}
	k.wrote(w.NamespacedName, secret)
	return nil
}
