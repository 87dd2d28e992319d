package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/live"
	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
	"github.com/bowline-dev/bowline/internal/node/storage"
)

const (
	patience = 30 * time.Second
	gap      = 10 * time.Millisecond
)

func TestMain(m *testing.M) {
	if code, handled := sandbox.Stage(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// changing is a source that a test changes.
type changing struct {
	mu     sync.Mutex
	held   node.Objects
	events chan live.Event
}

func newChanging(password string) *changing {
	c := &changing{events: make(chan live.Event)}
	c.set(password)
	return c
}

func (c *changing) Objects() node.Objects {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

func (c *changing) Follow(ctx context.Context, tell func(live.Event)) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-c.events:
			tell(e)
		}
	}
}

func (c *changing) set(password string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = node.Objects{Secrets: map[string]node.Entries{"db": {"password": value(password)}, "idle": {"x": value(password)}}}
}

// change changes the Secret and waits until the change is taken in hand.
func (c *changing) change(password string) {
	c.set(password)
	c.events <- live.Event{What: `Secret "db"`, Kind: live.Changed}
}

const workload = `
kind: Deployment
metadata: {name: orders, namespace: shop}
spec:
  template:
    spec:
      containers:
      - name: app
        command: ["true"]
        env: [%s]
        volumeMounts: [{name: db, mountPath: /bowline-test/db}, {name: tmp, mountPath: /bowline-test/tmp}]
      volumes: [{name: db, secret: {secretName: db}}, {name: tmp, emptyDir: {}}]
`

const passwordVariable = "{name: PW, valueFrom: {secretKeyRef: {name: db, key: password}}}"

// stage is one run of a shell script.
type stage struct {
	t      *testing.T
	out    string
	source *changing

	mu   sync.Mutex
	said []string
	done chan Exit
	err  error
}

func request(t *testing.T, source Source, env, script string) Request {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, workload, env), &object); err != nil {
		t.Fatal(err)
	}
	pod, err := node.PodOf(object, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Request{
		Target:  Target{Pod: pod, Container: "app", Source: source},
		Command: []string{"sh", "-c", script}, Environ: os.Environ(),
		Storage: storage.Options{Dir: memoryDir(t)},
		Say:     func(string) {},
	}
}

// memoryDir is where the runs of one test hold their files.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "bowline-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// begin runs a script, whose output goes to a file.
func begin(t *testing.T, change func(*Request), script string) *stage {
	t.Helper()
	s := &stage{t: t, out: filepath.Join(t.TempDir(), "out"), source: newChanging("one"), done: make(chan Exit, 1)}
	file, err := os.Create(s.out)
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, s.source, passwordVariable, script)
	r.Stdout, r.Stderr = file, file
	r.Say = func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.said = append(s.said, text)
	}
	change(&r)
	go func() {
		exit, err := Run(context.Background(), r)
		s.err = err
		_ = file.Close()
		s.done <- exit
	}()
	return s
}

func (s *stage) lines() []string {
	text, err := os.ReadFile(s.out)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// prints waits until the output is these words.
func (s *stage) prints(want string) {
	s.t.Helper()
	err := wait.PollUntilContextTimeout(s.t.Context(), gap, patience, true, func(context.Context) (bool, error) {
		return strings.Join(s.lines(), " ") == want, nil
	})
	if err != nil {
		s.t.Fatalf("it printed %v, want %s; said: %v", s.lines(), want, s.said)
	}
}

// says waits until so many lines were said.
func (s *stage) says(lines int) {
	s.t.Helper()
	err := wait.PollUntilContextTimeout(s.t.Context(), gap, patience, true, func(context.Context) (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.said) >= lines, nil
	})
	if err != nil {
		s.t.Fatalf("it said %q", s.said)
	}
}

func (s *stage) ends(code int) {
	s.t.Helper()
	select {
	case exit := <-s.done:
		if s.err != nil || exit.Code != code {
			s.t.Errorf("it ended with %v, %v; want %d", exit, s.err, code)
		}
	case <-time.After(patience):
		s.t.Fatal("it does not end")
	}
}

// untilEnd is a script's way to wait for the word end in its file.
const untilEnd = `while ! grep -q end /bowline-test/db/password; do sleep 0.01; done; `

func TestFilesFollow(t *testing.T) {
	t.Parallel()
	s := begin(t, func(*Request) {}, `cat /bowline-test/db/password; echo; `+untilEnd+`echo $PW; touch /bowline-test/tmp/x; exit 7`)
	s.prints("one")
	s.source.change("two")
	s.source.change("end")
	s.ends(7)
	s.prints("one one")
}

// TestAReaderFindsItsFile opens a file again and again while it changes, in the way of a program that knows nothing of links.
func TestAReaderFindsItsFile(t *testing.T) {
	t.Parallel()
	s := begin(t, func(*Request) {}, `echo ready
		read=; while [ "$read" != end ]; do read read < /bowline-test/db/password || [ -n "$read" ] || exit 9; done
		until [ $(ls -d /bowline-test/db/..2* | wc -l) = 1 ]; do sleep 0.01; done`)
	s.prints("ready")
	for i := range 20 {
		s.source.change(fmt.Sprint("password", i))
	}
	s.source.change("end")
	s.ends(0)
}

func TestSignalOnChange(t *testing.T) {
	t.Parallel()
	s := begin(t, func(r *Request) { r.OnChange = OnChange{Reaction: Signal, Signal: syscall.SIGHUP} },
		`trap 'cat /bowline-test/db/password; echo' HUP; echo ready; `+untilEnd+`sleep 1; exit 0`)
	s.prints("ready")
	s.source.change("two")
	s.prints("ready two")
	s.source.events <- live.Event{Kind: live.Changed} // nothing is new
	s.source.change("end")
	s.prints("ready two end")
	s.ends(0)
}

func TestRestartOnChange(t *testing.T) {
	t.Parallel()
	s := begin(t, func(r *Request) { r.OnChange = OnChange{Reaction: Restart} },
		`echo $PW; cat /bowline-test/db/password; echo; [ $PW = end ] && exit 4; while :; do sleep 0.05; done`)
	s.prints("one one")
	s.source.change("two")
	s.prints("one one two two")
	for i := range 5 { // together
		s.source.change(fmt.Sprint("more", i))
	}
	s.source.change("end")
	s.ends(4)
	if got := strings.Join(s.lines(), " "); got != "one one two two end end" {
		t.Errorf("several changes were not one: %s", got)
	}
}

func TestAnEndIsNoRestart(t *testing.T) {
	t.Parallel()
	s := begin(t, func(r *Request) { r.OnChange = OnChange{Reaction: Restart} }, `echo $PW; `+untilEnd+`exit 5`)
	s.prints("one")
	s.source.change("end") // it ends by itself before it is told to
	s.ends(5)
}

// TestAskedToEndWhileItRestarts has a signal come just when the program has ended for its restart.
func TestAskedToEndWhileItRestarts(t *testing.T) {
	t.Parallel()
	s := &supervisor{request: request(t, newChanging("one"), passwordVariable, "exit 3"), told: map[string]bool{}}
	var err error
	if s.plan, err = s.request.Plan(); err != nil {
		t.Fatal(err)
	}
	p, err := s.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan os.Signal, 1)
	asked <- syscall.SIGTERM
	p.restarting = true
	next, err := s.next(t.Context(), p, <-p.ended, asked)
	if err != nil || next != nil {
		t.Errorf("it was started again: %v, %v", next, err)
	}
	nothingLeft(t, s.request)
}

func TestWhatIsSaid(t *testing.T) {
	t.Parallel()
	s := begin(t, func(*Request) {}, `echo ready; `+untilEnd)
	s.prints("ready")
	for range 2 {
		s.source.events <- live.Event{What: `Secret "db"`, Kind: live.Gone}
		s.source.events <- live.Event{What: `Secret "x"`, Kind: live.Troubled, Err: errors.New("no way")}
	}
	s.source.change(strings.Repeat("x", 2<<20)) // larger than a Secret may be
	s.says(3)
	s.source.change("end")
	s.ends(0)
	want := []string{`Secret "db" is gone`, `changes of Secret "x" may be seen late: no way`, `a change is not taken over: `}
	if len(s.said) != len(want) {
		t.Fatalf("it said %q", s.said)
	}
	for i, text := range s.said {
		if !strings.HasPrefix(text, want[i]) {
			t.Errorf("it said %q, want %q", text, want[i])
		}
	}
}

func TestWithoutANamespace(t *testing.T) {
	t.Parallel()
	source := newChanging("end")
	r := request(t, source, passwordVariable+", {name: CA, value: /bowline-test/db/password}", "")
	r.Namespace = sandbox.Never
	r.Command = []string{"sh", "-c", `cat $CA; test ! -e /bowline-test`}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r.Stdout = out
	var said []string
	r.Say = func(text string) { said = append(said, text) }
	exit, err := Run(t.Context(), r)
	text, _ := os.ReadFile(out.Name())
	if err != nil || exit.Code != 0 || string(text) != "end" {
		t.Errorf("it ended with %v, %v and printed %q", exit, err, text)
	}
	if len(said) != 1 || !strings.Contains(said[0], "/bowline-test/db is at "+r.Storage.Dir) || !strings.HasSuffix(said[0], ": CA") {
		t.Errorf("it said %q", said)
	}
	nothingLeft(t, r)
}

// TestAMountWithinAVolume has a part of a volume shown within the same volume, where there is no namespace, too.
func TestAMountWithinAVolume(t *testing.T) {
	t.Parallel()
	text := strings.Replace(fmt.Sprintf(workload, ""), "volumeMounts: [",
		"volumeMounts: [{name: db, mountPath: /bowline-test/db/sub, subPath: password}, ", 1)
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	pod, err := node.PodOf(object, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []sandbox.Policy{sandbox.Auto, sandbox.Never} {
		r := request(t, newChanging("one"), "", `test "$(cat $SUB)" = one`)
		r.Namespace, r.Pod = policy, pod
		r.Environ = append(r.Environ, "SUB=/bowline-test/db/sub")
		if policy == sandbox.Never {
			r.Command[2] = strings.Replace(r.Command[2], "$SUB", r.Storage.Dir+"/*/*/root$SUB", 1)
		}
		if exit, err := Run(t.Context(), r); err != nil || exit.Code != 0 {
			t.Errorf("policy %v: it ended with %v, %v", policy, exit, err)
		}
	}
}

// TestAWorkingDirectoryIsNotHidden has a volume where the tests work.
func TestAWorkingDirectoryIsNotHidden(t *testing.T) {
	t.Parallel()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{}
	text := strings.Replace(fmt.Sprintf(workload, ""), "/bowline-test/db", filepath.Dir(dir), 1)
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	r := request(t, newChanging("one"), "", "true")
	if r.Pod, err = node.PodOf(object, nil); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{r.Command, nil} { // one of a person's, and the container's own
		r.Command = command
		var hidden *HiddenError
		if _, err := Run(t.Context(), r); !errors.As(err, &hidden) || hidden.Directory != dir {
			t.Errorf("%v: error %v, want a HiddenError", command, err)
		}
	}
	r.Namespace = sandbox.Never
	if exit, err := Run(t.Context(), r); err != nil || exit.Code != 0 {
		t.Errorf("without a namespace it ends with %v, %v", exit, err)
	}
}

// nothingLeft wants no folder of a run to be left, nor a reservation.
func nothingLeft(t *testing.T, r Request) {
	t.Helper()
	var left []string
	_ = filepath.WalkDir(r.Storage.Dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && path != r.Storage.Dir && e.Name() != "lock" && filepath.Dir(path) != r.Storage.Dir {
			left = append(left, path)
		}
		return err
	})
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNothingStarts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		env    string
		change func(*Request, *changing)
		want   string
	}{
		{"no such entry", "{name: A, valueFrom: {secretKeyRef: {name: db, key: none}}}", func(*Request, *changing) {}, "none"},
		{"a circle", "{name: A, value: $(B)}, {name: B, value: $(A)}", func(*Request, *changing) {}, "refers to itself"},
		{"no command", "", func(r *Request, _ *changing) { r.Command, r.Pod = nil, bare() }, "names no command"},
		{"no such program", "", func(r *Request, _ *changing) { r.Command = []string{"/no/such"} }, "/no/such"},
		{"over the budget", "", func(r *Request, c *changing) {
			r.Storage.Limit = 1000
			c.set(strings.Repeat("x", 2000))
		}, "all may hold 1000 B"},
		{"a Secret that is too large", "", func(_ *Request, c *changing) { c.set(strings.Repeat("x", 1<<20+1)) }, "may hold"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			source := newChanging("one")
			mark := filepath.Join(t.TempDir(), "ran")
			r := request(t, source, test.env, "touch "+mark)
			test.change(&r, source)
			_, err := Run(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("the program ran")
			}
			nothingLeft(t, r)
		})
	}
}

// bare is a pod whose container has no command.
func bare() *node.Pod {
	pod, _ := node.PodOf(map[string]any{
		"kind": "Pod", "spec": map[string]any{"containers": []any{map[string]any{"name": "app"}}},
	}, nil)
	return pod
}
