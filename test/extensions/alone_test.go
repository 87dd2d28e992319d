package extensions_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/textlogger"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
	"github.com/bowline-dev/bowline/internal/produce"
)

// asker is the record of who asked for what the tests here create themselves: no admission runs beside their controllers.
const asker = `{"username":"root","groups":["system:masters"]}`

// recorded gives each binding and synthetic service of a text a record of who asked for it.
func recorded(text string) string {
	documents := strings.Split(text, "\n---\n")
	for i, document := range documents {
		if strings.Contains(document, "kind: ServiceBinding") || strings.Contains(document, "kind: SyntheticProvisionedService") {
			documents[i] = strings.Replace(document, "metadata: {",
				fmt.Sprintf("metadata: {annotations: {%s: '%s'}, ", binding.RequesterAnnotation, asker), 1)
		}
	}
	return strings.Join(documents, "\n---\n")
}

// alone starts a control plane without a controller, with everything that is needed to run some.
func alone(t *testing.T) (*localplane.Plane, *rest.Config) {
	t.Helper()
	plane := planetest.Start(t, planetest.WithControllerManager())
	config, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	features := feature.Of(feature.All()...)
	if err := install.Apply(t.Context(), config, install.Options{External: true, Features: features}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	kinds, err := os.ReadFile("testdata/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	(&place{t: t, config: config}).as("").create(string(kinds))
	return plane, config
}

// settings are those of a controller that makes all writes itself: without admission.
func settings(log *journal) controller.Options {
	return controller.Options{
		Namespace: install.DefaultNamespace, MetricsAddress: "0", ProbeAddress: "0", Gather: 20 * time.Millisecond,
		Features: feature.Of(feature.All()...), SkipNameValidation: true,
		Log: textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))),
	}
}

// start runs a controller in this process until the test ends or stop is called. What it sends goes through wrap.
func start(t *testing.T, config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) (log *journal, stop func()) {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: self}
	if wrap != nil {
		config.Wrap(wrap)
	}
	log = &journal{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- controller.Run(ctx, config, settings(log)) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the controller ended with: %v", err)
		}
	})
	t.Cleanup(stop)
	return log, stop
}

// story is all that can be made: of a described service, of that for a binding that composes, and of a synthetic service.
func (p *place) story() {
	p.t.Helper()
	p.create(documents(plainSecret("source", "first"), databaseText("db", "source"),
		deploymentText("plain"), deploymentText("composed"), deploymentText("synthetic")))
	p.create(recorded(documents(
		bindingText("plain", "db"), draftText("composed", "db"), syntheticText("synthetic", "source"), syntheticBinding("synthetic"),
	)))
}

func syntheticBinding(name string) string {
	return strings.Replace(bindingText(name, name), "apps.kube.io/v1beta1, kind: Database", "service.binding/v1alpha1, kind: SyntheticProvisionedService", 1)
}

// told says whether the story is at its end, with a password.
func (p *place) told(password string) {
	p.t.Helper()
	url := "x://" + password + "@db.example.com"
	p.makes(produce.ForService, map[string]string{"type": "x", "password": password, "uri": "db.example.com"})
	p.makes(produce.ForBinding, map[string]string{"type": "x", "password": password, "uri": "db.example.com", "url": url})
	p.makes(produce.ForSynthetic, map[string]string{"type": "x", "password": password})
	p.condition(syntheticKind, "synthetic", "Ready", produce.ReasonMade)
	p.ready("plain", "synthetic")
	p.condition(draftKind, "composed", "Ready", "Projected")
	for name, purpose := range map[string]produce.Purpose{
		"plain": produce.ForService, "composed": produce.ForBinding, "synthetic": produce.ForSynthetic,
	} {
		if got, want := fmt.Sprint(p.projected(name)), fmt.Sprint([]string{p.made(purpose)[0].GetName()}); got != want {
			p.t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}

// unbind deletes all that the story made, and sees that nothing is left.
func (p *place) unbind() {
	p.t.Helper()
	p.remove(bindingKind, "plain")
	p.remove(bindingKind, "synthetic")
	p.remove(draftKind, "composed")
	p.gone(bindingKind, "plain")
	p.gone(bindingKind, "synthetic")
	p.gone(draftKind, "composed")
	p.remove(syntheticKind, "synthetic")
	p.unmade()
	p.restored()
}

// restored sees that nothing is left of any projection.
func (p *place) restored() {
	p.t.Helper()
	for _, name := range []string{"plain", "composed", "synthetic"} {
		if text := fmt.Sprint(p.get(deploymentKind, name).Object); strings.Contains(text, "servicebinding") || strings.Contains(text, "bowline.dev") {
			p.t.Errorf("something is left in Deployment %s: %s", name, text)
		}
	}
}

// rotate changes the source's password.
func (p *place) rotate(password string) {
	p.t.Helper()
	p.merge(secretKind, "source", fmt.Sprintf(`{"stringData":{"password":%q}}`, password))
}

// TestAlone holds the tests that need a control plane without the package's controller.
func TestAlone(t *testing.T) {
	t.Parallel()
	plane, config := alone(t)
	t.Run("faults of the API server", func(t *testing.T) { testFaults(t, config) })
	t.Run("what comes and goes", func(t *testing.T) { testComingAndGoing(t, config) })
	t.Run("unbound while no controller runs", func(t *testing.T) { testUnboundMeanwhile(t, config) })
	t.Run("one change, one write", func(t *testing.T) { testOneWrite(t, config) })
	t.Run("what feeds on itself", func(t *testing.T) { testCircles(t, config) })
	t.Run("killed at every write", func(t *testing.T) { testKilled(t, plane) })
	t.Run("two replicas", func(t *testing.T) { testReplicas(t, config) }) // the last one, since it leaves webhooks behind
}
