package controller_test

import (
	"context"
	"errors"
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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

// How a test tells its child, which is this very program, to be the controller.
const (
	childKubeconfig = "BOWLINE_TEST_CHILD_KUBECONFIG"
	childKillAt     = "BOWLINE_TEST_CHILD_KILL_AT"   // the number of the write to die at; 0 for never
	childKillWhen   = "BOWLINE_TEST_CHILD_KILL_WHEN" // before or after that write
)

// child runs the controller when this process was started to be one, without admission so that it makes all writes
// itself, and returns whether that was so.
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
	err = run(ctx, config, func(c *rest.Config, o *controller.Options) {
		o.WebhookPort, o.ProbeAddress, o.Gather = 0, "0", 20*time.Millisecond
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return &suicide{next: next, at: at, after: os.Getenv(childKillWhen) == "after"}
		})
	})
	if err != nil {
		panic(err)
	}
	return true
}

// suicide kills its own process at a given write.
type suicide struct {
	next  http.RoundTripper
	count atomic.Int64
	at    int64
	after bool
}

func (s *suicide) RoundTrip(request *http.Request) (*http.Response, error) {
	deadly := isWrite(request) && s.count.Add(1) == s.at
	if deadly && !s.after {
		die()
	}
	response, err := s.next.RoundTrip(request)
	if deadly {
		die()
	}
	return response, err //nolint:wrapcheck // it stands in for the real one
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

// isWrite says whether a request changes anything in the cluster.
func isWrite(request *http.Request) bool {
	return request.Method != http.MethodGet && !strings.Contains(request.URL.Path, "selfsubject")
}

// spawn starts the controller as a process; the returned function tells, without waiting, whether it has died.
func spawn(t *testing.T, plane *localplane.Plane, killAt int, when string) (cmd *exec.Cmd, dead <-chan struct{}) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self)
	cmd.Env = append(os.Environ(),
		childKubeconfig+"="+plane.Kubeconfig(), childKillAt+"="+strconv.Itoa(killAt), childKillWhen+"="+when)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	return cmd, done
}

// story is one thing a controller has to bring to its end, whatever happens to it.
type story struct {
	name string
	// setup runs with a controller that lives, act without any; check says whether the end is reached.
	setup func(k *cluster)
	act   func(k *cluster)
	check func(k *cluster) error
}

func stories() []story {
	bind := func(k *cluster) {
		k.create(secretText("db") + "\n---\n" + secretText("db2") + "\n---\n" + deploymentText("orders"))
		k.create(strings.ReplaceAll(deploymentText("stateful"), "kind: Deployment", "kind: StatefulSet"))
	}
	bound := func(k *cluster) {
		bind(k)
		k.create(bindingText("b", "db", "orders"))
		k.ready("b")
	}
	return []story{
		{
			name: "bind", setup: bind,
			act:   func(k *cluster) { k.create(bindingText("b", "db", "orders")) },
			check: func(k *cluster) error { return k.settled("b", "db", deploymentsOnly) },
		},
		{
			name: "rebind to another Secret", setup: bound,
			act:   func(k *cluster) { k.merge(bindings, "b", `{"spec":{"service":{"name":"db2"}}}`) },
			check: func(k *cluster) error { return k.settled("b", "db2", deploymentsOnly) },
		},
		{
			name: "rebind to another kind", setup: bound,
			act: func(k *cluster) {
				k.merge(bindings, "b", `{"spec":{"workload":{"kind":"StatefulSet","name":"stateful"}}}`)
			},
			check: func(k *cluster) error { return k.settled("b", "db", statefulOnly) },
		},
		{
			name: "unbind", setup: bound,
			act: func(k *cluster) { k.remove(bindings, "b") },
			check: func(k *cluster) error {
				if _, err := k.of(bindings).Get(k.t.Context(), "b", metav1.GetOptions{}); err == nil {
					return errors.New("the binding is there")
				}
				return k.projectedInto(nil)
			},
		},
	}
}

var (
	deploymentsOnly = []string{"deployments"}
	statefulOnly    = []string{"statefulsets"}
)

// settled says whether a binding is ready, names the Secret and is projected into just the given resources.
func (k *cluster) settled(name, secret string, into []string) error {
	sb := k.binding(name)
	if len(sb.Status.Conditions) == 0 || sb.Status.ObservedGeneration != sb.Generation {
		return errors.New("it has no status of its generation")
	}
	for _, c := range sb.Status.Conditions {
		if c.Status != metav1.ConditionTrue {
			return fmt.Errorf("%s is %s: %s", c.Type, c.Status, c.Message)
		}
	}
	if sb.Status.Binding == nil || sb.Status.Binding.Name != secret {
		return fmt.Errorf("status.binding is %v", sb.Status.Binding)
	}
	return k.projectedInto(into)
}

// projectedInto says whether just the given resources bear a projection.
func (k *cluster) projectedInto(into []string) error {
	for resource, name := range map[string]string{"deployments": "orders", "statefulsets": "stateful"} {
		object := k.get(deployments.GroupVersion().WithResource(resource), name)
		has := strings.Contains(fmt.Sprint(object.Object), "projector.servicebinding.io")
		want := strings.Contains(strings.Join(into, " "), resource)
		if has != want {
			return fmt.Errorf("%s %s projected: %v, want %v", resource, name, has, want)
		}
	}
	return nil
}

// TestAlone holds the tests that need a control plane without the package's controller.
func TestAlone(t *testing.T) {
	plane := planetest.Start(t, planetest.WithControllerManager()) // it fills in the aggregated role
	config, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(t.Context(), config, install.Options{External: true}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	t.Run("killed at every write", func(t *testing.T) { testKilled(t, plane) })
	t.Run("faults of the API server", func(t *testing.T) { testFaults(t, config) })
	t.Run("restart without a write", func(t *testing.T) { testRestart(t, config) })
	t.Run("takeover from the reference runtime", func(t *testing.T) { testTakeover(t, config) })
}

// testKilled kills the controller before and after each of its writes and sees the next one bring the story to its end.
func testKilled(t *testing.T, plane *localplane.Plane) {
	for _, s := range stories() {
		for _, when := range []string{"before", "after"} {
			t.Run(s.name+", killed "+when+" a write", func(t *testing.T) {
				const most = 10
				for at := 1; at <= most; at++ {
					if !s.killed(t, plane, at, when) {
						if at < 3 {
							t.Errorf("the story took %d writes only", at-1)
						}
						return
					}
				}
				t.Errorf("the story took more than %d writes", most)
			})
		}
	}
}

// killed tells the story with a controller that dies at a write, and then with one that lives; it returns whether the
// first one came to that write.
func (s story) killed(t *testing.T, plane *localplane.Plane, at int, when string) (died bool) {
	t.Helper()
	config, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	k := clusterOf(t, config)
	alive, gone := spawn(t, plane, 0, "")
	s.setup(k)
	_ = alive.Process.Kill()
	<-gone
	s.act(k)
	mortal, dead := spawn(t, plane, at, when)
	k.eventually("the controller dies or the story ends", func() error {
		select {
		case <-dead:
			died = true
			return nil
		default:
			return s.check(k)
		}
	})
	if !died { // its last write may be deadly, too, or come after the end of the story, as an event does
		select {
		case <-dead:
			died = true
		case <-time.After(time.Second):
		}
	}
	_ = mortal.Process.Kill()
	<-dead
	spawned, end := spawn(t, plane, 0, "")
	k.eventually(fmt.Sprintf("the story %q ends after a death %s write %d", s.name, when, at), func() error { return s.check(k) })
	_ = spawned.Process.Kill()
	<-end
	return died
}
