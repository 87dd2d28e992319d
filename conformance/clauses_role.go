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

var roleClauses = []Clause{
	{
		Name: "rbac-service-role", SpecRef: "Provisioned Service: RBAC", Level: Must,
		Text:      "a labelled ClusterRole with get, list and watch is all that a kind of service needs to be opted in",
		Manifests: of("Vault", secretManifest+deploymentManifest+lateManifest),
		Test: func(t *T) {
			t.Apply(swap(databaseBindingManifest, "services.conformance.test/v1, kind: Database, name: main",
				"late.conformance.test/v1, kind: Vault, name: w"))
			t.unready("db")
			t.Apply(swap(of("Vault", lateRole), "VERBS", "get, list, watch"))
			t.merge(late("vaults"), "w", `{"status":{"binding":{"name":"db-secret"}}}`, "status")
			t.ready("db")
			t.bound(deployment, "main", "db")
		},
	},
	{
		Name: "rbac-workload-role", SpecRef: "Workload Projection: RBAC", Level: Must,
		Text:      "a labelled ClusterRole with get, list, watch, update and patch is all that a kind of workload needs",
		Manifests: of("Engine", secretManifest+lateManifest),
		Test: func(t *T) {
			w := target{late("engines"), "w", shapeAt("spec/template")}
			t.Apply(swap(bindingManifest, "apps/v1, kind: Deployment, name: orders", "late.conformance.test/v1, kind: Engine, name: w"))
			t.unready("db")
			t.unprojected(w)
			t.Apply(swap(of("Engine", lateRole), "VERBS", "get, list, watch, update, patch"))
			t.ready("db")
			t.bound(w, "main", "db")
		},
	},
	{
		Name: "rbac-aggregated-role", SpecRef: "Role-Based Access Control", Level: Must,
		Text: "there is a ClusterRole that sums up those labelled servicebinding.io/controller=true",
		Test: func(t *T) {
			if len(t.aggregates()) == 0 {
				t.Fatalf("no ClusterRole aggregates the label")
			}
		},
	},
	{
		Name: "rbac-role-is-bound", SpecRef: "Role-Based Access Control", Level: Must,
		Text: "that ClusterRole is bound to a subject, for the cluster or for a namespace",
		Test: testRoleBound,
	},
}

func late(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: lateGroup, Version: "v1", Resource: resource}
}

// aggregates lists the ClusterRoles that sum up those with the specification's label.
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
			if err == nil && !selector.Empty() && selector.Matches(labels.Set{controllerLabel: "true"}) {
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
