package canary_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// said is what a program prints, while it prints.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.text.Bytes())
}

// local prepares bowline run.
func local(t *testing.T, out *said, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig(), childArguments+"=run "+strings.Join(args, " "))
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

// locally runs workloads on this machine, and what goes wrong with that, and looks at all that is said.
func locally(k *cluster, v values) {
	manifests := manifests(k.t, v)
	var all said
	for _, args := range []string{
		"deployment/orders -n shop -c main --print",
		"deployment/orders -n shop -c main --container=docker --print",
		"deployment/orders -n shop -c main -- true",
		"deployment/orders -n shop -c main --no-namespace -- true",
		"deployment/orders -n shop -c main",
		"deployment/orders -n shop -- true",
		"deployment/orders -n shop -c none -- true",
		"deployment/orders -n shop -c main --as nobody -- true",
		"deployment/orders -n shop -c main --secret-storage-size 1 -- true",
		"deployment/orders -n shop -c main -- /no/such/program",
		"deployment/orders -n shop -c main --env-file /proc/none",
		"deployment/orders -n shop -c main --allow-disk --export " + filepath.Join(manifests, "export"),
		"fn.fn.example.com/f -n shop --print",
	} {
		var one said
		err := local(k.t, &one, strings.Fields(args)...).Run()
		if text := one.bytes(); len(text) == 0 && err != nil {
			k.t.Errorf("%s says nothing: %v", args, err)
		}
		_, _ = all.Write(one.bytes())
	}
	for _, name := range []string{"anchor", "tag", "base64", "number", "list", "circle", "lines", "broken"} {
		var one said
		err := local(k.t, &one, "-f", filepath.Join(manifests, name+".yaml"), "--env-file", filepath.Join(manifests, "env"), "--allow-disk").Run()
		if err == nil || len(one.bytes()) == 0 {
			k.t.Errorf("manifest %s is taken: %v, %s", name, err, one.bytes())
		}
		_, _ = all.Write(one.bytes())
	}
	for _, want := range []string{"DB_PASSWORD", "/bindings/direct", "docker run", "may hold 1 B", "you may not get", "anchor.yaml:"} {
		if !bytes.Contains(all.bytes(), []byte(want)) {
			k.t.Errorf("not all that is meant to be said is: %s is missing in\n%s", want, all.bytes())
		}
	}
	v.sought(k.t, "what bowline run says", all.bytes())
	rotate(k, v)
}

// manifests writes manifests that are wrong beside a value, each in a way of its own.
func manifests(t *testing.T, v values) string {
	t.Helper()
	dir := t.TempDir()
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, env: [%s]}]}\n"
	for name, text := range map[string]string{
		"anchor": "kind: Secret\nstringData:\n  password: *" + v.first,
		"tag":    "kind: Secret\nstringData:\n  password: !!int \"" + v.first + "\"",
		"base64": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {password: \"" + v.first + "!\"}",
		"number": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: [" + v.first + "]}",
		"list":   "apiVersion: v1\nkind: List\nitems: [" + v.first + "]",
		"circle": fmt.Sprintf(pod, "{name: A, value: $(B)"+v.first+"}, {name: B, value: $(A)}"),
		"lines":  fmt.Sprintf(pod, `{name: A, value: "a\n`+v.first+`"}`),
		"broken": "a: [" + v.first + "\nb",
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// rotate changes a Secret while a program runs, and looks at what others can see of the processes meanwhile.
func rotate(k *cluster, v values) {
	var out said
	cmd := local(k.t, &out, "deployment/orders", "-n", "shop", "-c", "main", "--on-change=restart", "--", "cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = cmd.Process.Kill() })
	_, _ = stdin.Write([]byte("it runs\n"))
	eventually(k.t, "the program runs", func() error { return says(&out, "it runs") })
	k.merge(secrets, "db", fmt.Sprintf(`{"stringData":{"password":%q}}`, v.second))
	eventually(k.t, "the program is started again", func() error { return says(&out, "starting it again") })
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), file))
		if err != nil {
			k.t.Fatal(err)
		}
		v.sought(k.t, "bowline run's "+file, text)
	}
	_ = stdin.Close()
	_ = cmd.Wait()
	v.sought(k.t, "what bowline run says of a rotation", out.bytes())
}

func says(out *said, words string) error {
	if !bytes.Contains(out.bytes(), []byte(words)) {
		return fmt.Errorf("it says %q", out.bytes())
	}
	return nil
}
