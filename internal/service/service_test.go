package service_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/service"
)

// naming is a service whose status names a Secret.
func naming(secret any) map[string]any {
	return map[string]any{"status": map[string]any{"binding": map[string]any{"name": secret}}}
}

type resolveCase struct {
	reason   string
	ref      binding.Reference
	object   map[string]any
	presence service.Presence
	want     string
	err      *service.Unavailable
}

func resolveCases() []resolveCase {
	postgres := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Postgres"}
	provisioned := binding.Reference{GroupVersionKind: postgres, Name: "db"}
	direct := binding.Reference{GroupVersionKind: binding.SecretKind, Name: "db"}
	return []resolveCase{
		{reason: "the duck type names the Secret", ref: provisioned, object: naming("db-a"), presence: service.Present, want: "db-a"},
		{reason: "a Secret that may not be looked for is trusted", ref: provisioned, object: naming("db-a"), want: "db-a"},
		{
			reason: "a missing Secret is told with its name and the service's", ref: provisioned,
			object: naming("db-a"), presence: service.Missing, want: "db-a",
			err: &service.Unavailable{
				Reason: service.ReasonSecretNotFound,
				Message: `Secret "db-a", which Postgres "db" names in .status.binding.name, does not exist in this namespace, ` +
					`or is of a type that may not be bound; create it, or wait for it`,
			},
		},
		{
			reason: "a missing service is told", ref: provisioned,
			err: &service.Unavailable{
				Reason:  service.ReasonNotFound,
				Message: `Postgres "db" does not exist in this namespace; create it, or correct spec.service`,
			},
		},
		{reason: "no status", ref: provisioned, object: map[string]any{}, err: noBinding()},
		{reason: "no name", ref: provisioned, object: naming(""), err: noBinding()},
		{reason: "a name that is none", ref: provisioned, object: naming(int64(7)), err: noBinding()},
		{reason: "a status that is none", ref: provisioned, object: map[string]any{"status": "up"}, err: noBinding()},
		{
			reason: "of a synthetic service Bowline itself knows more", object: map[string]any{},
			ref: binding.Reference{GroupVersionKind: schema.GroupVersionKind{
				Group: "service.binding", Version: "v1alpha1", Kind: "SyntheticProvisionedService",
			}, Name: "url"},
			err: &service.Unavailable{
				Reason: service.ReasonNoBinding,
				Message: `SyntheticProvisionedService "url" names no Secret in .status.binding.name; look at its conditions, ` +
					`which say what its Secret waits for`,
			},
		},
		{reason: "a Secret is its own service", ref: direct, presence: service.Present, want: "db"},
		{reason: "a Secret's own fields are not read", ref: direct, object: naming("other"), want: "db"},
		{
			reason: "a missing Secret is told", ref: direct, presence: service.Missing, want: "db",
			err: &service.Unavailable{
				Reason: service.ReasonSecretNotFound,
				Message: `Secret "db" does not exist in this namespace, or is of a type that may not be bound; ` +
					`create it, or correct spec.service.name`,
			},
		},
		{
			reason: "a Secret of another group is a service like any other",
			ref:    binding.Reference{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Secret"}, Name: "db"},
			object: naming("db-a"), want: "db-a",
		},
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, test := range resolveCases() {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			var asked []string
			got, err := service.Resolve(test.ref, test.object, func(secret string) service.Presence {
				asked = append(asked, secret)
				return test.presence
			})
			if got != test.want {
				t.Errorf("Resolve() = %q, want %q", got, test.want)
			}
			var unavailable *service.Unavailable
			if err != nil && !errors.As(err, &unavailable) {
				t.Fatalf("Resolve() error = %v, which is no *Unavailable", err)
			}
			if diff := cmp.Diff(test.err, unavailable); diff != "" {
				t.Errorf("Resolve() error (-want +got):\n%s", diff)
			}
			if err != nil && err.Error() != test.err.Message {
				t.Errorf("Error() = %q, want the message", err)
			}
			var ask []string
			if test.want != "" {
				ask = []string{test.want}
			}
			if diff := cmp.Diff(ask, asked); diff != "" {
				t.Errorf("Secrets looked for (-want +got):\n%s", diff)
			}
		})
	}
}

func noBinding() *service.Unavailable {
	return &service.Unavailable{
		Reason: service.ReasonNoBinding,
		Message: `Postgres "db" names no Secret in .status.binding.name; wait for its controller to set it, ` +
			`or refer to a Secret directly`,
	}
}
