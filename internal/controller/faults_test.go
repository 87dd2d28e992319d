package controller_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/controller"
)

// start runs the controller in this process, without admission, until the test ends or stop is called.
func start(t *testing.T, config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, config, func(c *rest.Config, o *controller.Options) {
			o.WebhookPort, o.ProbeAddress, o.Gather = 0, "0", 20*time.Millisecond
			o.SkipNameValidation = true
			c.Wrap(wrap)
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the controller ended with: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// faulty answers some requests itself, badly.
type faulty struct {
	next http.RoundTripper
	// fail returns the status to answer a write with, 0 to let it through, and -1 for no answer at all.
	fail func(n int64, request *http.Request) int
	// cut ends each watch after this time; 0 for never.
	cut    time.Duration
	writes atomic.Int64
}

var errTimeout = errors.New("net/http: timeout awaiting response headers")

func (f *faulty) RoundTrip(request *http.Request) (*http.Response, error) {
	if isWrite(request) && f.fail != nil {
		switch code := f.fail(f.writes.Add(1), request); code {
		case 0:
		case -1: // the write happens, its answer is lost
			response, err := f.next.RoundTrip(request)
			if err == nil {
				_ = response.Body.Close()
			}
			return nil, errTimeout
		default:
			return answer(request, code), nil
		}
	}
	response, err := f.next.RoundTrip(request)
	if err == nil && f.cut > 0 && request.URL.Query().Get("watch") == "true" {
		body := response.Body
		time.AfterFunc(f.cut, func() { _ = body.Close() })
	}
	return response, err //nolint:wrapcheck // it stands in for the real one
}

// answer is what an API server says with a status code.
func answer(request *http.Request, code int) *http.Response {
	reasons := map[int]metav1.StatusReason{
		http.StatusConflict: metav1.StatusReasonConflict, http.StatusNotFound: metav1.StatusReasonNotFound,
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
		http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
	}
	text := "invented by the test"
	if code == http.StatusForbidden {
		text = `deployments.apps "orders" is forbidden: User "x" cannot patch resource "deployments"`
	}
	data, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reasons[code], Message: text,
	})
	if err != nil {
		panic(err)
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data)),
		ContentLength: int64(len(data)),
	}
}

// testFaults sees bindings through a bad day of the API server.
func testFaults(t *testing.T, config *rest.Config) {
	first := func(code int) func(int64, *http.Request) int {
		return func(n int64, _ *http.Request) int {
			if n <= 4 {
				return code
			}
			return 0
		}
	}
	for _, test := range []struct {
		reason string
		fail   func(int64, *http.Request) int
		cut    time.Duration
	}{
		{"conflicts", first(http.StatusConflict), 0},
		{"not found for a while", first(http.StatusNotFound), 0},
		{"time-outs", first(http.StatusGatewayTimeout), 0},
		{"internal errors", first(http.StatusInternalServerError), 0},
		{"too many requests", first(http.StatusTooManyRequests), 0},
		{"answers are lost", first(-1), 0},
		{"every other write fails", func(n int64, _ *http.Request) int {
			return int(n%2) * http.StatusInternalServerError
		}, 0},
		{"watches are cut", nil, 300 * time.Millisecond},
	} {
		t.Run(test.reason, func(t *testing.T) {
			k := clusterOf(t, config)
			start(t, config, func(next http.RoundTripper) http.RoundTripper {
				return &faulty{next: next, fail: test.fail, cut: test.cut}
			})
			k.create(secretText("db") + "\n---\n" + deploymentText("orders"))
			before := fmt.Sprint(k.template(t, "orders"))
			k.create(bindingText("b", "db", "orders"))
			k.ready("b")
			k.bound("orders", "b")
			k.remove(bindings, "b")
			k.gone(bindings, "b")
			if after := fmt.Sprint(k.template(t, "orders")); after != before {
				t.Errorf("the template is %s, was %s", after, before)
			}
		})
	}
	t.Run("a permission is missing for a while", func(t *testing.T) {
		k := clusterOf(t, config)
		var granted atomic.Bool
		start(t, config, func(next http.RoundTripper) http.RoundTripper {
			return &faulty{next: next, fail: func(_ int64, request *http.Request) int {
				if !granted.Load() && strings.Contains(request.URL.Path, "/deployments/") {
					return http.StatusForbidden
				}
				return 0
			}}
		})
		k.create(secretText("db") + "\n---\n" + deploymentText("orders") + "\n---\n" + bindingText("b", "db", "orders"))
		c := k.condition("b", controller.ConditionReady, metav1.ConditionFalse, controller.ReasonWorkloadForbidden)
		if !strings.Contains(c.Message, "kind: ClusterRole") {
			t.Errorf("the message holds no ClusterRole: %s", c.Message)
		}
		granted.Store(true)
		k.ready("b")
	})
}

// testRestart sees that a controller which finds everything as it should be writes nothing and, once it is in step, reads
// nothing either.
func testRestart(t *testing.T, config *rest.Config) {
	k := clusterOf(t, config)
	const n = 20
	stop := start(t, config, func(next http.RoundTripper) http.RoundTripper { return next })
	for i := range n {
		name := fmt.Sprintf("x%d", i)
		k.create(secretText(name) + "\n---\n" + deploymentText(name) + "\n---\n" + bindingText(name, name, name))
	}
	for i := range n {
		k.ready(fmt.Sprintf("x%d", i))
	}
	stop()

	watched := &counting{}
	start(t, config, func(next http.RoundTripper) http.RoundTripper {
		watched.next = next
		return watched
	})
	// A binding made last is bound last: once it is ready, all others have been looked at.
	k.create(secretText("last") + "\n---\n" + deploymentText("last") + "\n---\n" + bindingText("last", "last", "last"))
	k.ready("last")
	watched.mu.Lock()
	defer watched.mu.Unlock()
	for _, path := range watched.written {
		if strings.Contains(path, "/"+k.ns+"/") && !strings.Contains(path, "last") && !strings.Contains(path, "/events") {
			t.Errorf("the restarted controller wrote %s", path)
		}
	}
	for _, path := range watched.read {
		if strings.Contains(path, "/namespaces/") {
			t.Errorf("the controller read %s live", path)
		}
	}
}

// counting notes what is written and what single objects are read.
type counting struct {
	next          http.RoundTripper
	mu            sync.Mutex
	written, read []string
}

func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	c.mu.Lock()
	switch {
	case isWrite(request):
		c.written = append(c.written, request.Method+" "+request.URL.Path)
	case request.URL.Query().Get("watch") != "true":
		c.read = append(c.read, request.URL.Path)
	}
	c.mu.Unlock()
	return c.next.RoundTrip(request) //nolint:wrapcheck // it stands in for the real one
}
