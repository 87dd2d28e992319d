package conformance

// The sections from Workload Resource Mapping on, and version 1.1.
var inventoryOfMapping = []section{
	{"Workload Resource Mapping", []Requirement{
		{Line: 439, Level: Must, Text: "the cluster-scoped kind ClusterWorkloadResourceMapping in v1beta1", Clauses: []string{
			"mapping-api-v1beta1", "schema-mapping",
		}},
		{Line: 441, Level: May, Text: "other versions of the API", Clauses: []string{"api-v1"}},
		{Line: 441, Level: Must, Text: "the schema is that of the exemplar", Clauses: []string{"schema-mapping"}},
		{Line: 442, Level: Must, Text: "the name says for which resource it is", Clauses: []string{"mapping-by-name"}},
		{
			Line: 443, Level: Must, Text: "a mapping has versions", Clauses: []string{"mapping-empty"},
			Untestable: "the exemplar's schema does not require them, and the text says what a mapping without them means: that is tested",
		},
		{Line: 447, Level: Must, Text: "a template has a version", Clauses: []string{"mapping-needs-version"}},
		{Line: 449, Level: May, Text: "the version * stands for all that have none of their own", Clauses: []string{
			"mapping-wildcard", "mapping-explicit-version",
		}},
		{Line: 451, Level: May, Text: "where annotations are", Clauses: []string{"mapping-annotations"}},
		{Line: 453, Level: Must, Text: "the default of that", Clauses: []string{"mapping-default-annotations"}},
		{Line: 456, Level: May, Text: "where containers are", Clauses: []string{"mapping-containers"}},
		{Line: 459, Level: Must, Text: "the default of that", Clauses: []string{"mapping-default-containers"}},
		{Line: 461, Level: May, Text: "where volumes are", Clauses: []string{"mapping-volumes"}},
		{Line: 464, Level: Must, Text: "the default of that", Clauses: []string{"mapping-default-volumes"}},
		{Line: 468, Level: Must, Text: "a container mapping has a path", Clauses: []string{"mapping-container-needs-path"}},
		{Line: 469, Level: Must, Text: "each match is treated alike", Clauses: []string{"mapping-each-match", "path-deep", "mapping-no-match"}},
		{Line: 470, Level: May, Text: "where a container's name is", Clauses: []string{"mapping-name-limits-containers"}},
		{Line: 472, Level: May, Text: "where a container's variables are", Clauses: []string{"mapping-is-used", "mapping-containers"}},
		{Line: 475, Level: Must, Text: "the default of that", Clauses: []string{"mapping-default-env"}},
		{Line: 478, Level: May, Text: "where a container's mounts are", Clauses: []string{"mapping-is-used", "mapping-containers"}},
		{Line: 481, Level: Must, Text: "the default of that", Clauses: []string{"mapping-default-mounts"}},
	}},
	{"Fixed JSONPath", []Requirement{
		{Line: 485, Level: Must, Text: "what is called a Fixed JSONPath is one", Clauses: []string{"path-fixed-forms", "path-fixed-only"}},
		{Line: 485, Level: May, Text: "other paths have all of JSONPath", Clauses: []string{"path-full-jsonpath"}},
		{Line: 486, Level: MustNot, Text: "a Fixed JSONPath has fields only", Clauses: []string{"path-fixed-only"}},
	}},
	{"Runtime Behavior", []Requirement{
		{Line: 561, Level: Must, Text: "a mapping of the workload's kind is used", Clauses: []string{
			"mapping-is-used", "mapping-comes-later", "kind-cronjob",
		}},
		{Line: 561, Level: Must, Text: "without one the kind is PodSpec-able", Clauses: []string{"mapping-none", "mapping-deleted"}},
		{Line: 563, Level: Must, Text: "a projection is removed with the mapping that made it", Clauses: []string{
			"mapping-of-the-projection-is-used-to-remove", "unbind-removes", "unbind-after-service", "node-unbind",
		}},
		{Line: 564, Level: Must, Text: "a changed mapping takes effect for the bindings that are there", Clauses: []string{
			"mapping-changed", "mapping-changed-all-bindings",
		}},
		{Line: 569, Level: Must, Text: "names limit the containers", Clauses: []string{"mapping-name-limits-containers"}},
		{Line: 569, Level: Should, Text: "where both sides give them", Clauses: []string{"mapping-without-name-binds-all"}},
		{Line: 570, Level: Must, Text: "what a Fixed JSONPath leads to is made", Clauses: []string{"mapping-creates-what-is-missing"}},
		{Line: 572, Level: Must, Text: "what is mapped is changed as a pod template is", Clauses: []string{"mapping-as-pod-template"}},
		{Line: 574, Level: Must, Text: "the rest is preserved", Clauses: []string{
			"mapping-preserves-the-rest", "unbind-restores", "unbind-keeps-edits",
		}},
	}},
	{"Role-Based Access Control", []Requirement{
		{Line: 576, Level: May, Text: "operators control access by more than roles", Untestable: permission},
		{Line: 577, Level: Must, Text: "there is an aggregated ClusterRole", Clauses: []string{"rbac-aggregated-role", "rbac-service-role"}},
		{Line: 580, Level: Must, Text: "it is bound to the implementation", Clauses: []string{"rbac-role-is-bound", "rbac-workload-role"}},
	}},
	{"1.1: API version v1", []Requirement{
		{Level: Must, Text: "both kinds are served in v1", Clauses: []string{"api-v1"}},
	}},
	{"1.1: ServiceAvailable condition", []Requirement{
		{Level: Must, Text: "True when the service exists and exposes a Secret", Clauses: []string{"service-available-true"}},
		{Level: Must, Text: "False, with a message, when not or when that cannot be told", Clauses: []string{
			"service-available-false", "service-available-unknowable",
		}},
	}},
	{"1.1: binding name collisions", []Requirement{
		{Level: Should, Text: "a check in good faith", Clauses: []string{"name-collision"}},
	}},
	{"1.1: mapping changes", []Requirement{
		{Level: Must, Text: "every binding of the kind is projected again", Clauses: []string{"mapping-changed-all-bindings"}},
	}},
	{"1.1: directories without type", []Requirement{
		{Level: Must, Text: "they are not bindings for an application", Untestable: byReader},
	}},
}
