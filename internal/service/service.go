// Package service turns what is known of a service into the name of its binding Secret (specification, sections
// Provisioned Service and Direct Secret Reference). It fetches nothing: what was found is handed in.
package service

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	"github.com/bowline-dev/bowline/internal/binding"
)

// Reasons of the condition ServiceAvailable.
const (
	// ReasonResolved is the reason while the service exists and names a Secret that is not known to be missing.
	ReasonResolved = "ResolvedBindingSecret"
	// ReasonNotFound is the reason when no service of that name is in the namespace.
	ReasonNotFound = "ServiceNotFound"
	// ReasonNoBinding is the reason when the service names no Secret in .status.binding.name.
	ReasonNoBinding = "ServiceMissingBinding"
	// ReasonSecretNotFound is the reason when the Secret that the service names does not exist, or is of one of the
	// PlatformSecretTypes. The two are not told apart, so that a binding tells nothing about such Secrets.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonKindUnknown is the reason when the cluster serves no such kind.
	ReasonKindUnknown = "ServiceKindUnknown"
	// ReasonForbidden is the reason when Bowline may not watch that kind.
	ReasonForbidden = "ServiceForbidden"
	// ReasonFeatureOff is the reason when the binding asks for a feature that is switched off.
	ReasonFeatureOff = "FeatureSwitchedOff"
	// ReasonClusterScoped is the reason when the kind has no namespace.
	ReasonClusterScoped = "ServiceClusterScoped"
)

// synthetic is the kind whose controller is Bowline itself.
var synthetic = draftv1alpha1.GroupVersion.WithKind("SyntheticProvisionedService").GroupKind()

// PlatformSecretTypes lists the types of Secrets that carry credentials of the platform itself. A binding gets none of them
// unless the operator allows the type, since a service account's token or a Helm release is no service's credentials.
func PlatformSecretTypes() []string {
	return []string{
		string(corev1.SecretTypeServiceAccountToken),
		string(corev1.SecretTypeBootstrapToken),
		string(corev1.SecretTypeDockercfg),
		string(corev1.SecretTypeDockerConfigJson),
		"helm.sh/release.v1",
	}
}

// Unavailable says why a service cannot be bound now. It heals when its cause goes.
type Unavailable struct { //nolint:errname // named after the condition that it explains
	// Reason is one of this package's reasons.
	Reason string
	// Message names the object, what is wrong and what to do next.
	Message string
}

// Error returns the message.
func (e *Unavailable) Error() string { return e.Message }

// orRefused is told of every Secret that is missing, so that it tells nothing of any.
const orRefused = ", or is of a type that may not be bound"

// Presence is what is known of a Secret's existence.
type Presence int

const (
	// Unseen means that Bowline may not look for Secrets; it then trusts the service.
	Unseen Presence = iota
	// Missing means that there is no such Secret.
	Missing
	// Present means that there is one.
	Present
)

// Resolve returns the name of the binding Secret of the service that ref names. object is the service as it was found,
// nil when there is none; for a direct Secret reference it is not read. presence tells of the Secret of a given name.
// The error is an *Unavailable; where the service names a Secret that is missing, the name comes with the error.
func Resolve(ref binding.Reference, object map[string]any, presence func(secret string) Presence) (string, error) {
	if ref.GroupVersionKind == binding.SecretKind {
		return checked(ref, ref.Name, presence(ref.Name))
	}
	if object == nil {
		return "", &Unavailable{ReasonNotFound, fmt.Sprintf(
			"%s %q does not exist in this namespace; create it, or correct spec.service", ref.Kind, ref.Name)}
	}
	name, _, _ := unstructured.NestedString(object, "status", "binding", "name")
	if name == "" {
		return "", &Unavailable{ReasonNoBinding, fmt.Sprintf("%s %q names no Secret in .status.binding.name; %s", ref.Kind, ref.Name, advice(ref))}
	}
	return checked(ref, name, presence(name))
}

// advice says what to do about a service that names no Secret.
func advice(ref binding.Reference) string {
	if ref.GroupKind() == synthetic {
		return "look at its conditions, which say what its Secret waits for"
	}
	return "wait for its controller to set it, or refer to a Secret directly"
}

func checked(ref binding.Reference, secret string, presence Presence) (string, error) {
	if presence != Missing {
		return secret, nil
	}
	if ref.GroupVersionKind == binding.SecretKind {
		return secret, &Unavailable{ReasonSecretNotFound, fmt.Sprintf(
			"Secret %q does not exist in this namespace%s; create it, or correct spec.service.name", secret, orRefused)}
	}
	return secret, &Unavailable{ReasonSecretNotFound, fmt.Sprintf(
		"Secret %q, which %s %q names in .status.binding.name, does not exist in this namespace%s; create it, or wait for it",
		secret, ref.Kind, ref.Name, orRefused)}
}
