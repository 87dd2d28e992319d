package extensions_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/produce"
)

var (
	definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	namespaceKind  = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
)

// testComingAndGoing takes away what Bowline works with while it does, and gives it back.
func testComingAndGoing(t *testing.T, config *rest.Config) {
	log, _ := start(t, config, nil)
	t.Run("a source", func(t *testing.T) {
		p := newPlace(t, config)
		p.story()
		p.told("first")
		p.remove(secretKind, "source")
		p.condition(bindingKind, "plain", "ServiceAvailable", produce.ReasonSourceMissing)
		p.condition(syntheticKind, "synthetic", "SourcesAvailable", produce.ReasonSourceMissing)
		if n := len(p.made("")); n != 3 {
			t.Errorf("%d of 3 Secrets stayed", n)
		}
		p.create(plainSecret("source", "second"))
		p.told("second")
		p.unbind()
	})
	t.Run("what was made", func(t *testing.T) { testTampering(t, config) })
	t.Run("a service that is bound", func(t *testing.T) {
		p := newPlace(t, config)
		p.story()
		p.told("first")
		p.remove(databaseKind, "db")
		p.remove(syntheticKind, "synthetic")
		p.condition(bindingKind, "plain", "ServiceAvailable", "ServiceNotFound")
		p.condition(bindingKind, "synthetic", "ServiceAvailable", "ServiceNotFound")
		p.rotate("second")
		p.create(databaseText("db", "source")) // the same name, another UID
		p.create(recorded(syntheticText("synthetic", "source")))
		p.told("second")
		p.unbind()
	})
	t.Run("a binding of one name after another", func(t *testing.T) {
		p := newPlace(t, config)
		p.story()
		p.told("first")
		p.remove(draftKind, "composed")
		p.gone(draftKind, "composed")
		p.create(recorded(draftText("composed", "db")))
		p.told("first")
		p.unbind()
	})
	t.Run("a name", func(t *testing.T) { testRenaming(t, config) })
	t.Run("a kind", func(t *testing.T) { testKindGoes(t, config) })
	t.Run("a namespace", func(t *testing.T) {
		p := newPlace(t, config)
		p.story()
		p.told("first")
		p.remove(namespaceKind, p.ns)
		p.gone(namespaceKind, p.ns)
		if lines := log.lines(p.ns); len(lines) > 20 {
			t.Errorf("there are %d lines in the log, as: %s", len(lines), lines[len(lines)-1])
		}
	})
}

// testTampering: what was made is made again where somebody deletes or changes it.
func testTampering(t *testing.T, config *rest.Config) {
	t.Helper()
	p := newPlace(t, config)
	p.story()
	p.told("first")
	for _, secret := range p.made("") {
		p.remove(secretKind, secret.GetName())
	}
	p.told("first")
	for _, secret := range p.made("") {
		p.merge(secretKind, secret.GetName(), `{"stringData":{"password":"foreign"}}`)
	}
	p.told("first")
	p.unbind()
}

// testRenaming: what was made under an earlier name goes.
func testRenaming(t *testing.T, config *rest.Config) {
	t.Helper()
	p := newPlace(t, config)
	p.story()
	p.told("first")
	p.merge(syntheticKind, "synthetic", `{"spec":{"name":"renamed"}}`)
	p.until("the Secret has the new name, and the old one is gone", func() error {
		if made := p.made(produce.ForSynthetic); len(made) != 1 || !strings.HasPrefix(made[0].GetName(), "renamed-") {
			return fmt.Errorf("there are %d", len(made))
		}
		return nil
	})
	p.told("first")
	p.unbind()
}

// gadgets defines a kind of services that may go.
const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.going.example.com
  annotations: {service.binding: "path={.status.credentials},objectType=Secret"}
spec:
  group: going.example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const gadgetsRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: gadgets, labels: {servicebinding.io/controller: "true"}}
rules: [{apiGroups: [going.example.com], resources: [gadgets], verbs: [get, list, watch]}]
`

const gadget = `
apiVersion: going.example.com/v1
kind: Gadget
metadata: {name: g}
status: {credentials: source}
`

// testKindGoes: the kind of a service, and of a synthetic service's source, is taken away and comes back.
func testKindGoes(t *testing.T, config *rest.Config) {
	p := newPlace(t, config)
	p.create(documents(gadgets, gadgetsRole, plainSecret("source", "first"), deploymentText("plain")))
	p.until("there is a gadget", func() error { return p.try(gadget) })
	p.create(recorded(strings.Replace(bindingText("plain", "g"), "apps.kube.io/v1beta1, kind: Database", "going.example.com/v1, kind: Gadget", 1)))
	synthetic := strings.NewReplacer(
		"{apiVersion: v1, kind: Secret,", "{apiVersion: going.example.com/v1, kind: Gadget,", "source.password", "source.status.credentials")
	p.create(recorded(synthetic.Replace(syntheticText("synthetic", "g"))))
	p.ready("plain")
	p.condition(syntheticKind, "synthetic", "Ready", produce.ReasonMade)
	p.remove(definitionKind, "gadgets.going.example.com")
	p.gone(definitionKind, "gadgets.going.example.com")
	p.condition(bindingKind, "plain", "ServiceAvailable", "ServiceKindUnknown")
	p.condition(syntheticKind, "synthetic", "SourcesAvailable", produce.ReasonSourceMissing)
	p.create(gadgets)
	p.until("there is a gadget again", func() error { return p.try(gadget) })
	p.merge(secretKind, "source", `{"stringData":{"password":"second"}}`)
	p.makes(produce.ForService, map[string]string{"type": "x", "password": "second"})
	p.ready("plain")
	p.condition(syntheticKind, "synthetic", "Ready", produce.ReasonMade)
	p.remove(bindingKind, "plain")
	p.gone(bindingKind, "plain")
	p.remove(syntheticKind, "synthetic")
	p.unmade()
}

// testUnboundMeanwhile: what was made for a service goes also where its last binding went while no controller ran.
func testUnboundMeanwhile(t *testing.T, config *rest.Config) {
	t.Helper()
	p := newPlace(t, config)
	_, stop := start(t, config, nil)
	p.story()
	p.told("first")
	stop()
	for kind, name := range map[schema.GroupVersionKind]string{bindingKind: "plain", draftKind: "composed"} {
		p.merge(kind, name, `{"metadata":{"finalizers":null}}`)
		p.remove(kind, name)
		p.gone(kind, name)
	}
	// The Secrets become known before the bindings do: the latter are answered later.
	start(t, config, func(next http.RoundTripper) http.RoundTripper {
		return &lateBindings{next: next, secrets: make(chan struct{})}
	})
	p.until("what was made for the service is gone", func() error {
		if made := p.made(produce.ForService); len(made) > 0 {
			return errors.New(made[0].GetName() + " is there")
		}
		return nil
	})
	if len(p.made(produce.ForBinding)) > 0 {
		t.Error("what was made for the binding is there")
	}
	p.ready("synthetic")
}

// lateBindings lets bindings be asked for only once the Secrets that were made are known.
type lateBindings struct {
	next    http.RoundTripper
	once    sync.Once
	secrets chan struct{}
}

// soonAfter is how long it takes at most until an informer has handed on what it was told of.
const soonAfter = 300 * time.Millisecond

func (l *lateBindings) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/servicebindings") && request.Method == http.MethodGet {
		select {
		case <-l.secrets:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	response, err := l.next.RoundTrip(request)
	if err == nil && strings.HasSuffix(request.URL.Path, "/api/v1/secrets") && strings.Contains(request.URL.RawQuery, "made-for") {
		response.Body = &tapped{response.Body, func(text []byte) {
			if bytes.Contains(text, []byte("initial-events-end")) || bytes.Contains(text, []byte("SecretList")) {
				l.once.Do(func() { time.AfterFunc(soonAfter, func() { close(l.secrets) }) })
			}
		}}
	}
	return response, err
}

// tapped is an answer that is listened to.
type tapped struct {
	io.ReadCloser

	heard func([]byte)
}

func (b *tapped) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.heard(into[:n])
	return n, err
}
