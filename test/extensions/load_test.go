package extensions_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/produce"
)

// meter counts what a controller asks for: watches that are open, by resource, and writes and reads of single objects.
type meter struct {
	next http.RoundTripper

	mu      sync.Mutex
	watched map[string]int
	reads   []string
	writes  []string
}

func (m *meter) RoundTrip(request *http.Request) (*http.Response, error) {
	path := request.URL.Path
	m.mu.Lock()
	switch {
	case isWrite(request) && !strings.Contains(path, "/events"):
		m.writes = append(m.writes, request.Method+" "+path)
	case request.URL.Query().Get("watch") == "true":
		if m.watched == nil {
			m.watched = map[string]int{}
		}
		m.watched[path+"?"+request.URL.Query().Get("fieldSelector")]++
	case request.Method == http.MethodGet:
		m.reads = append(m.reads, path+"?"+request.URL.Query().Get("fieldSelector"))
	}
	m.mu.Unlock()
	return m.next.RoundTrip(request)
}

// about lists what was asked for that names a text.
func about(all []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return !strings.Contains(one, text) })
}

func (m *meter) wrote(what string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return about(m.writes, what)
}

// open lists the watches of single objects that were begun, sorted.
func (m *meter) open(namespace string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.watched)), func(path string) bool {
		return !strings.Contains(path, "/namespaces/"+namespace+"/")
	})
}

const (
	// crowd is how many services are described, and bound how many of them anybody binds.
	crowd = 1000
	bound = 10
)

// testOneWrite: of many services that are described only those are looked at that are bound; one Secret is made for each of
// these, by one write; and a source that changes costs one write for each Secret that is made from it, and no more.
func testOneWrite(t *testing.T, config *rest.Config) {
	p := newPlace(t, config)
	for i := range crowd {
		name := fmt.Sprintf("s%d", i)
		text := databaseText(name, name)
		if i < bound {
			text = documents(text, plainSecret(name, "first"))
		}
		p.create(text)
	}
	// A source that two services and a synthetic one are made from.
	p.create(documents(plainSecret("shared", "first"), databaseText("a", "shared"), databaseText("b", "shared"), syntheticText("c", "shared")))
	m := &meter{}
	start(t, config, func(next http.RoundTripper) http.RoundTripper {
		m.next = next
		return m
	})
	var names []string
	for i := range bound {
		names = append(names, fmt.Sprintf("s%d", i))
	}
	for _, name := range append(names, "a", "b") {
		p.create(documents(deploymentText(name), recorded(bindingText(name, name))))
	}
	p.merge(syntheticKind, "c", fmt.Sprintf(`{"metadata":{"annotations":{"bowline.dev/requester":%q}}}`, asker))
	p.ready(append(names, "a", "b")...)
	p.condition(syntheticKind, "c", "Ready", produce.ReasonMade)

	m.watchesOnly(p, names)
	if made := p.made(""); len(made) != bound+3 {
		t.Errorf("%d Secrets were made", len(made))
	}
	writes := m.wrote("/namespaces/" + p.ns + "/secrets")
	if len(writes) != bound+3 || len(about(writes, "POST")) != bound+3 {
		t.Errorf("%d writes of Secrets: %v", len(writes), writes)
	}
	m.changes(p, "shared", 3)
	m.changes(p, "s0", 1)
	if reads := about(m.read(), "/namespaces/"+p.ns+"/secrets/"); len(reads) > 0 {
		t.Errorf("Secrets were read live: %v", reads)
	}
}

// watchesOnly sees that of single objects just those are watched that something bound is made from.
func (m *meter) watchesOnly(p *place, names []string) {
	p.t.Helper()
	want := []string{
		"/apis/operators.coreos.com/v1alpha1/namespaces/" + p.ns + "/clusterserviceversions?",
		"/api/v1/namespaces/" + p.ns + "/secrets?metadata.name=shared",
	}
	for _, name := range append(names, "a", "b") {
		want = append(want, "/apis/apps.kube.io/v1beta1/namespaces/"+p.ns+"/databases?metadata.name="+name)
	}
	for _, name := range names {
		want = append(want, "/api/v1/namespaces/"+p.ns+"/secrets?metadata.name="+name)
	}
	slices.Sort(want)
	if got := m.open(p.ns); !slices.Equal(got, want) {
		p.t.Errorf("%d objects are watched, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
}

func (m *meter) read() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.reads)
}

// changes rotates a source, and sees just the Secrets written that are made from it, each once.
func (m *meter) changes(p *place, source string, of int) {
	p.t.Helper()
	m.mu.Lock()
	m.writes = nil
	m.mu.Unlock()
	password := "second-of-" + source
	p.merge(secretKind, source, fmt.Sprintf(`{"stringData":{"password":%q}}`, password))
	var holding []string
	p.until(fmt.Sprintf("%d Secrets have the new password", of), func() error {
		holding = nil
		for _, secret := range p.made("") {
			if p.entries(&secret)["password"] == password {
				holding = append(holding, "PATCH /api/v1/namespaces/"+p.ns+"/secrets/"+secret.GetName())
			}
		}
		if len(holding) != of {
			return fmt.Errorf("there are %d", len(holding))
		}
		return nil
	})
	// What is changed last is written last: once that is so, all else that there was to write has been.
	p.merge(databaseKind, "b", fmt.Sprintf(`{"status":{"url":"after-%s.example.com"}}`, source))
	var last string
	p.until("the last change is written", func() error {
		for _, secret := range p.made(produce.ForService) {
			if p.entries(&secret)["uri"] == "after-"+source+".example.com" {
				last = "PATCH /api/v1/namespaces/" + p.ns + "/secrets/" + secret.GetName()
				return nil
			}
		}
		return errors.New("it is not")
	})
	want := append(slices.Clone(holding), last)
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(m.wrote(p.ns))); !slices.Equal(got, want) {
		p.t.Errorf("%s changed; the writes are\n%s\nwant\n%s", source, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
