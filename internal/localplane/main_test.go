package localplane

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The environment of a helper: this test binary, run as a program that starts a control plane.
const (
	helperDir      = "LOCALPLANE_TEST_DIR"
	helperAttached = "LOCALPLANE_TEST_ATTACHED"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		os.Exit(helper(os.Stdout, dir, os.Getenv(helperAttached) != ""))
	}
	os.Exit(m.Run())
}

// helper starts a control plane, says so and, when attached, waits to be killed.
func helper(out io.Writer, dir string, attached bool) int {
	tell := func(words ...any) { _, _ = fmt.Fprintln(out, words...) }
	plane, err := Start(context.Background(), Config{
		Dir: dir, Ephemeral: true, Attached: attached, Progress: func(step string) { tell(step) },
	})
	if err != nil {
		tell(err)
		return 1
	}
	tell("up", plane.Port())
	if attached {
		select {}
	}
	return 0
}

// startHelper runs a helper, whose lines come on the channel until it ends.
func startHelper(t *testing.T, dir string, attached bool) (*exec.Cmd, <-chan string) {
	t.Helper()
	t.Cleanup(func() { leaveNothing(t, dir) })
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperDir+"="+dir)
	if attached {
		cmd.Env = append(cmd.Env, helperAttached+"=yes")
	}
	// The components inherit nothing of it: they write to their logs.
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return cmd, lines
}

// leaveNothing kills what helpers left in dir, for the case that their test failed before it could.
func leaveNothing(t *testing.T, dir string) {
	t.Helper()
	for _, name := range Components() {
		for _, r := range processesOf(t, dir, name) {
			if err := r.terminate(context.Background(), 0); err != nil {
				t.Error(err)
			}
		}
	}
}

// mustStart starts a control plane that dies with the tests, and is stopped at the end of this one.
func mustStart(t *testing.T, cfg Config) *Plane {
	t.Helper()
	cfg.Attached = true
	plane, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(context.Background()); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	return plane
}

func clientOf(t *testing.T, p *Plane) kubernetes.Interface {
	t.Helper()
	config, err := p.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// keep writes a ConfigMap that has to outlive everything; checkKept wants it back.
func keep(t *testing.T, p *Plane) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"a": "b"}}
	if _, err := clientOf(t, p).CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatalf("writing a ConfigMap: %v", err)
	}
}

func checkKept(t *testing.T, p *Plane) {
	t.Helper()
	cm, err := clientOf(t, p).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("reading the ConfigMap: %v", err)
	}
	if diff := cmp.Diff(map[string]string{"a": "b"}, cm.Data); diff != "" {
		t.Errorf("the ConfigMap's data (-want +got):\n%s", diff)
	}
}

func pids(p *Plane) map[string]int {
	all := map[string]int{}
	for _, s := range p.Status() {
		all[s.Component] = s.PID
	}
	return all
}

// checkProcesses wants exactly one process of each of the components in dir, and none of others.
func checkProcesses(t *testing.T, dir string, components ...string) {
	t.Helper()
	want, got := map[string]int{}, map[string]int{}
	for _, name := range components {
		want[name] = 1
	}
	for _, name := range Components() {
		if n := len(processesOf(t, dir, name)); n > 0 {
			got[name] = n
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("processes by component (-want +got):\n%s", diff)
	}
}

func processesOf(t *testing.T, dir, component string) []record {
	t.Helper()
	dir, err := canonical(dir)
	if err != nil {
		t.Fatal(err)
	}
	found, err := strays(markOf(dir, component), record{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// kill kills components the hard way and waits until they are gone.
func kill(t *testing.T, p *Plane, components ...string) {
	t.Helper()
	for _, name := range components {
		r := readRecord(p.recordPath(name))
		if !r.alive() {
			t.Fatalf("%s does not run", name)
		}
		if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if !r.waitGone(t.Context(), killPatience) {
			t.Fatalf("%s survived", name)
		}
	}
}

// within reads lines until one begins with the prefix, for at most the time. Without a prefix it waits for none.
func within(t *testing.T, lines <-chan string, prefix string, limit time.Duration) string {
	t.Helper()
	if prefix == "" {
		return ""
	}
	timeout := time.After(limit)
	for {
		select {
		case line, open := <-lines:
			if !open {
				t.Fatalf("the helper ended before it said %q", prefix)
			}
			if len(line) >= len(prefix) && line[:len(prefix)] == prefix {
				return line
			}
		case <-timeout:
			t.Fatalf("the helper did not say %q in %v", prefix, limit)
		}
	}
}

// portOf reads the port from a helper's last line.
func portOf(t *testing.T, line string) int {
	t.Helper()
	port, err := strconv.Atoi(filepath.Base(line[len("up "):]))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
