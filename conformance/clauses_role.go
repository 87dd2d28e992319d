package conformance

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The sections on Role-Based Access Control.

// The kind that nobody is granted until a clause does. Its name carries the clause, since kinds are the cluster's.
const lateManifest = `
---
apiVersion: late.conformance.test/v1
kind: KIND
metadata: {name: w}
spec: {template: {spec: {containers: [{name: main}]}}}
`

const lateRole = `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: servicebinding-conformance-KINDs
  labels: {servicebinding.io/controller: "true"}
rules:
- {apiGroups: [late.conformance.test], resources: [KINDs], verbs: [VERBS]}
`

var roleClauses = roleText{
	serviceRef: "Provisioned Service: RBAC", workloadRef: "Workload Projection: RBAC", sumRef: "Role-Based Access Control",
	workload: "workload", service: secretManifest, serviceBinding: databaseBindingManifest, workloadBinding: bindingManifest,
	label: "servicebinding.io/controller",
}.clauses()

// roleText is what the texts say otherwise of one and the same thing.
type roleText struct {
	// prefix of the clauses' names.
	prefix string
	// serviceRef, workloadRef and sumRef are the sections.
	serviceRef, workloadRef, sumRef string
	// workload is the word for one.
	workload string
	// service is what a binding of a workload needs.
	service string
	// serviceBinding binds the usual Database, workloadBinding the usual Deployment.
	serviceBinding, workloadBinding string
	label                           string
}

func (r roleText) role(kind, verbs string) string {
	return swap(of(kind, lateRole), "servicebinding.io/controller", r.label, "VERBS", verbs)
}

func (r roleText) clauses() []Clause {
	return []Clause{
		{
			Name: r.prefix + "rbac-service-role", SpecRef: r.serviceRef, Level: Must,
			Text:      "a labelled ClusterRole with get, list and watch is all that a kind of service needs to be opted in",
			Manifests: of("Vault", secretManifest+deploymentManifest+lateManifest),
			Test: func(t *T) {
				t.Apply(swap(r.serviceBinding, "services.conformance.test/v1, kind: Database, name: main",
					"late.conformance.test/v1, kind: Vault, name: w"))
				t.unready("db")
				t.Apply(r.role("Vault", "get, list, watch"))
				t.merge(late("vaults"), "w", `{"status":{"binding":{"name":"db-secret"}}}`, "status")
				t.ready("db")
				t.bound(deployment, "main", "db")
			},
		},
		{
			Name: r.prefix + "rbac-" + r.workload + "-role", SpecRef: r.workloadRef, Level: Must,
			Text:      "a labelled ClusterRole with get, list, watch, update and patch is all that a kind of " + r.workload + " needs",
			Manifests: of("Engine", r.service+lateManifest),
			Test: func(t *T) {
				w := target{late("engines"), "w", shapeAt("spec/template")}
				t.Apply(swap(r.workloadBinding, "apps/v1, kind: Deployment, name: orders", "late.conformance.test/v1, kind: Engine, name: w"))
				t.unready("db")
				t.unprojected(w)
				t.Apply(r.role("Engine", "get, list, watch, update, patch"))
				t.ready("db")
				t.bound(w, "main", "db")
			},
		},
		{
			Name: r.prefix + "rbac-aggregated-role", SpecRef: r.sumRef, Level: Must,
			Text: "there is a ClusterRole that sums up those labelled " + r.label + "=true",
			Test: func(t *T) {
				if len(t.aggregates()) == 0 {
					t.Fatalf("no ClusterRole aggregates the label")
				}
			},
		},
		{
			Name: r.prefix + "rbac-role-is-bound", SpecRef: r.sumRef, Level: Must,
			Text: "that ClusterRole is bound to a subject, for the cluster or for a namespace",
			Test: testRoleBound,
		},
	}
}

func late(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: lateGroup, Version: "v1", Resource: resource}
}

// aggregates lists the ClusterRoles that sum up those with the text's label.
func (t *T) aggregates() map[string]bool {
	list, err := t.Client().Resource(clusterRoles).List(t.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatalf("listing ClusterRoles: %v", err)
	}
	found := map[string]bool{}
	for i := range list.Items {
		var role rbacv1.ClusterRole
		if err := decode(list.Items[i].Object, &role); err != nil {
			t.Fatalf("reading ClusterRole %s: %v", list.Items[i].GetName(), err)
		}
		if role.AggregationRule == nil {
			continue
		}
		for i := range role.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
			if err == nil && !selector.Empty() && selector.Matches(labels.Set{t.suite.label(): "true"}) {
				found[role.Name] = true
			}
		}
	}
	return found
}

func testRoleBound(t *T) {
	roles := t.aggregates()
	for _, resource := range []string{"clusterrolebindings", "rolebindings"} {
		of := schema.GroupVersionResource{Group: clusterRoles.Group, Version: "v1", Resource: resource}
		list, err := t.Client().Resource(of).List(t.ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatalf("listing %s: %v", resource, err)
		}
		for i := range list.Items {
			var binding rbacv1.ClusterRoleBinding
			if err := decode(list.Items[i].Object, &binding); err != nil {
				t.Fatalf("reading %s: %v", list.Items[i].GetName(), err)
			}
			if binding.RoleRef.Kind == "ClusterRole" && roles[binding.RoleRef.Name] && len(binding.Subjects) > 0 {
				return
			}
		}
	}
	t.Fatalf("none of these is bound to anyone: %s", keys(roles))
}
