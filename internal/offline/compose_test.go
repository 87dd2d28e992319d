package offline_test

import (
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/offline"
)

const (
	token = `
apiVersion: v1
kind: Secret
metadata: {name: token}
type: kubernetes.io/service-account-token
stringData: {token: swordfish}
`
	overToken = `
apiVersion: service.binding/v1alpha1
kind: SyntheticProvisionedService
metadata: {name: composite}
spec:
  type: odd
  services: [{apiVersion: v1, kind: Secret, name: token}]
  mappings: [{name: a, value: ((token.token))}]
`
	bindComposite = `
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: composite}
spec:
  service: {apiVersion: service.binding/v1alpha1, kind: SyntheticProvisionedService, name: composite}
  workload: {apiVersion: apps/v1, kind: Deployment, name: orders}
`
)

// TestCompositionsAreRefused: what a controller would refuse is refused, and no value is told.
func TestCompositionsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		texts  []string
		want   string
	}{
		{reason: "credentials of the platform are no source", texts: []string{token, overToken, bindComposite}, want: `not found: Secret "token"`},
		{reason: "no such service", texts: []string{bindComposite}, want: "composite"},
		{
			reason: "a service that is none", want: "services", texts: []string{
				edited(overToken, "services: [{apiVersion: v1, kind: Secret, name: token}]", "services: []"), bindComposite,
			},
		},
		{
			reason: "two entries of one variable", want: "a.b",
			texts: []string{
				edited(db, "type: postgresql", "type: postgresql, a-b: x, a.b: x"),
				edited(bindOrders, "{name: orders-db}", "{name: orders-db, annotations: {bowline.dev/env: all}}"),
			},
		},
		{
			reason: "a version that is none", want: "its versions are v1alpha1",
			texts: []string{edited(overToken, "service.binding/v1alpha1", "service.binding/v1")},
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			_, err := project(t, offline.Choice{Workload: "orders"}, append([]string{orders}, test.texts...)...)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "swordfish") {
				t.Errorf("the error is %v, want one that says %q", err, test.want)
			}
		})
	}
}
