package produce

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// state is what is known of a Secret.
type state struct {
	uid, resourceVersion string
	purpose              Purpose
	owner                metav1.OwnerReference
	kind                 string
	immutable, annotated bool
	digest, from         string
	lists                int64 // of all Secrets that had begun when this one was written
}

func stateOf(secret *corev1.Secret, digest string) *state {
	s := &state{
		uid: string(secret.UID), resourceVersion: secret.ResourceVersion, kind: string(secret.Type), digest: digest,
		purpose: Purpose(secret.Labels[MadeForLabel]), immutable: secret.Immutable != nil && *secret.Immutable,
		annotated: len(secret.Annotations) > 0, from: secret.Annotations[MadeFromAnnotation],
	}
	if owner := metav1.GetControllerOf(secret); owner != nil {
		s.owner = *owner
	}
	return s
}

// isFor says whether a Secret was made for the owner of one that is wanted, or for an earlier one of that name.
func (s *state) isFor(w Wanted) bool {
	kind := func(o metav1.OwnerReference) schema.GroupKind {
		return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
	}
	return s.purpose == w.Purpose && s.owner.Name == w.Owner.Name && kind(s.owner) == kind(w.Owner)
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
			Labels: secret.Labels, OwnerReferences: secret.OwnerReferences, Annotations: annotated(secret),
		},
		Type: secret.Type, Immutable: secret.Immutable,
		Data: map[string][]byte{digestKey: []byte(digest(string(secret.Type), secret.Data))},
	}, nil
}

// ownerIndex finds Secrets by what they were made for.
const ownerIndex = "owner"

func byOwner(item any) ([]string, error) {
	secret, ok := item.(*corev1.Secret)
	if !ok {
		return nil, nil
	}
	owner := metav1.GetControllerOf(secret)
	if owner == nil {
		return nil, nil
	}
	name := types.NamespacedName{Namespace: secret.Namespace, Name: owner.Name}
	return []string{ownerKey(Purpose(secret.Labels[MadeForLabel]), name)}, nil
}

func ownerKey(purpose Purpose, owner types.NamespacedName) string {
	return string(purpose) + " " + owner.String()
}

// annotated keeps of the annotations our own, and whether there are any.
func annotated(secret *corev1.Secret) map[string]string {
	if len(secret.Annotations) == 0 {
		return nil
	}
	return map[string]string{MadeFromAnnotation: secret.Annotations[MadeFromAnnotation]}
}

// changed tells of the owner of a Secret that is another now.
func (k *Keeper) changed(item any) {
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

// Replay tells of the owner of each Secret that is known.
func (k *Keeper) Replay() {
	for _, item := range k.informer.GetStore().List() {
		k.changed(item)
	}
}

// deleted forgets a Secret that is no more, and tells of its owner.
func (k *Keeper) deleted(item any) {
	if tombstone, ok := item.(cache.DeletedFinalStateUnknown); ok {
		item = tombstone.Obj
	}
	secret, ok := item.(*corev1.Secret)
	if !ok {
		return
	}
	name := types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}
	k.mu.Lock()
	if last := k.written[name]; last != nil && last.uid == string(secret.UID) {
		delete(k.written, name)
	}
	k.mu.Unlock()
	k.changed(secret)
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

// known is what is known of a Secret that Bowline made; nil for none. What was just written counts until that, or what came
// after it, comes back.
func (k *Keeper) known(name types.NamespacedName) *state {
	k.mu.Lock()
	defer k.mu.Unlock()
	secret, ok := k.cached(name)
	last := k.written[name]
	if !ok {
		return last
	}
	if last != nil && older(secret.ResourceVersion, last.resourceVersion) {
		return last
	}
	delete(k.written, name)
	return stateOf(secret, string(secret.Data[digestKey]))
}

// missed says whether what was written should have come back, and did not: it was gone when all were listed anew, perhaps.
func (k *Keeper) missed(name types.NamespacedName, have *state) bool {
	_, ok := k.cached(name)
	return !ok && have.lists != k.lists.Load() && !older(k.informer.LastSyncResourceVersion(), have.resourceVersion)
}

// look asks the API server what a Secret is now; nil for nothing. One that bears not our label is of no purpose.
func (k *Keeper) look(ctx context.Context, name types.NamespacedName) (*state, error) {
	secret, err := k.client.CoreV1().Secrets(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		k.forget(name)
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("looking at Secret %s: %w", name, err)
	}
	k.wrote(name, secret)
	return stateOf(secret, digest(string(secret.Type), secret.Data)), nil
}

// wrote notes a Secret that has yet to come back as a change.
func (k *Keeper) wrote(name types.NamespacedName, secret *corev1.Secret) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if Purpose(secret.Labels[MadeForLabel]) != "" {
		last := stateOf(secret, digest(string(secret.Type), secret.Data))
		last.lists = k.lists.Load()
		k.written[name] = last
	}
}

// older says whether a resource version comes before another one. One that is unknown is old.
func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order < 0
}
