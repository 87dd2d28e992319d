package produce

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/internal/watch"
)

// configMapKind is the kind of ConfigMaps.
var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// platform says which Secrets are not read, since they carry credentials of the platform itself.
type platform struct {
	allowed []string
}

// refuses says so of a Secret.
func (p platform) refuses(secret *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(secret.Object, "type")
	return secret.GroupVersionKind().GroupKind() == binding.SecretKind.GroupKind() &&
		slices.Contains(service.PlatformSecretTypes(), kind) && !slices.Contains(p.allowed, kind)
}

// rank orders what Bowline makes: a Secret is made only from those of a lower rank, so that none is made from itself, by
// whatever detour.
func (p Purpose) rank() int {
	return slices.Index([]Purpose{ForService, ForSynthetic, ForBinding}, p) + 1
}

// circular says that a Secret cannot be made from another one that Bowline made; nil when it can.
func circular(source *unstructured.Unstructured, purpose Purpose) *trouble {
	made := Purpose(source.GetLabels()[MadeForLabel])
	if source.GroupVersionKind().GroupKind() != binding.SecretKind.GroupKind() || made.rank() == 0 || purpose == "" || made.rank() < purpose.rank() {
		return nil
	}
	return &trouble{ReasonSourceMade, fmt.Sprintf(
		"Secret %q was made by Bowline for a %s, and no Secret for a %s is made from it; refer to what it was made from",
		source.GetName(), made, purpose)}
}

// usable judges a source as it was found in memory, for a purpose: nil where it does not exist or may not be read by anybody,
// and why it cannot be used. The error is watch.ErrStarting.
func (p platform) usable(found *unstructured.Unstructured, err error, purpose Purpose) (*unstructured.Unstructured, *trouble, error) {
	if t := unreadable(err); t != nil {
		return nil, t, nil
	}
	if err != nil {
		return nil, nil, watch.ErrStarting
	}
	if found == nil || p.refuses(found) {
		return nil, nil, nil
	}
	return found, circular(found, purpose), nil
}

// entriesOf returns the entries of a Secret or a ConfigMap.
func entriesOf(object *unstructured.Unstructured) (map[string][]byte, error) {
	entries := map[string][]byte{}
	encoded := []string{"binaryData"}
	if object.GetKind() == binding.SecretKind.Kind {
		encoded = []string{"data"}
	} else if texts, _, err := unstructured.NestedStringMap(object.Object, "data"); err == nil {
		for key, text := range texts {
			entries[key] = []byte(text)
		}
	}
	for _, field := range encoded {
		values, _, err := unstructured.NestedStringMap(object.Object, field)
		if err != nil {
			return nil, fmt.Errorf("reading %s of %s %q: %w", field, object.GetKind(), object.GetName(), errNotEntries)
		}
		for key, value := range values {
			if entries[key], err = base64.StdEncoding.DecodeString(value); err != nil {
				return nil, fmt.Errorf("reading entry %q of %s %q: %w", key, object.GetKind(), object.GetName(), errNotEntries)
			}
		}
	}
	return entries, nil
}

// waiting says whether an error only means that there is nothing to do until something comes back as a change.
func waiting(err error) bool {
	return errors.Is(err, watch.ErrStarting) || errors.Is(err, ErrNotLeading) || errors.Is(err, ErrEnding)
}

var errNotEntries = errors.New("it is not of the form that the API server keeps")

// objectRef names an object.
func objectRef(kind schema.GroupVersionKind, namespace, name string) watch.ObjectRef {
	return watch.ObjectRef{GroupVersionKind: kind, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// trouble is why a Secret is not made, as a condition says it.
type trouble struct {
	reason, message string
}

// keeping adds that a Secret that was made before stays; it is empty where there is none.
func (t *trouble) keeping(secret string) *trouble {
	if t == nil || secret == "" {
		return t
	}
	return &trouble{t.reason, t.message + fmt.Sprintf("; Secret %q stays as it was made before", secret)}
}

// unavailable is the trouble as a binding meets it; nil for none.
func (t *trouble) unavailable() *service.Unavailable {
	if t == nil {
		return nil
	}
	return &service.Unavailable{Reason: t.reason, Message: t.message}
}

// unwritten turns an error of Keeper.Ensure that waits for somebody into what a condition says; nil for another error.
func unwritten(err error) *trouble {
	if taken, is := errors.AsType[*TakenError](err); is {
		return &trouble{ReasonNameTaken, taken.Error()}
	}
	if refused, is := errors.AsType[*RefusedError](err); is {
		return &trouble{ReasonWriteRefused, refused.Error()}
	}
	return nil
}

// again decides about an error that no condition tells: what was overtaken is looked at again soon, all else ever more slowly.
func again(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	return ctrl.Result{}, err
}

// unreadable turns a *watch.KindError about a source into what a condition says; nil for another error.
func unreadable(err error) *trouble {
	fault, is := errors.AsType[*watch.KindError](err)
	if !is {
		return nil
	}
	switch fault.Fault {
	case watch.NotNamespaced:
		return &trouble{ReasonSourceUnreadable, fmt.Sprintf(
			"%v and can be the source of nothing; refer to a namespaced kind", fault)}
	case watch.NoSuchKind:
		return &trouble{ReasonSourceMissing, fmt.Sprintf(
			"%v; correct the reference, or install its CustomResourceDefinition", fault)}
	case watch.Failing:
		return &trouble{ReasonSourceUnreachable, fmt.Sprintf("%v; see whether its conversion webhook or API service answers", fault)}
	case watch.Forbidden:
	}
	return &trouble{ReasonSourceUnreadable, fmt.Sprintf(
		"%v; ask an administrator to apply this ClusterRole:\n%s", fault, grant(fault.Resource))}
}

// grant writes the ClusterRole that lets Bowline read a kind.
func grant(resource schema.GroupVersionResource) string {
	return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: bowline-read-%s
  labels:
    servicebinding.io/controller: "true"
rules:
- apiGroups: [%q]
  resources: [%q]
  verbs: [get, list, watch]
`, resource.Resource, resource.Group, resource.Resource)
}
