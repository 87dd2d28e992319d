package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/localplane"
)

const (
	patience = 30 * time.Second
	pollGap  = 25 * time.Millisecond
	// controllerName is under what name up keeps the controller.
	controllerName = "controller"
)

// machine is a data directory, and the program that people run.
type machine struct {
	t       *testing.T
	program string
	control string
	dir     string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	control, err := localplane.FindBinary()
	if err != nil {
		t.Fatal(err)
	}
	// The directory is short-lived, but not gone before everything in it was stopped.
	m := &machine{t: t, control: control, program: filepath.Join(t.TempDir(), "bowline"), dir: filepath.Join(t.TempDir(), "data")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", m.program, "../../cmd/bowline")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building bowline: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		m.run("down", "--dir", m.dir, "--wipe")
		if left := m.processes(); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	return m
}

// run runs the program as people do.
func (m *machine) run(args ...string) outcome {
	m.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(m.program, args...)
	cmd.Dir = filepath.Dir(m.program)
	cmd.Env = append(os.Environ(), "BOWLINE_CONTROLPLANE="+m.control)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatalf("running bowline %v: %v", args, err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), out: out.String(), err: errs.String()}
}

// must runs the program and wants it to succeed.
func (m *machine) must(args ...string) outcome {
	m.t.Helper()
	got := m.run(append(args, "--dir", m.dir)...)
	if got.code != 0 {
		m.t.Fatalf("bowline %v ended with %d: %s", args, got.code, got.err)
	}
	return got
}

// processes returns the processes that belong to the data directory, whatever is on record of them, by their name.
func (m *machine) processes() map[string]int {
	m.t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		m.t.Fatal(err)
	}
	found := map[string]int{}
	for _, path := range environments {
		environment, err := os.ReadFile(path)
		if err != nil {
			continue // gone, or another user's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			m.t.Fatal(err)
		}
		for entry := range strings.SplitSeq(string(environment), "\x00") {
			if mark, ok := strings.CutPrefix(entry, "BOWLINE_LOCALPLANE="); ok && strings.Contains(mark, m.dir) {
				found[mark] = pid
			}
		}
	}
	return found
}

// recorded returns the processes on record, by the name of what they run.
func (m *machine) recorded() map[string]int {
	m.t.Helper()
	pids := map[string]int{}
	for _, name := range append(localplane.Components(), controllerName) {
		data, err := os.ReadFile(filepath.Join(m.dir, "run", name+".json"))
		if err != nil {
			m.t.Fatal(err)
		}
		var record struct {
			PID int `json:"pid"`
		}
		if err := json.Unmarshal(data, &record); err != nil {
			m.t.Fatal(err)
		}
		pids[name] = record.PID
	}
	if alive := m.processes(); len(alive) != len(pids) {
		m.t.Errorf("%v run, on record are %v", alive, pids)
	}
	return pids
}

// kill kills processes and waits until they are gone.
func (m *machine) kill(pids ...int) {
	m.t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			m.t.Fatalf("killing %d: %v", pid, err)
		}
	}
	m.eventually(fmt.Sprintf("%v are gone", pids), func() error {
		for mark, pid := range m.processes() {
			if slices.Contains(pids, pid) {
				return fmt.Errorf("%s is %d", mark, pid)
			}
		}
		return nil
	})
}

func (m *machine) eventually(what string, check func() error) {
	m.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(m.t.Context(), pollGap, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		m.t.Fatalf("waiting until %s: %v", what, last)
	}
}

func (m *machine) client() dynamic.Interface {
	m.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(m.dir, "kubeconfig"))
	if err != nil {
		m.t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		m.t.Fatal(err)
	}
	return client
}

const bindingScene = `
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {type: postgresql, password: swordfish}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders}
spec:
  selector: {matchLabels: {app: orders}}
  template:
    metadata: {labels: {app: orders}}
    spec: {containers: [{name: main, image: example.com/main:1}]}
---
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: orders-db}
spec:
  service: {apiVersion: v1, kind: Secret, name: db}
  workload: {apiVersion: apps/v1, kind: Deployment, name: orders}
`

func (m *machine) create(text string) {
	m.t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			m.t.Fatal(err)
		}
		resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		_, err := m.client().Resource(resource).Namespace("default").Create(m.t.Context(), object, metav1.CreateOptions{})
		if err != nil {
			m.t.Fatalf("creating %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// rename gives the binding another directory, which a controller that lives has to carry out.
func (m *machine) rename(name string) {
	m.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"name":%q}}`, name)
	_, err := m.client().Resource(bindingv1.GroupVersion.WithResource("servicebindings")).Namespace("default").
		Patch(m.t.Context(), "orders-db", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		m.t.Fatalf("renaming: %v", err)
	}
}

// bound waits until the binding is Ready as it is now, and its workload has it mounted at a path.
func (m *machine) bound(path string) {
	m.t.Helper()
	client := m.client()
	m.eventually("the binding is Ready at "+path, func() error {
		object, err := client.Resource(bindingv1.GroupVersion.WithResource("servicebindings")).Namespace("default").
			Get(m.t.Context(), "orders-db", metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading the binding: %w", err)
		}
		var sb bindingv1.ServiceBinding
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &sb); err != nil {
			return fmt.Errorf("reading the binding: %w", err)
		}
		if !meta.IsStatusConditionTrue(sb.Status.Conditions, "Ready") || sb.Status.ObservedGeneration != sb.Generation {
			return fmt.Errorf("generation %d, status %+v", sb.Generation, sb.Status)
		}
		workload, err := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).
			Namespace("default").Get(m.t.Context(), "orders", metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading the workload: %w", err)
		}
		text, err := json.Marshal(workload.Object["spec"])
		if err == nil && !strings.Contains(string(text), fmt.Sprintf(`"mountPath":%q`, path)) {
			err = fmt.Errorf("workload: %s", text)
		}
		return err
	})
}

// TestUpAndDown lives through what a machine does to a control plane: it is started twice, its controller dies, all of it
// dies, it is stopped and comes back, and is removed.
func TestUpAndDown(t *testing.T) {
	m := newMachine(t)
	first := m.must("up")
	checkGreeting(t, m, first)
	pids := m.recorded()
	m.create(bindingScene)
	m.bound("/bindings/orders-db")

	checkSecondUp(t, m, pids)
	pids = checkPolicy(t, m, pids)
	pids = checkDeathOfController(t, m, pids)
	pids = checkDeathOfAll(t, m, pids)
	checkOtherPort(t, m, pids)
	checkDown(t, m)
	checkWipe(t, m)
}

func checkGreeting(t *testing.T, m *machine, up outcome) {
	t.Helper()
	hasParts(t, "standard output", up.out, []string{
		"https://127.0.0.1:", "export KUBECONFIG=" + filepath.Join(m.dir, "kubeconfig") + "\n", "bowline down --dir " + strconv.Quote(m.dir),
	})
	hasParts(t, "standard error", up.err, []string{"starting etcd", "installing Bowline", "starting the controller", "ready"})
	kubectl := exec.CommandContext(t.Context(), filepath.Join(m.dir, "bin", "kubectl"),
		"--kubeconfig", filepath.Join(m.dir, "kubeconfig"), "get", "--raw", "/readyz")
	if out, err := kubectl.CombinedOutput(); err != nil || string(out) != "ok" {
		t.Errorf("kubectl says %q, %v", out, err)
	}
}

func checkSecondUp(t *testing.T, m *machine, pids map[string]int) {
	t.Helper()
	again := m.must("up")
	if diff := cmp.Diff(pids, m.recorded()); diff != "" {
		t.Errorf("a second up does not find the first (-first +second):\n%s", diff)
	}
	for _, step := range []string{"starting", "installing"} {
		if strings.Contains(again.err, step) {
			t.Errorf("a second up is %s what is there:\n%s", step, again.err)
		}
	}
}

// checkPolicy sees that the controller runs with the flags of the last up, and is left alone when they are the same.
func checkPolicy(t *testing.T, m *machine, pids map[string]int) map[string]int {
	t.Helper()
	flags := []string{"--authorize=warn", "--allow-secret-type=kubernetes.io/dockercfg", "--allow-secret-type=bootstrap.kubernetes.io/token"}
	m.must(append([]string{"up"}, flags...)...)
	now := m.recorded()
	if now[controllerName] == pids[controllerName] {
		t.Error("the controller was not started again with other flags")
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", now[controllerName]))
	if err != nil {
		t.Fatal(err)
	}
	arguments := strings.Split(string(line), "\x00")
	for _, flag := range flags {
		if !slices.Contains(arguments, flag) {
			t.Errorf("the controller runs without %s: %s", flag, arguments)
		}
	}
	m.must("up", flags[2], flags[1], flags[0])
	if again := m.recorded(); again[controllerName] != now[controllerName] {
		t.Error("the controller was started again with the same flags")
	}
	m.must("up")
	if back := m.recorded(); back[controllerName] == now[controllerName] {
		t.Error("the controller goes on with flags that the last up did not give")
	}
	return m.recorded()
}

func checkDeathOfController(t *testing.T, m *machine, pids map[string]int) map[string]int {
	t.Helper()
	m.kill(pids[controllerName])
	m.must("up")
	now := m.recorded()
	if now[controllerName] == pids[controllerName] {
		t.Error("the controller that was killed is on record")
	}
	want := maps.Clone(pids)
	want[controllerName] = now[controllerName]
	if diff := cmp.Diff(want, now); diff != "" {
		t.Errorf("more than the controller was started anew (-before +after):\n%s", diff)
	}
	m.rename("database")
	m.bound("/bindings/database")
	return now
}

func checkDeathOfAll(t *testing.T, m *machine, pids map[string]int) map[string]int {
	t.Helper()
	m.kill(slices.Collect(maps.Values(pids))...)
	m.must("up")
	now := m.recorded()
	for name, pid := range now {
		if pid == pids[name] {
			t.Errorf("%s, which was killed, is on record", name)
		}
	}
	m.bound("/bindings/database")
	m.rename("store")
	m.bound("/bindings/store")
	return now
}

func checkOtherPort(t *testing.T, m *machine, pids map[string]int) {
	t.Helper()
	port := freePort(t)
	got := m.run("up", "--dir", m.dir, "--port", strconv.Itoa(port))
	if got.code != 1 {
		t.Errorf("another port for what runs already: ended with %d, want 1", got.code)
	}
	hasParts(t, "standard error", got.err, []string{fmt.Sprintf("port %d was asked for, but the control plane runs on port", port)})
	if diff := cmp.Diff(pids, m.recorded()); diff != "" {
		t.Errorf("what ran was touched (-before +after):\n%s", diff)
	}
}

func checkDown(t *testing.T, m *machine) {
	t.Helper()
	got := m.must("down")
	hasParts(t, "standard error", got.err, []string{"stopped"})
	if left := m.processes(); len(left) > 0 {
		t.Errorf("after down, processes are left: %v", left)
	}
	again := m.must("down")
	hasParts(t, "standard error of a second down", again.err, []string{"nothing runs in " + m.dir})
	m.must("up")
	m.bound("/bindings/store")
}

func checkWipe(t *testing.T, m *machine) {
	t.Helper()
	m.must("down", "--wipe")
	if left := m.processes(); len(left) > 0 {
		t.Errorf("after down --wipe, processes are left: %v", left)
	}
	if _, err := os.Stat(m.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after down --wipe, the data directory is there: %v", err)
	}
	got := m.must("down", "--wipe")
	hasParts(t, "standard error", got.err, []string{"nothing runs in " + m.dir})
}

func TestUpRefusesATakenPort(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	dir := filepath.Join(t.TempDir(), "data")
	got := bowline("up", "--dir", dir, "--port", strconv.Itoa(port))
	if got.code != 1 || got.out != "" {
		t.Errorf("ended with %d: %s", got.code, got.out)
	}
	hasParts(t, "standard error", got.err, []string{
		fmt.Sprintf("API server port %d cannot be used", port), "address already in use", "choose another",
	})
	records, err := filepath.Glob(filepath.Join(dir, "run", "*.json"))
	if err != nil || len(records) > 0 {
		t.Errorf("something was started: %v, %v", records, err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := localplane.FreePort(0)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
