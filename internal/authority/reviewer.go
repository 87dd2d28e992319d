package authority

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Reviews asks the API server what a person may do.
type Reviews interface {
	Create(
		ctx context.Context, review *authorizationv1.SubjectAccessReview, opts metav1.CreateOptions,
	) (*authorizationv1.SubjectAccessReview, error)
}

// Reviewer reviews who asks for a binding.
type Reviewer struct {
	reviews Reviews
	kinds   *kinds
}

// New returns a reviewer that asks through reviews and finds the resources of kinds through resources.
func New(reviews Reviews, resources Resources, now func() time.Time) *Reviewer {
	return &Reviewer{reviews: reviews, kinds: &kinds{resources: resources, now: now, lists: map[string]listed{}}}
}

// Findings is what stands against a request; nothing when both are empty.
type Findings struct {
	// Unfit are references to kinds that nobody may bind, since their objects have no namespace.
	Unfit field.ErrorList
	// Lacking are the permissions that the user does not have, the service's first.
	Lacking []Permission
}

// May finds out what stands against a user's following references in a namespace. An error means that this could not be
// found out.
func (r *Reviewer) May(
	ctx context.Context, user authenticationv1.UserInfo, namespace string, references []Reference,
) (Findings, error) {
	var findings Findings
	for _, reference := range references {
		resource, clusterScoped, err := r.kinds.locate(reference.Kind)
		if err != nil {
			return Findings{}, fmt.Errorf("reviewing %s: %w", reference.Field, err)
		}
		if clusterScoped {
			findings.Unfit = append(findings.Unfit, unfit(reference))
			continue
		}
		p := Permission{
			Field: reference.Field.String(), Verb: reference.Verb, Resource: resource, Namespace: namespace, Name: reference.Name,
		}
		allowed, err := r.allowed(ctx, user, p)
		if err != nil {
			return Findings{}, fmt.Errorf("reviewing %s: asking whether user %q may %s: %w", reference.Field, user.Username, p, err)
		}
		if !allowed {
			findings.Lacking = append(findings.Lacking, p)
		}
	}
	return findings, nil
}

// allowed asks the API server, telling it all that it told of the user. Only a plain yes is one.
func (r *Reviewer) allowed(ctx context.Context, user authenticationv1.UserInfo, p Permission) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra, ResourceAttributes: p.attributes(),
	}}
	answer, err := r.reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err //nolint:wrapcheck // wrapped by the caller, who knows what was asked
	}
	return answer.Status.Allowed && !answer.Status.Denied, nil
}
