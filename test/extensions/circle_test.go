package extensions_test

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/produce"
)

// testCircles: nothing is made of what might be made of it, directly or by another one: it would grow without end.
func testCircles(t *testing.T, config *rest.Config) {
	p := newPlace(t, config)
	m := &meter{}
	start(t, config, func(next http.RoundTripper) http.RoundTripper {
		m.next = next
		return m
	})
	grow := func(secret string) string {
		return fmt.Sprintf(`{"spec":{"services":[{"apiVersion":"v1","kind":"Secret","name":%q,"id":"source"}],`+
			`"mappings":[{"name":"password","value":"((source.password))x"}]}}`, secret)
	}
	p.story()
	p.told("first")
	synthetic := p.made(produce.ForSynthetic)[0].GetName()
	service := p.made(produce.ForService)[0].GetName()
	composed := p.made(produce.ForBinding)[0].GetName()

	p.merge(syntheticKind, "synthetic", grow(synthetic))
	p.condition(syntheticKind, "synthetic", "SourcesAvailable", produce.ReasonSourceMade)
	p.merge(syntheticKind, "synthetic", grow(composed))
	p.condition(syntheticKind, "synthetic", "SourcesAvailable", produce.ReasonSourceMade)
	p.merge(databaseKind, "db", fmt.Sprintf(`{"status":{"credentials":%q}}`, service))
	p.condition(bindingKind, "plain", "ServiceAvailable", produce.ReasonSourceMade)
	p.merge(draftKind, "composed", fmt.Sprintf(
		`{"spec":{"service":{"apiVersion":"v1","kind":"Secret","name":%q},"mappings":[{"name":"password","value":"((password))x"}]}}`, composed))
	p.condition(draftKind, "composed", "ServiceAvailable", produce.ReasonSourceMade)
	for _, secret := range p.made("") {
		if got := p.entries(&secret)["password"]; got != "first" {
			t.Errorf("Secret %s has grown: %s", secret.GetName(), got)
		}
	}
	if wrote := about(m.wrote(p.ns), "/secrets"); len(wrote) != 3 {
		t.Errorf("the writes are: %v", wrote)
	}
}
