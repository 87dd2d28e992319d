package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/conformance"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/volume"
)

// TestNodeClauses tries the clauses that need a node with something that stands in for one: it lays out the files of each
// pod in a folder and runs its readiness probe there. It shows that these clauses ask what they should; what a real kubelet
// does is shown where there is one, and the page does not count this.
func TestNodeClauses(t *testing.T) {
	config, err := planetest.Start(t, planetest.WithControllerManager()).RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	startBowline(ctx, t, config, feature.Set{})
	standIn := &standIn{clients: clients, dir: t.TempDir()}
	if err := standIn.join(ctx); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { defer close(over); standIn.run(ctx) }()
	defer func() { stop(); <-over }() // it writes into the test's folder
	report, err := conformance.Run(ctx, config, conformance.Options{Run: regexp.MustCompile("^node-")})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) == 0 {
		t.Error("there is no such clause")
	}
	for _, r := range report.Results {
		if r.Outcome != conformance.Passed {
			t.Errorf("clause %s: %s: %s", r.Clause, r.Outcome, r.Message)
		}
	}
}

// standIn does what a scheduler and a kubelet would, as far as the clauses go.
type standIn struct {
	clients kubernetes.Interface
	dir     string
}

const standInName = "stand-in"

// join registers the node. The control plane's own controllers write to a new node too, so a conflict is tried again.
func (s *standIn) join(ctx context.Context) error {
	nodes := s.clients.CoreV1().Nodes()
	if _, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: standInName}}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the node: %w", err)
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := nodes.Get(ctx, standInName, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading the node: %w", err)
		}
		object.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "StandIn", LastHeartbeatTime: metav1.Now(),
		}}
		_, err = nodes.UpdateStatus(ctx, object, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing the node's status: %w", err)
	}
	return nil
}

// run looks after all pods until the context ends. What fails is tried again: the clauses tell when it never works.
func (s *standIn) run(ctx context.Context) {
	_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		pods, err := s.clients.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // tried again
		}
		for i := range pods.Items {
			_ = s.serve(ctx, &pods.Items[i])
		}
		return false, nil
	})
}

// serve schedules a pod, or probes it and writes what came of that.
func (s *standIn) serve(ctx context.Context, pod *corev1.Pod) error {
	pods := s.clients.CoreV1().Pods(pod.Namespace)
	if pod.Spec.NodeName == "" {
		return pods.Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
			Target:     corev1.ObjectReference{Kind: "Node", Name: standInName},
		}, metav1.CreateOptions{})
	}
	ready := corev1.ConditionFalse
	if s.probe(ctx, pod) == nil {
		ready = corev1.ConditionTrue
	}
	now := metav1.Now()
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	pod.Status.Conditions = nil
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: ready, LastTransitionTime: now})
	}
	_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

var errNoProbe = errors.New("the pod has no probe")

// probe runs the readiness probe of a pod's container with the files and variables that the container would have.
func (s *standIn) probe(ctx context.Context, pod *corev1.Pod) error {
	container := &pod.Spec.Containers[0]
	if container.ReadinessProbe == nil || container.ReadinessProbe.Exec == nil {
		return errNoProbe
	}
	plan, err := s.plan(ctx, pod)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(s.dir, "pod-")
	if err != nil {
		return fmt.Errorf("making a folder for the pod: %w", err)
	}
	if err := lay(plan, dir); err != nil {
		return fmt.Errorf("writing the files of the pod: %w", err)
	}
	// There is no root of its own, so paths from the root are moved into the folder.
	moved := strings.NewReplacer("/own", dir+"/own", "/bindings", dir+"/bindings")
	var command []string
	for _, word := range container.ReadinessProbe.Exec.Command {
		command = append(command, moved.Replace(word))
	}
	process := exec.CommandContext(ctx, command[0], command[1:]...)
	process.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, v := range plan.Env {
		value := string(v.Value.Reveal())
		if v.Name == node.RootVariable {
			value = filepath.Join(dir, value)
		}
		process.Env = append(process.Env, v.Name+"="+value)
	}
	return process.Run()
}

// lay writes the volumes of a plan below a folder, each where it is mounted.
func lay(plan *node.Plan, dir string) error {
	for _, m := range plan.Mounts {
		if err := os.MkdirAll(filepath.Join(dir, m.Path), 0o700); err != nil {
			return fmt.Errorf("making a folder for a volume: %w", err)
		}
		root, err := os.OpenRoot(filepath.Join(dir, m.Path))
		if err != nil {
			return fmt.Errorf("opening the folder of a volume: %w", err)
		}
		_, err = volume.Write(root, plan.Volume(m.Volume).Files, volume.Owner{}, time.Now())
		if err := errors.Join(err, root.Close()); err != nil {
			return fmt.Errorf("writing volume %s: %w", m.Volume, err)
		}
	}
	return nil
}

// plan works out what the pod's container gets.
func (s *standIn) plan(ctx context.Context, pod *corev1.Pod) (*node.Plan, error) {
	list, err := s.clients.CoreV1().Secrets(pod.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Secrets: %w", err)
	}
	secrets := map[string]node.Entries{}
	for i := range list.Items {
		data := node.Entries{}
		for key, value := range list.Items[i].Data {
			data[key] = node.NewValue(value)
		}
		secrets[list.Items[i].Name] = data
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		return nil, fmt.Errorf("encoding the pod: %w", err)
	}
	object["kind"] = "Pod"
	of, err := node.PodOf(object, nil)
	if err != nil {
		return nil, err
	}
	objects := node.Objects{Secrets: secrets}
	return node.NewPlan(node.Request{Pod: of, Container: pod.Spec.Containers[0].Name, Objects: objects})
}

// startBowline installs Bowline into a control plane and runs it until the context ends.
func startBowline(ctx context.Context, t *testing.T, config *rest.Config, features feature.Set) {
	t.Helper()
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr))))
	if err := installBowline(ctx, config, features); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- runBowline(ctx, config, features) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Errorf("running Bowline: %v", err)
		}
	})
}
