package extensions_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/produce"
)

// How a test tells its child, which is this very program, to be the controller, and at which write to die; 0 for never.
const (
	childKubeconfig = "BOWLINE_TEST_CHILD_KUBECONFIG"
	childKillAt     = "BOWLINE_TEST_CHILD_KILL_AT"
)

// child runs the controller when this process was started to be one, and returns whether that was so.
func child() bool {
	path := os.Getenv(childKubeconfig)
	if path == "" {
		return false
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		panic(err)
	}
	at, _ := strconv.ParseInt(os.Getenv(childKillAt), 10, 64)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config.Impersonate = rest.ImpersonationConfig{UserName: self}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &suicide{next: next, at: at} })
	if err := controller.Run(ctx, config, settings(&journal{})); err != nil {
		panic(err)
	}
	return true
}

// suicide kills its own process instead of sending a given write.
type suicide struct {
	next  http.RoundTripper
	count atomic.Int64
	at    int64
}

func (s *suicide) RoundTrip(request *http.Request) (*http.Response, error) {
	if isWrite(request) && !strings.Contains(request.URL.Path, "/events") && s.count.Add(1) == s.at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
	return s.next.RoundTrip(request)
}

// spawn starts the controller as a process; kill ends it, and dead is closed when it has ended.
func spawn(t *testing.T, plane *localplane.Plane, killAt int) (kill func(), dead <-chan struct{}) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childKubeconfig+"="+plane.Kubeconfig(), childKillAt+"="+strconv.Itoa(killAt))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	kill = func() {
		_ = cmd.Process.Kill()
		<-done
	}
	t.Cleanup(kill)
	return kill, done
}

// chapter is something that a controller has to bring to its end, whatever happens to it.
type chapter struct {
	name string
	// before runs with a controller that lives, act without any; after waits for the end, with one that lives.
	before, act, after func(p *place)
	// ended says whether the end is reached.
	ended func(p *place) error
}

func chapters() []chapter {
	return []chapter{
		{
			name: "bind", before: func(*place) {}, act: (*place).story,
			after: func(p *place) { p.told("first") },
			ended: func(p *place) error { return p.bears("first", "plain", "composed", "synthetic") },
		},
		{
			name:   "change",
			before: func(p *place) { p.story(); p.told("first") },
			act: func(p *place) {
				p.rotate("second")
				p.merge(secretKind, "source", `{"stringData":{"type":"y"}}`) // so that the Secrets are made anew
			},
			after: func(p *place) {
				p.makes(produce.ForService, map[string]string{"type": "y", "password": "second", "uri": "db.example.com"})
				p.makes(produce.ForBinding, map[string]string{
					"type": "y", "password": "second", "uri": "db.example.com", "url": "x://second@db.example.com",
				})
				p.makes(produce.ForSynthetic, map[string]string{"type": "x", "password": "second"})
				p.ready("plain", "synthetic")
			},
			ended: func(p *place) error { return p.bears("second", "plain", "composed", "synthetic") },
		},
		{
			name:   "unbind",
			before: func(p *place) { p.story(); p.told("first") },
			act: func(p *place) {
				p.remove(bindingKind, "plain")
				p.remove(bindingKind, "synthetic")
				p.remove(draftKind, "composed")
				p.remove(syntheticKind, "synthetic")
			},
			after: func(p *place) {
				p.gone(bindingKind, "plain")
				p.gone(bindingKind, "synthetic")
				p.gone(draftKind, "composed")
				p.unmade()
				p.restored()
			},
			ended: func(p *place) error { return p.bears("") },
		},
	}
}

// bears says whether as many Secrets as Deployments are there with a password, and just these Deployments are projected into.
func (p *place) bears(password string, names ...string) error {
	made := p.made("")
	if len(made) != len(names) {
		return fmt.Errorf("there are %d Secrets", len(made))
	}
	for _, secret := range made {
		if got := p.entries(&secret)["password"]; got != password {
			return fmt.Errorf("Secret %s has password %q", secret.GetName(), got)
		}
	}
	for _, name := range []string{"plain", "composed", "synthetic"} {
		if got, want := len(p.projected(name)) > 0, strings.Contains(strings.Join(names, " "), name); got != want {
			return fmt.Errorf("%s projected: %v, want %v", name, got, want)
		}
	}
	return nil
}

// testKilled kills the controller at each of its writes, and sees the next one bring the chapter to its end.
func testKilled(t *testing.T, plane *localplane.Plane) {
	const most = 25
	for _, c := range chapters() {
		t.Run(c.name, func(t *testing.T) {
			for at := 1; at <= most; at++ {
				if !c.killed(t, plane, at) {
					t.Logf("it took %d writes", at-1)
					if at < 4 {
						t.Errorf("it took %d writes only", at-1)
					}
					return
				}
			}
			t.Errorf("it took more than %d writes", most)
		})
	}
}

// killed tells a chapter with a controller that dies at a write, and then with one that lives; it returns whether the first
// one came to that write.
func (c chapter) killed(t *testing.T, plane *localplane.Plane, at int) (died bool) {
	t.Helper()
	config, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, config)
	alive, _ := spawn(t, plane, 0)
	c.before(p)
	alive()
	c.act(p)
	kill, dead := spawn(t, plane, at)
	p.until("the controller dies or the chapter ends", func() error {
		select {
		case <-dead:
			died = true
			return nil
		default:
			return c.ended(p)
		}
	})
	if !died { // a last write may come after the end, such as a status
		select {
		case <-dead:
			died = true
		case <-time.After(time.Second):
		}
	}
	kill()
	next, _ := spawn(t, plane, 0)
	c.after(p)
	next()
	p.discard()
	return died
}

// discard deletes what is bound without a controller, so that the next one has nothing else to do.
func (p *place) discard() {
	p.t.Helper()
	for _, kind := range []schema.GroupVersionKind{bindingKind, draftKind, syntheticKind} {
		for _, object := range p.list(kind) {
			p.merge(kind, object.GetName(), `{"metadata":{"finalizers":null}}`)
			p.remove(kind, object.GetName())
		}
	}
}
