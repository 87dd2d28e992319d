package produce

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/watch"
)

func sourceSecret(madeFor Purpose, kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": kind}}
	object.SetName("db")
	if madeFor != "" {
		object.SetLabels(map[string]string{MadeForLabel: string(madeFor)})
	}
	return object
}

// TestNothingIsMadeFromItself: a Secret that Bowline made is the source of one of a higher rank only, so that no chain of them
// closes.
func TestNothingIsMadeFromItself(t *testing.T) {
	t.Parallel()
	const keys = Purpose("")
	allowed := map[[2]Purpose]bool{
		{"", ForService}: true, {"", ForSynthetic}: true, {"", ForBinding}: true,
		{ForService, ForSynthetic}: true, {ForService, ForBinding}: true, {ForSynthetic, ForBinding}: true,
		{"somebody else's", ForService}: true, {"somebody else's", ForBinding}: true, {"somebody else's", ForSynthetic}: true,
	}
	for _, source := range []Purpose{"", ForService, ForSynthetic, ForBinding, "somebody else's"} {
		for _, purpose := range []Purpose{keys, ForService, ForSynthetic, ForBinding} {
			found, trouble, err := platform{}.usable(sourceSecret(source, "Opaque"), nil, purpose)
			if want := purpose == keys || allowed[[2]Purpose{source, purpose}]; (trouble == nil) != want || found == nil || err != nil {
				t.Errorf("a Secret for %q made from one for %q: %v, %v", purpose, source, trouble, err)
			}
			if trouble != nil && trouble.reason != ReasonSourceMade {
				t.Errorf("the reason is %s", trouble.reason)
			}
		}
	}
}

// TestUsable: what may not be read by anybody counts as missing, and what is not known yet is waited for.
func TestUsable(t *testing.T) {
	t.Parallel()
	const token = "kubernetes.io/service-account-token"
	if found, trouble, err := (platform{}).usable(sourceSecret("", token), nil, ForService); found != nil || trouble != nil || err != nil {
		t.Errorf("the platform's: %v, %v, %v", found, trouble, err)
	}
	if found, _, _ := (platform{allowed: []string{token}}).usable(sourceSecret("", token), nil, ForService); found == nil {
		t.Error("what was allowed is missing")
	}
	if _, trouble, err := (platform{}).usable(nil, watch.ErrStarting, ForService); trouble != nil || err == nil {
		t.Errorf("what is not known yet: %v, %v", trouble, err)
	}
	if _, trouble, err := (platform{}).usable(nil, &watch.KindError{Fault: watch.Forbidden}, ForService); trouble == nil || err != nil {
		t.Errorf("what is forbidden: %v, %v", trouble, err)
	}
}
