package localplane

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// snapshot returns the content of each file in a folder.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = string(data)
	}
	return all
}

func TestEnsurePKI(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	admin, ca := []string{"admin.crt", "admin.key"}, []string{"ca.crt", "ca.key"}
	below := []string{
		"admin.crt", "admin.key", "apiserver.crt", "apiserver.key", "controller-manager.crt", "controller-manager.key",
		"apiserver-kubelet-client.crt", "apiserver-kubelet-client.key", "kube-proxy.crt", "kube-proxy.key", "kubelet.crt", "kubelet.key",
		"scheduler.crt", "scheduler.key",
	}
	remove := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	truncate := func(name string) func(string) error {
		return func(dir string) error { return os.Truncate(filepath.Join(dir, name), 100) }
	}
	for _, c := range []struct {
		reason string
		harm   func(dir string) error
		later  time.Duration
		want   []string
	}{
		{reason: "nothing is wrong, nothing changes", later: 300 * 24 * time.Hour},
		{reason: "a certificate that was never written", harm: remove("admin.crt"), want: admin},
		{reason: "a key that was never written", harm: remove("admin.key"), want: admin},
		{reason: "half a key", harm: truncate("admin.key"), want: admin},
		{reason: "half a certificate", harm: truncate("admin.crt"), want: admin},
		{reason: "an authority takes along what it signed", harm: truncate("ca.crt"), want: append(ca, below...)},
		{reason: "the key of tokens stands alone", harm: truncate("service-account.key"), want: []string{"service-account.key"}},
		{reason: "a key of another certificate", want: admin, harm: func(dir string) error {
			return os.Rename(filepath.Join(dir, "front-proxy-client.key"), filepath.Join(dir, "admin.key"))
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if made, err := ensurePKI(dir, now); err != nil || !made {
				t.Fatalf("first: made %v, error %v", made, err)
			}
			before := snapshot(t, dir)
			if c.harm != nil {
				if err := c.harm(dir); err != nil {
					t.Fatal(err)
				}
			}
			made, err := ensurePKI(dir, now.Add(c.later))
			if err != nil || made != (c.want != nil) {
				t.Fatalf("second: made %v, error %v", made, err)
			}
			checkChanged(t, before, snapshot(t, dir), c.want)
		})
	}
}

// checkChanged wants that the named files changed and, but for the one that a case moved away, no others.
func checkChanged(t *testing.T, before, after map[string]string, want []string) {
	t.Helper()
	wanted, got := map[string]bool{}, map[string]bool{}
	for _, name := range want {
		wanted[name] = true
	}
	for name := range before {
		if before[name] != after[name] && !strings.HasPrefix(name, "front-proxy-client") {
			got[name] = true
		}
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("renewed files (-want +got):\n%s", diff)
	}
}

func TestPKIRenewsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	if _, err := ensurePKI(dir, now); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	if made, err := ensurePKI(dir, now.Add(leafLife-renewBefore)); err != nil || !made {
		t.Fatalf("made %v, error %v", made, err)
	}
	after := snapshot(t, dir)
	for name := range before {
		kept := strings.Contains(name, "ca.") || strings.HasPrefix(name, keyServiceAccount)
		if same := before[name] == after[name]; same != kept {
			t.Errorf("%s: unchanged %v, want %v", name, same, kept)
		}
	}
}

func TestRecordKnowsItsProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	genuine, ok := identify(cmd.Process.Pid, time.Now())
	if !ok || !genuine.alive() {
		t.Fatal("a running process is not recognised")
	}
	for reason, other := range map[string]record{
		"another process with its pid": {PID: genuine.PID, StartTime: genuine.StartTime + 1, Boot: genuine.Boot},
		"the pid of an earlier boot":   {PID: genuine.PID, StartTime: genuine.StartTime, Boot: "earlier"},
		"nothing":                      {},
	} {
		if other.alive() {
			t.Errorf("%s counts as the recorded process", reason)
		}
		if err := other.terminate(t.Context(), time.Second); err != nil || !genuine.alive() {
			t.Errorf("%s: terminating it ended the process (%v)", reason, err)
		}
	}
	if err := genuine.terminate(t.Context(), killPatience); err != nil {
		t.Fatal(err)
	}
	if genuine.alive() { // nobody waited for it: it is a zombie
		t.Error("a zombie counts as running")
	}
	_ = cmd.Wait()
}

func TestLockIsHeldByOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	again, err := lock(t.Context(), path)
	if err != nil {
		t.Fatalf("a lock that was released: %v", err)
	}
	again()
}

func TestLogTail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, []byte("of the last run\n"), privateFile); err != nil {
		t.Fatal(err)
	}
	file, begin, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	for range tailLines {
		_, _ = file.WriteString("early\n")
	}
	_, _ = file.WriteString("late\n" + strings.Repeat("x", 2*lineWidth) + "\n")
	_ = file.Close()
	got := tail(path, begin)
	if len(got) != tailLines || got[tailLines-2] != "late" || len(got[tailLines-1]) > lineWidth+len(" …") {
		t.Errorf("tail: %q", got)
	}
	if got := tail(filepath.Join(t.TempDir(), "none"), 0); got != nil {
		t.Errorf("tail of a missing log: %q", got)
	}
}

func TestBigLogIsPutAside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, nil, privateFile); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, bigLog+1); err != nil {
		t.Fatal(err)
	}
	file, begin, err := openLog(path)
	if err != nil || begin != 0 {
		t.Errorf("a big log goes on at %d, error %v", begin, err)
	}
	_ = file.Close()
}

func TestFindBinary(t *testing.T) { // not parallel: it changes the environment
	dir := t.TempDir()
	path := filepath.Join(dir, binaryName)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, found := sourceRoot()
	if !found {
		t.Fatal("the source tree was not found")
	}
	for _, c := range []struct {
		reason, variable, dir, path string
		want, blamed                string // what is found, or else the path that the error blames
	}{
		{reason: "the environment names it", variable: path, dir: root, want: path},
		{reason: "the environment names nothing", variable: dir + "/none", dir: root, path: dir, blamed: dir + "/none"},
		{reason: "in the source tree", dir: filepath.Join(root, "internal"), want: filepath.Join(root, "bin", binaryName)},
		{reason: "in PATH", dir: dir, path: dir, want: path},
		{reason: "nowhere", dir: dir},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Chdir(c.dir)
			t.Setenv(binaryVariable, c.variable)
			t.Setenv("PATH", c.path)
			got, err := FindBinary()
			if got != c.want {
				t.Errorf("FindBinary() = %q, %v; want %q", got, err, c.want)
			}
			if c.want == "" {
				checkAdvice(t, err, c.blamed)
			}
		})
	}
}

func checkAdvice(t *testing.T, err error, blamed string) {
	t.Helper()
	var missing *BinaryError
	if !errors.As(err, &missing) || missing.Path != blamed || !strings.Contains(err.Error(), "make build") {
		t.Errorf("error %v, want one that blames %q and tells what to run", err, blamed)
	}
}
