package conformance

// Why some of what the early draft demands cannot be tested from outside of an implementation.
const (
	byKubelet     = "the kubelet decides it, and follows the Secret that is mounted"
	byReference   = "a reference has no namespace, so that there is no other one to be secured"
	byExtension   = "it says of each extension that its clauses hold where it is offered; they are run then"
	bySelector    = "it obliges whoever writes the selector"
	byClusterRole = "it permits a cluster more; there is nothing to test"
)

var inventoryOfDraft = []section{
	{"Provisioned Service", []Requirement{
		{Line: 90, Level: Must, Text: "a service has .status.binding.name, the name of a Secret", Clauses: []string{"draft-service-duck-type"}},
		{Line: 90, Level: Must, Text: "the Secret is in the service's namespace", Clauses: []string{"draft-service-secret-in-same-namespace"}},
		{Line: 90, Level: Should, Text: "the Secret has the entry type", Clauses: []string{"draft-service-without-type-entry"}},
		{Line: 90, Level: Recommended, Text: "the Secret has the entry provider", Clauses: []string{"draft-projection-has-provider"}},
		{Line: 90, Level: May, Text: "the Secret has other entries", Clauses: []string{"draft-projection-has-every-entry"}},
		{Line: 92, Level: May, Text: "other ways to consume what is not the duck type", Untestable: permission},
		{Line: 114, Level: Must, Text: "entries of well-known names have well-known forms", Untestable: byProvider},
		{Line: 126, Level: Must, Text: "entries of other forms have other names", Untestable: byProvider},
	}},
	{"Application Projection", []Requirement{
		{Line: 146, Level: Must, Text: "a volume below the root, in a directory of the binding's name", Clauses: []string{
			"draft-projection-directory",
		}},
		{Line: 146, Level: Must, Text: "what a binding's name is made of", Clauses: []string{
			"draft-projection-name-allowed", "draft-projection-name-refused",
		}},
		{
			Line: 146, Level: Must, Text: "the variable of the root is declared; it is called SERVICE_BINDINGS_ROOT here and otherwise elsewhere",
			Clauses: []string{"draft-projection-root-declared"},
		},
		{Line: 148, Level: Must, Text: "the projection has the entry type", Clauses: []string{"draft-projection-has-type"}},
		{Line: 148, Level: Recommended, Text: "it has the entry provider", Clauses: []string{"draft-projection-has-provider"}},
		{Line: 148, Level: May, Text: "it has other entries", Clauses: []string{"draft-projection-has-every-entry"}},
		{Line: 150, Level: Should, Text: "what the name of an entry is made of", Clauses: []string{"draft-projection-entry-names"}},
		{Line: 152, Level: May, Text: "the files change between launches", Clauses: []string{"draft-projection-follows-secret"}},
		{Line: 152, Level: ShouldNot, Text: "they change while the container lives", Untestable: byKubelet},
	}},
	{"Service Binding", []Requirement{
		{Line: 176, Level: Recommended, Text: "service and application are of one namespace", Clauses: []string{"draft-same-namespace"}},
		{Line: 176, Level: Should, Text: "binding across namespaces is secured", Untestable: byReference},
		{Line: 178, Level: Must, Text: "a binding names an application", Clauses: []string{"draft-binding-needs-application"}},
		{Line: 178, Level: Must, Text: "a binding names a service", Clauses: []string{"draft-binding-needs-service"}},
		{Line: 178, Level: May, Text: "a binding has a name for the service", Clauses: []string{"draft-binding-has-a-name"}},
		{Line: 180, Level: Must, Text: "there are conditions", Clauses: []string{"draft-status-conditions"}},
		{Line: 180, Level: Must, Text: "a condition has type, status and time", Clauses: []string{"draft-status-conditions"}},
		{Line: 180, Level: Must, Text: "Ready is True, False or Unknown", Clauses: []string{"draft-status-conditions"}},
		{Line: 180, Level: Must, Text: "the time is that of the last transition", Clauses: []string{"draft-status-transition-time"}},
		{Line: 180, Level: May, Text: "a condition has reason and message", Clauses: []string{"draft-status-is-telling"}},
	}},
	{"Reconciler Implementation", []Requirement{
		{Line: 244, Level: Must, Text: "the service's Secret is mounted as a volume", Clauses: []string{"draft-volume-of-the-service-secret"}},
		{Line: 244, Level: Should, Text: "it remains when another reconciler writes the application", Clauses: []string{"draft-projection-remains"}},
		{Line: 246, Level: Must, Text: ".spec.name is the directory's name", Clauses: []string{"draft-directory-of-spec-name"}},
		{Line: 246, Level: Should, Text: "else .metadata.name is", Clauses: []string{"draft-directory-of-metadata-name"}},
		{Line: 248, Level: Must, Text: "a root that is configured is used", Clauses: []string{"draft-root-of-the-application"}},
		{Line: 248, Level: Must, Text: "a root that is not configured is set", Clauses: []string{"draft-root-is-set"}},
		{Line: 248, Level: Must, Text: "the Secret is mounted below it then", Clauses: []string{"draft-root-is-set"}},
		{Line: 248, Level: Recommended, Text: "the value is /bindings", Clauses: []string{"draft-root-default"}},
		{Line: 250, Level: MustNot, Text: "a root that is configured is reset", Clauses: []string{"draft-root-is-not-reset"}},
		{Line: 253, Level: Must, Text: ".spec.type replaces the entry type", Clauses: []string{"draft-type-overrides"}},
		{Line: 253, Level: Must, Text: ".spec.provider replaces the entry provider", Clauses: []string{"draft-provider-overrides"}},
		{Line: 255, Level: Must, Text: "Ready is True when the application is changed", Clauses: []string{"draft-ready-true"}},
		{Line: 255, Level: MustNot, Text: "Ready is True when it is not", Clauses: []string{"draft-ready-not-true"}},
		{Line: 259, Level: Must, Text: "an extension that is supported is kept", Untestable: byExtension},
	}},
	{"Mapping Existing Values to New Values", []Requirement{
		{Line: 431, Level: May, Text: "a binding has mappings", Clauses: []string{"draft-mapping-is-an-array"}},
		{Line: 431, Level: Must, Text: "a mapping has a name and a value", Clauses: []string{"draft-mapping-needs-name-and-value"}},
		{Line: 431, Level: May, Text: "a value has tokens", Clauses: []string{"draft-mapping-tokens"}},
		{Line: 431, Level: Must, Text: "a token is replaced by the entry that it names", Clauses: []string{"draft-mapping-substitutes"}},
		{Line: 431, Level: Must, Text: "the result is an entry in the application", Clauses: []string{"draft-mapping-substitutes"}},
	}},
	{"Binding Values as Environment Variables", []Requirement{
		{Line: 492, Level: May, Text: "a binding has variables", Clauses: []string{"draft-env-is-an-array"}},
		{Line: 492, Level: May, Text: "a value has tokens", Clauses: []string{"draft-env-tokens"}},
		{Line: 492, Level: Must, Text: "a token is replaced by the entry that it names", Clauses: []string{"draft-env-substitutes"}},
		{Line: 492, Level: Must, Text: "the result is a variable of the application", Clauses: []string{"draft-env-substitutes"}},
	}},
	{"Synthetic Provisioned Service", []Requirement{
		{Line: 557, Level: Must, Text: "a synthetic service names services", Clauses: []string{"draft-synthetic-needs-services"}},
		{Line: 559, Level: Must, Text: "it has mappings", Clauses: []string{"draft-synthetic-substitutes"}},
		{Line: 559, Level: Must, Text: "a mapping has a name and a value", Clauses: []string{"draft-synthetic-mapping-needs-name-and-value"}},
		{Line: 559, Level: May, Text: "a value has tokens", Clauses: []string{"draft-synthetic-tokens"}},
		{Line: 559, Level: Must, Text: "a token is replaced by what its JSONPath finds", Clauses: []string{"draft-synthetic-substitutes"}},
		{Line: 559, Level: Must, Text: "the result is an entry of the service's Secret", Clauses: []string{"draft-synthetic-substitutes"}},
		{Line: 561, Level: Must, Text: ".spec.type is the entry type", Clauses: []string{"draft-synthetic-type-and-provider"}},
		{Line: 561, Level: Must, Text: ".spec.provider is the entry provider", Clauses: []string{"draft-synthetic-type-and-provider"}},
		{Line: 563, Level: Must, Text: ".status.binding.name names a Secret", Clauses: []string{"draft-synthetic-names-secret"}},
		{Line: 563, Level: Must, Text: "the Secret is in the service's namespace", Clauses: []string{"draft-synthetic-names-secret"}},
		{Line: 563, Level: Must, Text: "the Secret has the entry type", Clauses: []string{"draft-synthetic-names-secret"}},
		{Line: 563, Level: Recommended, Text: "the Secret has the entry provider", Clauses: []string{"draft-synthetic-type-and-provider"}},
		{Line: 563, Level: May, Text: "the Secret has other entries", Clauses: []string{"draft-synthetic-substitutes"}},
	}},
	{"Multi-Application Bindings", []Requirement{
		{Line: 623, Level: May, Text: "an application is referred to by name or by labels", Clauses: []string{
			"draft-application-by-name", "draft-selector-binds-each",
		}},
		{Line: 623, Level: MustNot, Text: "by both", Clauses: []string{"draft-name-and-selector"}},
		{Line: 625, Level: Recommended, Text: "labels select a single application", Untestable: bySelector},
		{Line: 625, Level: Must, Text: "each that matches is as if it were named", Clauses: []string{"draft-selector-binds-each"}},
		{Line: 625, Level: Must, Text: "failures of some are reported in Ready", Clauses: []string{"draft-selector-partial-failure"}},
	}},
	{draftRoleSection, []Requirement{
		{Line: 677, Level: May, Text: "a cluster has other access controls", Untestable: byClusterRole},
		{Line: 683, Level: May, Text: "kinds are opted in by a labelled ClusterRole", Clauses: []string{
			"draft-rbac-service-role", "draft-rbac-application-role",
		}},
		{Line: 683, Level: Must, Text: "it grants get, list and watch of services", Clauses: []string{"draft-rbac-service-role"}},
		{Line: 683, Level: Must, Text: "and of applications update and patch as well", Clauses: []string{"draft-rbac-application-role"}},
		{Line: 719, Level: Must, Text: "there is an aggregated ClusterRole", Clauses: []string{"draft-rbac-aggregated-role"}},
		{Line: 719, Level: Must, Text: "it is bound to the implementation", Clauses: []string{"draft-rbac-role-is-bound"}},
	}},
}
