package authority

import (
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Permission is one thing that a person must be allowed to do in a namespace.
type Permission struct {
	// Field that makes it necessary.
	Field string
	// Verb is VerbRead for a service and VerbWrite for workloads.
	Verb string
	// Resource is what the verb is about.
	Resource schema.GroupVersionResource
	// Namespace is where the object is.
	Namespace string
	// Name of the object; empty for all objects of the resource, which is what a selector may come to match.
	Name string
}

// String says what is to be allowed, as in: update deployments.apps "orders" in namespace "shop".
func (p Permission) String() string {
	name := ""
	if p.Name != "" {
		name = fmt.Sprintf(" %q", p.Name)
	}
	return fmt.Sprintf("%s %s%s in namespace %q", p.Verb, p.Resource.GroupResource(), name, p.Namespace)
}

// attributes is the permission as a review asks for it.
func (p Permission) attributes() *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{
		Namespace: p.Namespace, Verb: p.Verb, Name: p.Name,
		Group: p.Resource.Group, Version: p.Resource.Version, Resource: p.Resource.Resource,
	}
}

// Role writes the Role that would give permissions, ready to apply and to be bound to the person.
func Role(name string, permissions []Permission) string {
	var text strings.Builder
	for i, p := range permissions {
		if i == 0 {
			fmt.Fprintf(&text, `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: %q
  namespace: %q
rules:
`, name, p.Namespace)
		}
		fmt.Fprintf(&text, "- apiGroups: [%q]\n  resources: [%q]\n", p.Resource.Group, p.Resource.Resource)
		if p.Name != "" {
			fmt.Fprintf(&text, "  resourceNames: [%q]\n", p.Name)
		}
		fmt.Fprintf(&text, "  verbs: [%q]\n", p.Verb)
	}
	return text.String()
}
