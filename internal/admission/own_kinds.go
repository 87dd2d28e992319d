package admission

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
)

// ownKind is one of our own kinds with its webhook.
type ownKind struct {
	webhook                  string
	resource                 schema.GroupResource
	mutatePath, validatePath string
	scope                    admissionregistrationv1.ScopeType
}

// ownKinds lists those that are always there, and those of features that are on.
func (w wanted) ownKinds() []ownKind {
	group, draft := bindingv1.GroupVersion.Group, draftv1alpha1.GroupVersion.Group
	all := []ownKind{
		{
			webhook: WebhookBindings, resource: schema.GroupResource{Group: group, Resource: "servicebindings"},
			mutatePath: PathMutateBinding, validatePath: PathValidateBinding, scope: admissionregistrationv1.NamespacedScope,
		},
		{
			webhook: WebhookMappings, resource: schema.GroupResource{Group: group, Resource: "clusterworkloadresourcemappings"},
			mutatePath: PathMutateMapping, validatePath: PathValidateMapping, scope: admissionregistrationv1.ClusterScope,
		},
		{
			webhook: WebhookDraftBindings, resource: schema.GroupResource{Group: draft, Resource: "servicebindings"},
			mutatePath: PathMutateDraftBinding, validatePath: PathValidateDraftBinding, scope: admissionregistrationv1.NamespacedScope,
		},
		{
			webhook: WebhookSyntheticServices, resource: schema.GroupResource{Group: draft, Resource: "syntheticprovisionedservices"},
			mutatePath: PathMutateSyntheticService, validatePath: PathValidateSyntheticService,
			scope: admissionregistrationv1.NamespacedScope,
		},
	}
	return slices.DeleteFunc(all, func(kind ownKind) bool { return w.off(kind.webhook) })
}

func (k ownKind) rule() admissionregistrationv1.RuleWithOperations {
	return rule(k.resource.WithVersion("*"), k.scope)
}
