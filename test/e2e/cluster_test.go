package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/test/e2e/witness/testimony"
)

const (
	patience = 2 * time.Minute
	gap      = 50 * time.Millisecond
)

// eventually tries until there is no error any more.
func eventually(t *testing.T, what string, attempt func() error) time.Duration {
	t.Helper()
	began := time.Now()
	ticker := time.NewTicker(gap)
	defer ticker.Stop()
	for {
		err := attempt()
		if err == nil {
			return time.Since(began)
		}
		if time.Since(began) > patience {
			t.Fatalf("waiting until %s: %v", what, err)
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("waiting until %s: %v", what, err)
		case <-ticker.C:
		}
	}
}

// namespace makes a namespace that goes with the test. It waits for the service account that pods run as.
func namespace(t *testing.T, name string) string {
	t.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := clients.CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if output, err := kubectl("", "delete", "namespace", name, "--wait=false"); err != nil {
			t.Errorf("%v: %s", err, output)
		}
	})
	eventually(t, "the namespace has a service account", func() error {
		_, err := clients.CoreV1().ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return name
}

// kubectl runs kubectl as the administrator and returns what it wrote.
func kubectl(input string, args ...string) (string, error) {
	binary, err := localplane.FindBinary()
	if err != nil {
		return "", err
	}
	command := exec.Command(binary, append([]string{"kubectl", "--kubeconfig", plane.Kubeconfig()}, args...)...)
	command.Stdin = strings.NewReader(input)
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, problems.String())
	}
	return out.String(), nil
}

// apply applies a manifest in a namespace.
func apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	if _, err := kubectl(manifest, "apply", "--namespace", namespace, "--filename", "-"); err != nil {
		t.Fatal(err)
	}
}

// manifest reads a file, with each old string replaced by the new one that follows it.
func manifest(t *testing.T, path string, replace ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !bytes.Contains(content, []byte(replace[i])) {
			t.Fatalf("%s does not hold %q", path, replace[i])
		}
	}
	return strings.NewReplacer(replace...).Replace(string(content))
}

// runs waits until a pod's containers run and are ready.
func runs(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, "pod "+name+" is ready", func() (err error) {
		pod, err = clients.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && !ready(pod) {
			err = fmt.Errorf("it is not: %s", describe(pod))
		}
		return err
	})
	return pod
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// describe says how the containers of a pod are.
func describe(pod *corev1.Pod) string {
	words := []string{string(pod.Status.Phase)}
	for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if s.State.Waiting != nil {
			words = append(words, s.Name, "waits:", s.State.Waiting.Reason, s.State.Waiting.Message)
		}
		if s.State.Terminated != nil {
			words = append(words, s.Name, "ended:", s.State.Terminated.Reason, s.State.Terminated.Message)
		}
	}
	return strings.Join(words, " ")
}

// rolledOut waits until a Deployment has one ready pod of its newest template and no other, and returns it.
func rolledOut(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, "Deployment "+name+" is rolled out", func() error {
		d, err := clients.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := clients.CoreV1().Pods(namespace).List(t.Context(),
			metav1.ListOptions{LabelSelector: labels.SelectorFromSet(d.Spec.Selector.MatchLabels).String()})
		if err != nil {
			return err
		}
		if len(pods.Items) != 1 {
			return fmt.Errorf("it has %d pods", len(pods.Items))
		}
		pod = &pods.Items[0]
		if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != 1 || s.AvailableReplicas != 1 || s.Replicas != 1 {
			return fmt.Errorf("its pod is %s", describe(pod))
		}
		return nil
	})
	return pod
}

// testify has a witness look at folders from within a container. A kubelet that has just started, or a container that has,
// may not take the request yet.
func testify(t *testing.T, namespace, pod, container string, folders ...string) testimony.Testimony {
	t.Helper()
	args := []string{"exec", "--namespace", namespace, pod}
	if container != "" {
		args = append(args, "--container", container)
	}
	var found testimony.Testimony
	eventually(t, "a witness testifies", func() error {
		output, err := kubectl("", append(append(args, "--", "witness"), folders...)...)
		if err == nil {
			err = json.Unmarshal([]byte(output), &found)
		}
		return err
	})
	return found
}

// holds wants just these files, by their content, in a folder of a container.
func holds(found testimony.Testimony, folder string, want map[string]string) error {
	var wrong []error
	for name, content := range want {
		if got, err := found.Content(filepath.Join(folder, name)); err != nil || got != testimony.Hash([]byte(content)) {
			wrong = append(wrong, fmt.Errorf("file %s has another content: %w", name, err))
		}
	}
	for _, e := range found.Entries {
		name, inside := strings.CutPrefix(e.Path, folder+"/")
		if _, wanted := want[name]; inside && !wanted && !strings.HasPrefix(name, "..") {
			wrong = append(wrong, fmt.Errorf("there is also %s", name))
		}
	}
	return errors.Join(wrong...)
}
