package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// neverShown is a part of every password that the binding has in this test.
const neverShown = "never-shown"

// readerState is one line of what examples/reader prints.
type readerState struct {
	Error    string          `json:"error"`
	Bindings []readerBinding `json:"bindings"`
}

type readerBinding struct {
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	Provider string            `json:"provider"`
	Entries  []string          `json:"entries"`
	Shown    map[string]string `json:"shown"`
}

// readerSees is the state in which host and user both carry a name, as one version of the Secret has them.
func readerSees(name string) readerState {
	return readerState{Bindings: []readerBinding{{
		Name: "cache", Type: "Redis", Provider: "example", Entries: []string{"host", "password", "provider", "type", "username"},
		Shown: map[string]string{"host": name + ".example.com", "username": name},
	}}}
}

// TestBindingsInAPod has a program read its bindings with the package bindings, in a pod and under bowline run, and follow a
// rotation of them: without a restart, and without ever seeing one version's host with the other's user.
func TestBindingsInAPod(t *testing.T) {
	ns := namespace(t, "e2e-bindings")
	apply(t, ns, manifest(t, "testdata/bindings-objects.yaml"))
	pod := manifest(t, "testdata/bindings-pod.yaml", "reader:dev", readerImage)
	eventually(t, "admission knows the binding", func() error {
		answer, err := kubectl(pod, "apply", "--namespace", ns, "--filename", "-", "--dry-run=server", "--output", "yaml")
		if err == nil && !strings.Contains(answer, "servicebinding-") {
			err = errors.New("it would not bind the pod yet")
		}
		return err
	})
	apply(t, ns, pod)
	runs(t, ns, "reader")
	podSees(t, ns, readerSees("one"))

	rotateCache(t, ns, "two")
	podSees(t, ns, readerSees("one"), readerSees("two"))

	next := runReader(t, ns)
	sees(t, "bowline run", next(), readerSees("two"))
	rotateCache(t, ns, "three")
	sees(t, "bowline run", next(), readerSees("three"))

	podSees(t, ns, readerSees("one"), readerSees("two"), readerSees("three"))
	if restarts := runs(t, ns, "reader").Status.ContainerStatuses[0].RestartCount; restarts != 0 {
		t.Errorf("the program was started again %d times", restarts)
	}
}

// rotateCache gives the Secret a new host, user and password in one change.
func rotateCache(t *testing.T, ns, name string) {
	t.Helper()
	patch := fmt.Sprintf(`{"stringData":{"host":"%[1]s.example.com","username":"%[1]s","password":"%[1]s-%[2]s"}}`, name, neverShown)
	if _, err := kubectl("", "patch", "secret", "cache", "--namespace", ns, "--type=merge", "--patch", patch); err != nil {
		t.Fatal(err)
	}
}

// podSees wants just these states in the log of the pod, in this order.
func podSees(t *testing.T, ns string, want ...readerState) {
	t.Helper()
	took := eventually(t, fmt.Sprintf("the pod has seen %d states", len(want)), func() error {
		log, err := kubectl("", "logs", "--namespace", ns, "reader")
		if err != nil {
			return err
		}
		if strings.Contains(log, neverShown) {
			t.Fatal("the log holds a password")
		}
		var got []readerState
		for decoder := json.NewDecoder(strings.NewReader(log)); ; {
			var state readerState
			if err := decoder.Decode(&state); err != nil {
				if errors.Is(err, io.EOF) {
					break
				}
				return fmt.Errorf("reading the log: %w", err) // its last line may be on the way
			}
			got = append(got, state)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("its log (-want +got):\n%s", diff)
		}
		return nil
	})
	t.Logf("the pod saw %q after %v", want[len(want)-1].Bindings[0].Shown["username"], took.Round(time.Millisecond))
}

// runReader runs the same program under bowline run, and returns what waits for its next line. It ends with the test.
func runReader(t *testing.T, ns string) func() string {
	t.Helper()
	command := exec.Command(built("bowline"), "run", "pod/reader", "--namespace", ns, "--kubeconfig", plane.Kubeconfig(), "--",
		built("reader"), "--type", "redis", "--show", "host,username", "--watch")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	lines := linesOf(out, ended)
	t.Cleanup(func() {
		close(ended)
		_ = command.Process.Signal(syscall.SIGTERM)
		for range lines {
			continue // Wait may come only once everything has been read
		}
		if err := command.Wait(); err != nil || said.Len() > 0 {
			t.Errorf("bowline run ended: %v: %s", err, said.String())
		}
	})
	return func() string {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatal("bowline run has ended")
			}
			return line
		case <-time.After(patience):
			t.Fatal("the program under bowline run prints no other state")
			return ""
		}
	}
}

// linesOf gives what is written, line by line, and passes over what comes once the test has ended.
func linesOf(out io.Reader, ended <-chan struct{}) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ended:
			}
		}
	}()
	return lines
}

// sees wants a line of the reader to be this state.
func sees(t *testing.T, who, line string, want readerState) {
	t.Helper()
	var got readerState
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatalf("%s: %v", who, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", who, diff)
	}
	if strings.Contains(line, neverShown) {
		t.Errorf("%s: it shows a password", who)
	}
}
