package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/node"
)

const (
	rootVariable = "SERVICE_BINDING_ROOT"
	secretMode   = 0o600
	wantMessages = 3
	// manifestFolder is where the example's manifests are, seen from the root.
	manifestFolder = "examples/greeter/manifests"
)

// service is the NATS server of the story.
type service struct {
	at       address
	username string
	password node.Value
}

// startPlane brings up the control plane and Bowline.
func startPlane(ctx context.Context, s *story) error {
	dir := filepath.Join(s.scratch, "plane")
	s.later("stop the control plane", func(ctx context.Context) error { return s.stopPlane(ctx, dir) })
	up, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	if err := s.bowline(up, "up", "--dir", dir); err != nil {
		return err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	var err error
	if s.cluster, err = connect(kubeconfig); err != nil {
		return err
	}
	space := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	space.SetName(namespace)
	if _, err := s.cluster.apply(ctx, space); err != nil {
		return err
	}
	s.sayf("kubeconfig: %s, namespace: %s", kubeconfig, namespace)
	return nil
}

// stopPlane stops what startPlane started. Where that fails the directory stays, since it tells what still runs.
func (s *story) stopPlane(ctx context.Context, dir string) error {
	err := s.bowline(ctx, "down", "--dir", dir)
	if err != nil {
		s.keepScratch = true
		return fmt.Errorf("%w: see %s, and run: bin/bowline down --dir %s", err, s.scratch, dir)
	}
	return nil
}

// startService makes credentials that nobody has seen and starts the server with them.
func startService(ctx context.Context, s *story) error {
	if s.service.username != "" {
		s.former = append(s.former, s.service.password)
	}
	s.service.username = "demo-" + strings.ToLower(rand.Text()[:6])
	s.service.password = node.NewValue([]byte(rand.Text()))
	dir, err := os.MkdirTemp(s.private, "credentials-")
	if err != nil {
		return fmt.Errorf("making a directory for the credentials: %w", err)
	}
	entries := map[string][]byte{"username": []byte(s.service.username), "password": s.service.password.Reveal()}
	for name, text := range entries {
		if err := os.WriteFile(filepath.Join(dir, name), text, secretMode); err != nil {
			return fmt.Errorf("writing the credentials: %w", err)
		}
	}
	if s.service.at, err = s.serve(ctx, dir); err != nil {
		return err
	}
	s.sayf("NATS listens on %s:%d, user %s, with a random password", s.service.at.Host, s.service.at.Port,
		s.service.username)
	return nil
}

// runUnbound shows that the program needs a binding, and that the server needs the right password.
func runUnbound(ctx context.Context, s *story) error {
	output, err := s.greeter(ctx, []string{})
	if err := mustFail(output, err, rootVariable+" is not set"); err != nil {
		return err
	}
	s.sayf("And with a guessed password, bound by the example's manifests, without any cluster:")
	guess, err := s.guess()
	if err != nil {
		return err
	}
	output, err = s.bowlineRun(ctx, []string{"-f", manifestFolder, "-f", guess}, "bin/greeter")
	return mustFail(output, err, "refuses the credentials")
}

// guess writes the Secret with the server's address and a password that is not the server's.
func (s *story) guess() (string, error) {
	secret, err := fill(s.manifests.secret, map[string]string{
		"host": s.service.at.Host, "port": strconv.Itoa(s.service.at.Port), "username": s.service.username, "password": "guess",
	})
	if err != nil {
		return "", err
	}
	secret.SetNamespace("") // as the example's own manifests have it
	text, err := yaml.Marshal(secret.Object)
	if err != nil {
		return "", fmt.Errorf("writing the guess: %w", err)
	}
	path := filepath.Join(s.private, "guess.yaml")
	if err := os.WriteFile(path, text, secretMode); err != nil {
		return "", fmt.Errorf("writing the guess: %w", err)
	}
	return path, nil
}

// applyWorkload applies everything but the binding, and remembers the Deployment.
func applyWorkload(ctx context.Context, s *story) error {
	secret, err := fill(s.manifests.secret, map[string]string{
		"host": s.service.at.Host, "port": strconv.Itoa(s.service.at.Port),
		"username": s.service.username, "password": string(s.service.password.Reveal()),
	})
	if err != nil {
		return err
	}
	if _, err := s.cluster.apply(ctx, secret); err != nil {
		return err
	}
	s.sayf("Secret %s, filled with the server's address and credentials", secret.GetName())
	if s.before, err = s.cluster.apply(ctx, s.manifests.deployment); err != nil {
		return err
	}
	s.sayf("Deployment %s, which knows nothing of them", s.before.GetName())
	return nil
}

// bind applies the binding and waits for its condition.
func bind(ctx context.Context, s *story) error {
	binding, err := s.cluster.apply(ctx, s.manifests.binding)
	if err != nil {
		return err
	}
	if binding, err = s.cluster.awaitReady(ctx, binding); err != nil {
		return err
	}
	s.sayf("ServiceBinding %s, generation %d, observed and ready:", binding.GetName(), binding.GetGeneration())
	s.quote(strings.Join(conditions(binding), "\n"))
	s.bound, err = s.cluster.get(ctx, s.before)
	return err
}

// showProjection prints the difference and requires that there is one.
func showProjection(_ context.Context, s *story) error {
	a, _, _ := unstructured.NestedMap(s.before.Object, "spec", "template")
	b, _, _ := unstructured.NestedMap(s.bound.Object, "spec", "template")
	text, err := diff(a, b)
	if err != nil {
		return err
	}
	if text == "" {
		return errors.New("the binding is ready, but the pod template is what it was")
	}
	s.sayf("The pod template:")
	s.quote(text)
	s.sayf("Annotations of the Deployment itself, kept for unbinding: %s", listed(added(s.before, s.bound)))
	stored, err := json.Marshal(s.bound.Object)
	if err != nil {
		return fmt.Errorf("writing the Deployment as JSON: %w", err)
	}
	if bytes.Contains(stored, s.service.password.Reveal()) {
		return errors.New("the Deployment holds the password itself")
	}
	return nil
}

// runBound runs the program as the kubelet would: with the files and variables of the stored Deployment.
func runBound(ctx context.Context, s *story) error {
	workload := s.workload()
	if err := s.bowline(ctx, append(append([]string{"run"}, workload...), "--print")...); err != nil {
		return err
	}
	output, err := s.bowlineRun(ctx, workload, "bin/greeter", "--count", strconv.Itoa(wantMessages))
	if err != nil {
		return err
	}
	if got := strings.Count(output, "received "); got != wantMessages {
		return fmt.Errorf("greeter reports %d messages received, not %d", got, wantMessages)
	}
	return nil
}

// runAgain runs it as the Deployment is now.
func runAgain(ctx context.Context, s *story) error {
	output, err := s.bowlineRun(ctx, s.workload(), "bin/greeter")
	return mustFail(output, err, rootVariable+" is not set")
}

// workload is how bowline run is told of the Deployment.
func (s *story) workload() []string {
	return []string{"deployment/" + s.before.GetName(), "-n", namespace, "--kubeconfig", filepath.Join(s.scratch, "plane", "kubeconfig")}
}

// unbind deletes the binding and compares the Deployment with what it was.
func unbind(ctx context.Context, s *story) error { return s.release(ctx, s.manifests.binding) }

// release deletes a binding and requires that nothing is left of it.
func (s *story) release(ctx context.Context, binding *unstructured.Unstructured) error {
	if err := s.cluster.remove(ctx, binding); err != nil {
		return err
	}
	after, err := s.cluster.get(ctx, s.before)
	if err != nil {
		return err
	}
	if err := same(s.before, after); err != nil {
		return err
	}
	s.sayf("The binding is gone, and labels, annotations and spec of Deployment %s are as before", after.GetName())
	return nil
}

// checkTranscript searches all that was printed for passwords.
func checkTranscript(_ context.Context, s *story) error {
	told := s.transcript.Bytes()
	if s.betrays(told) {
		return errors.New("a password was printed")
	}
	s.sayf("%d bytes were printed; no password is among them", len(told))
	return nil
}
