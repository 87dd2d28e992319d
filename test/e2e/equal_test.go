package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/test/e2e/witness/testimony"
)

// TestPodEqualsRun compares what a container of a pod finds with what a program finds that bowline run gives the same: every
// file and folder of its mounts, with names, modes, owners, contents and where links lead, and every variable.
func TestPodEqualsRun(t *testing.T) {
	ns := namespace(t, "e2e-equal")
	apply(t, ns, manifest(t, "testdata/equal-objects.yaml"))
	eventually(t, "admission knows the binding", func() error {
		_, err := kubectl("", "wait", "--namespace", ns, "--for=jsonpath={.status.conditions[?(@.type==\"ServiceAvailable\")].status}=True",
			"servicebinding/ledger", "--timeout=5s")
		return err
	})
	apply(t, ns, manifest(t, "testdata/equal-pods.yaml", "witness:dev", witnessImage))
	for _, c := range []struct {
		reason, pod string
		folders     []string
	}{
		{
			reason:  "a projected binding with overridden type and provider",
			pod:     "bound",
			folders: []string{"/bindings", "/var/run/secrets/kubernetes.io/serviceaccount"},
		},
		{
			reason:  "volumes of every kind, parts of them, modes and items",
			pod:     "volumes",
			folders: []string{"/etc/secret-volume", "/etc/config", "/mix/all", "/about", "/scratch", "/part", "/one/key"},
		},
		{
			reason:  "another user and a group that owns the files",
			pod:     "owned",
			folders: []string{"/etc/owned", "/mix/owned"},
		},
	} {
		t.Run(c.pod, func(t *testing.T) {
			runs(t, ns, c.pod)
			ran := underRun(t, ns, c.pod, c.folders)
			for _, root := range ran.Roots {
				if root.Filesystem != "tmpfs" {
					t.Errorf("%s is on %s under bowline run, and not in memory", root.Path, root.Filesystem)
				}
			}
			inPod, under := shared(testify(t, ns, c.pod, "", c.folders...)), shared(ran)
			if diff := cmp.Diff(inPod, under); diff != "" {
				t.Errorf("%s (-in the pod +under bowline run):\n%s", c.reason, diff)
			}
			if len(inPod.Entries) < len(c.folders) {
				t.Errorf("%s: there is nothing to compare", c.reason)
			}
		})
	}
}

// underRun has a witness look at folders from within bowline run.
func underRun(t *testing.T, ns, pod string, folders []string) testimony.Testimony {
	t.Helper()
	command := exec.CommandContext(t.Context(), built("bowline"), append([]string{
		"run", "pod/" + pod, "--namespace", ns, "--kubeconfig", plane.Kubeconfig(), "--clean-env", "--", witness(t),
	}, folders...)...)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		t.Fatalf("bowline run: %v: %s", err, said.String())
	}
	if said.Len() > 0 {
		t.Errorf("bowline run had something to say: %s", said.String())
	}
	var found testimony.Testimony
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// witness puts the witness where every user can run it.
func witness(t *testing.T) string {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(plane.Dir(), "witness"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "witness")
	if err := os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755); err != nil { // a folder of the test's is its owner's alone
		t.Fatal(err)
	}
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// shared leaves out what no two processes share: when a volume was written, which token they were given, and the variables
// that do not come from the container but from its image, its engine and the Services around it. Bowline keeps in memory what
// the kubelet has on a disk, and the folder above mounts too, so the kind of file system is not compared.
func shared(found testimony.Testimony) testimony.Testimony {
	found = found.Normal()
	for i := range found.Entries {
		if found.Entries[i].Type == "file" && strings.HasSuffix(found.Entries[i].Path, "/token") {
			found.Entries[i].Content = ""
		}
	}
	for i := range found.Roots {
		found.Roots[i].Filesystem = ""
	}
	for name := range found.Env {
		if slices.Contains([]string{"PATH", "HOME", "HOSTNAME"}, name) || strings.HasPrefix(name, "KUBERNETES_") {
			delete(found.Env, name)
		}
	}
	return found
}
