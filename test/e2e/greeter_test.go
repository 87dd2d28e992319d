package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/test/e2e/witness/testimony"
)

const (
	manifests    = "../../examples/greeter/manifests/"
	greeterName  = "greeter"
	bindingRoot  = "/bindings"
	bindingFiles = bindingRoot + "/events"
)

// TestGreeter follows the example application through its life as a pod.
func TestGreeter(t *testing.T) {
	ns := namespace(t, "e2e-greeter")
	deployment := manifest(t, manifests+"deployment.yaml", "greeter:dev", greeterImage)
	apply(t, ns, manifest(t, manifests+"secret.yaml"))
	apply(t, ns, manifest(t, manifests+"binding.yaml"))
	// Admission knows what has been observed, and a binding that is a moment old has not.
	eventually(t, "admission knows the binding", func() error {
		answer, err := kubectl(deployment, "apply", "--namespace", ns, "--filename", "-", "--dry-run=server", "--output", "yaml")
		if err == nil && !strings.Contains(answer, "servicebinding-") {
			err = errors.New("it would not bind the Deployment yet")
		}
		return err
	})
	apply(t, ns, deployment)
	pod := rolledOut(t, ns, greeterName)

	t.Run("the first rollout is bound already", func(t *testing.T) { checkOneReplicaSet(t, ns) })
	t.Run("files and variables are those of the binding", func(t *testing.T) { checkBound(t, ns, pod.Name) })
	t.Run("the application works", func(t *testing.T) {
		eventually(t, "it has greeted", func() error {
			log, err := kubectl("", "logs", "--namespace", ns, pod.Name, "--container", greeterName)
			if err == nil && !strings.Contains(log, `on greetings`) {
				err = fmt.Errorf("its log says %q", log)
			}
			return err
		})
	})
	t.Run("a rotated Secret reaches the running pod", func(t *testing.T) { checkRotation(t, ns, pod) })
	t.Run("unbinding restores", func(t *testing.T) { checkUnbinding(t, ns, deployment) })
}

func checkOneReplicaSet(t *testing.T, ns string) {
	t.Helper()
	sets, err := clients.AppsV1().ReplicaSets(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(sets.Items) != 1 {
		t.Errorf("there are %d ReplicaSets, want one: a second is a second rollout", len(sets.Items))
	}
}

// greeterFiles is what the binding gives, with this provider.
func greeterFiles(provider string) map[string]string {
	return map[string]string{
		"type": "nats", "provider": provider, "host": "127.0.0.1", "port": "4222", "username": "greeter",
		"password": "change-me", "subject": "greetings",
	}
}

func checkBound(t *testing.T, ns, pod string) {
	t.Helper()
	found := testify(t, ns, pod, greeterName, bindingFiles)
	if err := holds(found, bindingFiles, greeterFiles("nats-server")); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"SERVICE_BINDING_ROOT": bindingRoot, "GREETING_SUBJECT": "greetings", "LANG": "C.UTF-8"} {
		if got := found.Env[name]; got != want {
			t.Errorf("variable %s is %q, want %q", name, got, want)
		}
	}
	want := []testimony.Root{{Path: bindingFiles, Filesystem: "tmpfs", ReadOnly: true}}
	if diff := cmp.Diff(want, found.Roots); diff != "" {
		t.Errorf("the volume (-want +got):\n%s", diff)
	}
}

func checkRotation(t *testing.T, ns string, pod *corev1.Pod) {
	t.Helper()
	const patch = `{"stringData":{"provider":"another-server"}}`
	if _, err := kubectl("", "patch", "secret", "greeter-nats", "--namespace", ns, "--type=merge", "--patch", patch); err != nil {
		t.Fatal(err)
	}
	took := eventually(t, "the new value is in the files", func() error {
		return holds(testify(t, ns, pod.Name, greeterName, bindingFiles), bindingFiles, greeterFiles("another-server"))
	})
	t.Logf("the changed Secret was in the pod's files after %v", took)
	now := rolledOut(t, ns, greeterName)
	if now.UID != pod.UID || slices.ContainsFunc(now.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.RestartCount > 0 }) {
		t.Errorf("the pod is another one or was started again: %s", describe(now))
	}
}

// checkUnbinding wants the Deployment to be, without the binding, what it is where there never was one.
func checkUnbinding(t *testing.T, ns, deployment string) {
	t.Helper()
	never := namespace(t, "e2e-never-bound")
	apply(t, never, strings.Replace(deployment, "replicas: 1", "replicas: 0", 1))
	if _, err := kubectl("", "delete", "servicebinding", "greeter-nats", "--namespace", ns); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the template is as if never bound", func() error {
		bound, err := clients.AppsV1().Deployments(ns).Get(t.Context(), greeterName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		other, err := clients.AppsV1().Deployments(never).Get(t.Context(), greeterName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if diff := cmp.Diff(other.Spec.Template, bound.Spec.Template); diff != "" {
			return errors.New("never bound, and unbound: " + diff)
		}
		return nil
	})
	if _, err := kubectl("", "get", "servicebinding", "greeter-nats", "--namespace", ns); err == nil {
		t.Error("the binding is still there")
	}
	eventually(t, "a container without the files runs", func() error { return seesNoBinding(t, ns) })
}

// seesNoBinding wants the sidecar of the newest pod to find no folder of the binding. The application itself rightly refuses
// to start without one.
func seesNoBinding(t *testing.T, ns string) error {
	t.Helper()
	pods, err := clients.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if strings.Contains(fmt.Sprint(p.Spec.Volumes), "servicebinding-") {
			continue
		}
		output, err := kubectl("", "exec", "--namespace", ns, p.Name, "--container", "nats", "--", "witness", bindingRoot)
		if err != nil {
			return err
		}
		if !strings.Contains(output, "no such file or directory") || strings.Contains(output, "SERVICE_BINDING_ROOT") {
			t.Errorf("an unbound pod finds %s", output)
		}
		return nil
	}
	return errors.New("there is no pod without the volume yet")
}
