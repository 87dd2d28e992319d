package watch

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/service"
)

// TestNobodyGetsWhatWasMadeUnasked: what was made of a service is for the bindings that were looked at, as they were asked
// for then. Any other one waits until it has been looked at.
func TestNobodyGetsWhatWasMadeUnasked(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Database"}
	bound := func(name, requester string) *binding.Binding {
		return &binding.Binding{
			Key: binding.KeyOf(binding.Specification, "shop", name), Requester: requester,
			Service: binding.Reference{GroupVersionKind: kind, Name: "db"},
		}
	}
	no := &service.Unavailable{Reason: "RequesterForbidden"}
	wrong := &service.Unavailable{Reason: "DescriptionInvalid"}
	made := Made{
		Secret:  "db-made",
		Judged:  map[binding.Key]string{bound("a", "").Key: "ann", bound("r", "").Key: "rob"},
		Refused: map[binding.Key]*service.Unavailable{bound("r", "").Key: no},
	}
	h := &Hub{made: map[ServiceKey]Made{
		{Kind: kind.GroupKind(), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "db"}}: made,
	}}
	key := ServiceKey{Kind: kind.GroupKind(), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "db"}}
	for _, test := range []struct {
		reason  string
		binding *binding.Binding
		secret  string
		err     error
	}{
		{"it was looked at, and may", bound("a", "ann"), "db-made", nil},
		{"it was looked at, and may not", bound("r", "rob"), "", no},
		{"it was not looked at yet", bound("b", "ann"), "", ErrStarting},
		{"somebody else asks for it since", bound("a", "bob"), "", ErrStarting},
		{"somebody else asks for what was refused", bound("r", "ann"), "", ErrStarting},
	} {
		secret, ok, err := h.madeFor(test.binding)
		if secret != test.secret || !errors.Is(err, test.err) || ok == errors.Is(err, ErrStarting) {
			t.Errorf("%s: got %q, %v and %v", test.reason, secret, ok, err)
		}
	}
	// A description that cannot be read was looked at for nobody; everybody is told, and keeps what they have.
	h.made[key] = Made{Secret: "db-made", Problem: wrong}
	if secret, ok, err := h.madeFor(bound("a", "ann")); secret != "db-made" || !ok || !errors.Is(err, wrong) {
		t.Errorf("what is wrong: got %q, %v and %v", secret, ok, err)
	}
}
