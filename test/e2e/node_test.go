package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/localplane"
)

// processes returns the process of each component that runs.
func processes() map[string]int {
	found := map[string]int{}
	for _, s := range plane.Status() {
		if s.Running {
			found[s.Component] = s.PID
		}
	}
	return found
}

// TestASecondUpFindsTheFirst wants nothing to be started twice, whether the node is asked for again or not.
func TestASecondUpFindsTheFirst(t *testing.T) {
	before := processes()
	for _, args := range [][]string{{"up", "--node"}, {"up"}} {
		if err := bowline(append(args, "--dir", plane.Dir())...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, processes()); diff != "" {
			t.Errorf("bowline %v changed the processes (-before +after):\n%s", args, diff)
		}
	}
}

// TestPodsOutliveTheirKeepers kills what looks after pods, then everything but the pods, and wants the next up to find them
// as they were.
func TestPodsOutliveTheirKeepers(t *testing.T) {
	ns := namespace(t, "e2e-keepers")
	secret(t, ns, "kept", map[string]string{"key": "value"})
	pod(t, ns, "kept", mounting(corev1.SecretVolumeSource{SecretName: "kept"}))
	before := runs(t, ns, "kept").Status.ContainerStatuses[0]
	process := processOf(t, before.ContainerID)
	for _, victims := range [][]string{
		{localplane.Containerd, localplane.Kubelet},
		append(localplane.Components(), localplane.NodeComponents()...),
	} {
		kill(t, victims)
		if now := processOf(t, before.ContainerID); now != process {
			t.Fatalf("after the death of %v the pod's process is %q, it was %q", victims, now, process)
		}
		if err := bowline("up", "--dir", plane.Dir()); err != nil {
			t.Fatal(err)
		}
		runs(t, ns, "kept")
		if err := holds(testify(t, ns, "kept", "", volumeFolder), volumeFolder, map[string]string{"key": "value"}); err != nil {
			t.Error(err)
		}
		after := runs(t, ns, "kept").Status.ContainerStatuses[0]
		if after.ContainerID != before.ContainerID || after.RestartCount != 0 {
			t.Errorf("after the death of %v the pod runs container %s, it ran %s", victims, after.ContainerID, before.ContainerID)
		}
	}
}

// processOf returns the processes of a container.
func processOf(t *testing.T, container string) string {
	t.Helper()
	_, id, _ := strings.Cut(container, "://")
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range groups {
		if content, err := os.ReadFile(path); err == nil && bytes.Contains(content, []byte(id)) {
			found = append(found, filepath.Base(filepath.Dir(path)))
		}
	}
	if len(found) == 0 {
		t.Fatalf("container %s has no process", container)
	}
	return strings.Join(found, " ")
}

// kill kills components the hard way and waits until they are gone.
func kill(t *testing.T, components []string) {
	t.Helper()
	running := processes()
	for _, name := range components {
		if pid := running[name]; pid != 0 {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "they are gone", func() error {
		now := processes()
		for _, name := range components {
			if now[name] != 0 {
				return fmt.Errorf("%s still runs", name)
			}
		}
		return nil
	})
}

// TestANodeNeedsRoot wants a clear answer for people who are not root, and nothing started.
func TestANodeNeedsRoot(t *testing.T) {
	const nobody = 65534
	dir, err := os.MkdirTemp("", "bowline-nobody-") // not the test's own folder, into which nobody cannot look
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, err := os.ReadFile(built("bowline"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bowline"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	command := exec.Command(filepath.Join(dir, "bowline"), "up", "--node", "--dir", data)
	command.Env, command.Dir = []string{"BOWLINE_CONTROLPLANE=" + filepath.Join(dir, "bowline")}, dir
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	output, err := command.CombinedOutput()
	if code := command.ProcessState.ExitCode(); code != 2 {
		t.Errorf("it ended with %d, want 2: %v", code, err)
	}
	want := "bowline: a node cannot run here: it needs root\n" +
		"hint: run it as root, for example with sudo; without --node no root is needed\n"
	if diff := cmp.Diff(want, string(output)); diff != "" {
		t.Errorf("what it says (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("it made the data directory")
	}
}

// TestTheNodeIsReady shows that the node says so, and what it runs on.
func TestTheNodeIsReady(t *testing.T) {
	node, err := clients.CoreV1().Nodes().Get(t.Context(), localplane.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(node.Status.NodeInfo)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(string(info))
	if !plane.NodeRunning() {
		t.Error("the node's components do not run")
	}
}

// TestKilledOnTheWay kills up and down in the middle of what they do, in a data directory of their own, and wants the next up
// to end in a ready node all the same, and the last down to leave nothing.
func TestKilledOnTheWay(t *testing.T) {
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", prefix, os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bowline("down", "--wipe", "--dir", dir); err != nil {
			t.Error(err)
		}
		for name := range traces(dir) {
			t.Errorf("after bowline down there is still %s", name)
		}
	})
	for _, c := range []struct {
		command []string
		words   string        // killed once it says this
		wait    time.Duration // and this has passed
	}{
		{command: []string{"up", "--node"}, words: "starting containerd"},
		{command: []string{"up", "--node"}, words: "starting kubelet"},
		{command: []string{"up", "--node"}, words: "starting kube", wait: 200 * time.Millisecond},
		{command: []string{"up", "--node"}, words: "ready"},
		{command: []string{"down"}, wait: 150 * time.Millisecond},
		{command: []string{"down"}, wait: 300 * time.Millisecond},
	} {
		killOnTheWay(t, append(c.command, "--dir", dir), c.words, c.wait)
	}
	if err := bowline("up", "--node", "--dir", dir); err != nil {
		t.Fatal(err)
	}
	other, err := localplane.Open(dir)
	if err != nil || !other.NodeRunning() {
		t.Errorf("the node does not run: %v", err)
	}
}

// killOnTheWay runs bowline and kills it once it has said the words, or has ended, and the time has passed.
func killOnTheWay(t *testing.T, args []string, words string, wait time.Duration) {
	t.Helper()
	command := exec.Command(built("bowline"), args...)
	output, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(output); words != "" && lines.Scan(); {
		if strings.Contains(lines.Text(), words) {
			break
		}
	}
	<-time.After(wait)
	_ = command.Process.Kill()
	_ = command.Wait()
}
