package produce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

const (
	patience = 30 * time.Second
	pollGap  = 10 * time.Millisecond
)

// admin is the administrator of the package's one control plane. Nothing collects garbage in it.
var admin *rest.Config //nolint:gochecknoglobals // set once, by TestMain

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	planetest.Main(m, func(c *rest.Config) { admin = c })
}

// eventually waits until check returns nothing.
func eventually(t *testing.T, what string, check func() string) {
	t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(t.Context(), pollGap, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %s", what, last)
	}
}

// wire counts the writes to Secrets that pass through it, and answers some itself.
type wire struct {
	next http.RoundTripper

	mu     sync.Mutex
	writes []string
	bodies []io.Closer
	held   chan struct{}
	fail   []int // the statuses to answer the next writes with; 0 lets one through, lost does and answers nothing
}

// lost has a write happen whose answer nobody gets.
const lost = -1

var errLost = errors.New("net/http: timeout awaiting response headers")

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Get("watch") == "true" {
		return w.watch(request)
	}
	if request.Method == http.MethodGet || !strings.Contains(request.URL.Path, "/secrets") {
		return w.next.RoundTrip(request)
	}
	switch code := w.note(request); code {
	case 0:
		return w.next.RoundTrip(request)
	case lost:
		response, err := w.next.RoundTrip(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return nil, errLost
	default:
		return unhappy(request, code), nil
	}
}

// watch lets a watch begin once nothing holds it.
func (w *wire) watch(request *http.Request) (*http.Response, error) {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	if held != nil {
		<-held
		return unhappy(request, http.StatusGone), nil
	}
	response, err := w.next.RoundTrip(request)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.bodies = append(w.bodies, response.Body)
	}
	return response, err
}

// hold ends all watches, and has the next ones wait until release, and then be told that they are too old.
func (w *wire) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = make(chan struct{})
	for _, body := range w.bodies {
		_ = body.Close()
	}
	w.bodies = nil
}

func (w *wire) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.held)
	w.held = nil
}

func (w *wire) note(request *http.Request) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, request.Method)
	if len(w.fail) == 0 {
		return 0
	}
	code := w.fail[0]
	w.fail = w.fail[1:]
	return code
}

// answer has the next writes be answered badly.
func (w *wire) answer(codes ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = codes
}

// taken returns the methods of the writes since the last time.
func (w *wire) taken() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.writes, " ")
	w.writes = nil
	return all
}

// unhappy is what an API server says with a status code.
func unhappy(request *http.Request, code int) *http.Response {
	reasons := map[int]metav1.StatusReason{
		http.StatusConflict: metav1.StatusReasonConflict, http.StatusGone: metav1.StatusReasonExpired,
		http.StatusForbidden:      metav1.StatusReasonForbidden,
		http.StatusGatewayTimeout: metav1.StatusReasonTimeout, http.StatusInternalServerError: metav1.StatusReasonInternalError,
	}
	data, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reasons[code], Message: "invented by the test",
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

// namespaceOf makes a namespace for one test.
func namespaceOf(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	made, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}
