package conformance

// The sections up to Direct Secret Reference.
var inventoryOfBinding = []section{
	{"Provisioned Service", []Requirement{
		{Line: 45, Level: Must, Text: "a service has .status.binding with the name of a Secret", Clauses: []string{
			"service-duck-type", "service-without-status-subresource", "service-without-binding",
		}},
		{Line: 50, Level: Must, Text: "the Secret is in the service's namespace", Clauses: []string{"service-secret-in-same-namespace"}},
		{Line: 51, Level: Should, Text: "the Secret has the entry type", Clauses: []string{"service-without-type-entry"}},
		{Line: 55, Level: Should, Text: "the Secret's own type repeats it", Clauses: []string{"service-of-any-secret-type"}},
		{Line: 58, Level: Recommended, Text: "the Secret has the entry provider", Clauses: []string{"projection-has-provider"}},
		{Line: 61, Level: May, Text: "the Secret has other entries", Clauses: []string{"projection-has-every-entry"}},
		{Line: 61, Level: Recommended, Text: "the definition of a service's kind has a label", Untestable: byAuthor},
		{Line: 72, Level: May, Text: "other ways to consume what is not the duck type", Untestable: permission},
		{Line: 88, Level: Must, Text: "entries of well-known names have well-known forms", Untestable: byProvider},
		{Line: 106, Level: Must, Text: "entries of other forms have other names", Untestable: byProvider},
	}},
	{"Provisioned Service: RBAC", []Requirement{
		{Line: 121, Level: Should, Text: "services are opted in by a labelled ClusterRole", Clauses: []string{"rbac-service-role"}},
		{Line: 126, Level: Must, Text: "it grants get, list and watch", Clauses: []string{"rbac-service-role"}},
	}},
	{"Workload Projection", []Requirement{
		{Line: 147, Level: Must, Text: "a volume at $SERVICE_BINDING_ROOT/<binding name>", Clauses: []string{
			"projection-directory", "node-files", "node-several",
		}},
		{Line: 148, Level: Must, Text: "what a binding's name is made of", Clauses: []string{
			"projection-name-allowed", "projection-name-refused",
		}},
		{Line: 150, Level: Must, Text: "the variable of the root is declared", Clauses: []string{"projection-root-declared"}},
		{Line: 151, Level: Must, Text: "the projection has the entry type", Clauses: []string{
			"projection-has-type", "service-without-type-entry",
		}},
		{Line: 152, Level: Recommended, Text: "it has the entry provider", Clauses: []string{"projection-has-provider"}},
		{Line: 153, Level: May, Text: "it has other entries", Clauses: []string{"projection-has-every-entry"}},
		{Line: 154, Level: Should, Text: "what the name of an entry is made of", Clauses: []string{"projection-entry-names"}},
		{Line: 159, Level: May, Text: "the files change while the container lives", Clauses: []string{"projection-follows-secret"}},
	}},
	{"Workload Projection: RBAC", []Requirement{
		{Line: 175, Level: Should, Text: "workloads are opted in by a labelled ClusterRole", Clauses: []string{"rbac-workload-role"}},
		{Line: 182, Level: Must, Text: "it grants get, list, watch, update and patch", Clauses: []string{"rbac-workload-role"}},
	}},
	{"Service Binding", []Requirement{
		{Line: 205, Level: Must, Text: "the kind ServiceBinding in v1beta1", Clauses: []string{"api-v1beta1"}},
		{Line: 207, Level: May, Text: "other versions of the API", Clauses: []string{"api-v1"}},
		{Line: 209, Level: Must, Text: "the schema is that of the exemplar", Clauses: []string{"schema-binding"}},
		{Line: 212, Level: Must, Text: "a binding has a workload", Clauses: []string{"binding-needs-workload"}},
		{Line: 215, Level: May, Text: "the workload by name or by labels", Clauses: []string{"workload-by-name", "workload-by-selector"}},
		{Line: 215, Level: MustNot, Text: "not by both", Clauses: []string{"workload-name-and-selector"}},
		{Line: 216, Level: Must, Text: "a binding has a service", Clauses: []string{"binding-needs-service"}},
		{Line: 218, Level: May, Text: "further kinds of services and workloads", Clauses: []string{"other-kinds", "kind-job-at-creation"}},
		{Line: 220, Level: May, Text: "a list of containers", Clauses: []string{"containers-listed", "containers-changed"}},
		{Line: 222, Level: Must, Text: "the list holds strings", Clauses: []string{"containers-are-strings"}},
		{Line: 223, Level: Must, Text: "without a list all containers are bound", Clauses: []string{"containers-all", "new-container-is-bound"}},
		{Line: 224, Level: Must, Text: "a listed container is bound", Clauses: []string{"containers-listed"}},
		{Line: 225, Level: Should, Text: "a name that no container has is ignored", Clauses: []string{"containers-unknown"}},
		{Line: 227, Level: May, Text: "a list of variables", Clauses: []string{"env-configured", "env-changed", "env-only-where-bound"}},
		{Line: 230, Level: Must, Text: "a variable has a name and a key", Clauses: []string{"env-needs-name-and-key"}},
		{Line: 234, Level: Must, Text: "the key is one of the Secret", Clauses: []string{"env-key-is-an-entry"}},
		{Line: 236, Level: Must, Text: "the entry becomes a variable of the workload", Clauses: []string{"env-configured", "node-env"}},
		{Line: 239, Level: Must, Text: "there are conditions", Clauses: []string{"status-conditions"}},
		{Line: 243, Level: Must, Text: "one of them is Ready", Clauses: []string{"status-ready-exists"}},
		{Line: 244, Level: Should, Text: "Ready is telling", Clauses: []string{"status-ready-is-telling"}},
		{
			Line: 244, Level: Recommended, Text: "authors select one workload by several labels",
			Untestable: "it obliges whoever writes the binding",
		},
		{Line: 245, Level: Must, Text: "each workload that is selected is bound", Clauses: []string{
			"selector-binds-each", "selector-expressions", "selector-late-workload", "selector-lost-workload",
		}},
		{Line: 246, Level: Must, Text: "partial failure shows in Ready", Clauses: []string{"selector-partial-failure"}},
		{Line: 248, Level: Should, Text: "the status names the Secret", Clauses: []string{"status-names-secret"}},
		{Line: 251, Level: Must, Text: "the status names the generation", Clauses: []string{"status-observed-generation"}},
		{Line: 256, Level: Should, Text: "consumers compare the generations", Untestable: byConsumer},
	}},
	{"Reconciler Implementation", []Requirement{
		{Line: 368, Level: Must, Text: "the service's Secret is mounted as a volume", Clauses: []string{
			"volume-of-the-service-secret", "projection-heals",
		}},
		{Line: 371, Level: Must, Text: ".spec.name names the directory", Clauses: []string{"directory-of-spec-name"}},
		{Line: 372, Level: Should, Text: "else the binding's own name does", Clauses: []string{"directory-of-metadata-name"}},
		{Line: 377, Level: Must, Text: "a root that is set is used", Clauses: []string{"root-of-the-workload", "node-overrides"}},
		{Line: 380, Level: Must, Text: "a root that is not set is set", Clauses: []string{"root-is-set"}},
		{Line: 381, Level: Must, Text: "and used", Clauses: []string{"root-that-was-set-is-used"}},
		{Line: 381, Level: Recommended, Text: "it is /bindings", Clauses: []string{"root-default"}},
		{Line: 384, Level: MustNot, Text: "a root that is set is not reset", Clauses: []string{"root-is-not-reset"}},
		{Line: 388, Level: Must, Text: ".spec.type overrides the entry", Clauses: []string{
			"type-overrides", "env-of-overridden-entries", "node-overrides",
		}},
		{Line: 390, Level: Must, Text: ".spec.provider overrides the entry", Clauses: []string{
			"provider-overrides", "env-of-overridden-entries", "node-overrides",
		}},
		{Line: 392, Level: Must, Text: "an error that waits for a person shows in the status", Clauses: []string{"error-is-reported"}},
		{Line: 392, Level: ShouldNot, Text: "a conflict does not", Clauses: []string{"conflict-is-not-reported"}},
		{Line: 392, Level: Should, Text: "a workload that is missing does", Clauses: []string{"missing-workload-is-reported"}},
		{Line: 392, Level: May, Text: "an error is recorded as an event", Untestable: permission},
	}},
	{"Ready Condition Status", []Requirement{
		{Line: 395, Level: Must, Text: "True when completed", Clauses: []string{"ready-true"}},
		{Line: 397, Level: Must, Text: "False when it cannot be", Clauses: []string{
			"ready-false-no-service", "ready-false-no-secret", "ready-false-no-workload", "ready-false-no-kind",
			"ready-false-service-lost", "path-through-text", "path-through-number", "kind-job-tells-the-truth",
		}},
		{Line: 401, Level: Should, Text: "Unknown otherwise", Clauses: []string{"ready-unknown-meanwhile"}},
	}},
	{"Direct Secret Reference", []Requirement{
		{Line: 413, Level: Must, Text: "a Secret is a service that names itself", Clauses: []string{
			"direct-secret", "direct-secret-is-no-resource", "direct-secret-changed",
		}},
	}},
}
