package extensions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// noAnswer has a write happen whose answer is lost.
const noAnswer = -1

var errNoAnswer = errors.New("net/http: timeout awaiting response headers")

// faulty answers the first attempt of each write badly.
type faulty struct {
	next http.RoundTripper
	code int
	// cut ends each watch after this time, and has every other one begin with the answer that it is too old; 0 for never.
	cut time.Duration

	mu      sync.Mutex
	seen    map[string]bool
	watches int
}

func (f *faulty) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case request.URL.Query().Get("watch") == "true" && f.cut > 0:
		return f.watch(request)
	case !isWrite(request) || f.code == 0 || !f.first(request):
		return f.next.RoundTrip(request)
	case f.code != noAnswer:
		return answer(request, f.code), nil
	}
	response, err := f.next.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return nil, errNoAnswer
}

func (f *faulty) first(request *http.Request) bool {
	what := request.Method + " " + request.URL.Path
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	first := !f.seen[what]
	f.seen[what] = true
	return first && !strings.Contains(what, "/events")
}

func (f *faulty) watch(request *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.watches++
	expired := f.watches%2 == 0
	f.mu.Unlock()
	if expired {
		return answer(request, http.StatusGone), nil
	}
	response, err := f.next.RoundTrip(request)
	if err == nil {
		body := response.Body
		time.AfterFunc(f.cut, func() { _ = body.Close() })
	}
	return response, err
}

// isWrite says whether a request changes anything in the cluster.
func isWrite(request *http.Request) bool {
	return request.Method != http.MethodGet && !strings.HasSuffix(request.URL.Path, "reviews")
}

// answer is what an API server says with a status code.
func answer(request *http.Request, code int) *http.Response {
	reasons := map[int]metav1.StatusReason{
		http.StatusConflict: metav1.StatusReasonConflict, http.StatusForbidden: metav1.StatusReasonForbidden,
		http.StatusGatewayTimeout: metav1.StatusReasonTimeout, http.StatusGone: metav1.StatusReasonExpired,
		http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
	}
	data, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reasons[code], Message: `x "y" is forbidden: User "z" cannot patch resource "x"`,
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

// testFaults tells the story while each write is answered badly once, and while watches end early and are told that they
// are too old.
func testFaults(t *testing.T, config *rest.Config) {
	for reason, f := range map[string]*faulty{
		"conflicts":           {code: http.StatusConflict},
		"internal errors":     {code: http.StatusInternalServerError},
		"time-outs":           {code: http.StatusGatewayTimeout},
		"too many requests":   {code: http.StatusTooManyRequests},
		"permissions missing": {code: http.StatusForbidden},
		"answers are lost":    {code: noAnswer},
		"watches are cut":     {cut: 700 * time.Millisecond},
	} {
		t.Run(reason, func(t *testing.T) {
			p := newPlace(t, config)
			log, stop := start(t, config, func(next http.RoundTripper) http.RoundTripper {
				f.next = next
				return f
			})
			p.story()
			p.told("first")
			f.mu.Lock()
			f.seen = nil
			f.mu.Unlock()
			p.rotate("second")
			p.told("second")
			p.unbind()
			stop()
			for _, value := range []string{"first@", "second@"} {
				if lines := log.lines(value); len(lines) > 0 {
					t.Errorf("the log holds a value: %v", lines)
				}
			}
			if len(log.lines(p.ns)) > 200 {
				t.Errorf("the log has %d lines about one namespace: %s", len(log.lines(p.ns)), fmt.Sprint(log.lines(p.ns)[:20]))
			}
		})
	}
}
