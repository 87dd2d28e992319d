package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/node/sandbox"
	"github.com/bowline-dev/bowline/internal/node/storage"
)

// TestUnprivileged runs the other tests again as a user without any privilege. Those that need root skip there.
func TestUnprivileged(t *testing.T) {
	needRoot(t)
	home, err := os.MkdirTemp("", "bowline-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("/proc/self/exe", "-test.v")
	command.Dir = home
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := command.CombinedOutput()
	t.Log(string(out))
	if err != nil {
		t.Fatal(err)
	}
}

func TestMountPoints(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	for _, path := range []string{here + "/there", here + "/taken"} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(here+"/file", []byte("the machine's\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("there", here+"/link"); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"at the root":              "/bindings",
		"below the root":           "/bowline-test/deep/er",
		"on a folder":              here + "/there",
		"in a folder":              here + "/new",
		"in a folder, deeper":      here + "/taken/new/er",
		"through a link":           here + "/link",
		"below a link":             here + "/link/new",
		"in a system folder":       "/usr/share/bowline-test/x",
		"where Kubernetes does it": "/var/run/secrets/bowline.test/serviceaccount",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := listing(t, "/", here, here+"/there", here+"/taken", "/usr/share")
			spec := dbSpec("sh", "-c", `cat "$0/password"; touch "$0/x" 2>/dev/null && echo writable; cat "$1/file"; ls -a / | tr '\n' ' '`,
				path, here)
			spec.Mounts[0].Path = path
			out, _ := run(t, spec, map[string]string{"db/password": "hunter2\n"})
			if want := "hunter2\nthe machine's\n"; !strings.HasPrefix(out, want) {
				t.Errorf("the program saw %q, want %q", out, want)
			}
			if missing := missingFrom(out, before[0]); len(missing) > 0 {
				t.Errorf("at the root, the program did not see %q", missing)
			}
			if diff := cmp.Diff(before, listing(t, "/", here, here+"/there", here+"/taken", "/usr/share")); diff != "" {
				t.Errorf("the machine has changed: %s", diff)
			}
		})
	}
}

func missingFrom(out, entries string) []string {
	var missing []string
	for entry := range strings.FieldsSeq(entries) {
		if !strings.Contains(out+" ", entry+" ") {
			missing = append(missing, entry)
		}
	}
	return missing
}

func listing(t *testing.T, folders ...string) []string {
	t.Helper()
	var all []string
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		all = append(all, strings.Join(names, " "))
	}
	return all
}

func TestParts(t *testing.T) {
	t.Parallel()
	spec := sandbox.Spec{
		Command: []string{"sh", "-c", "cat /b/one /b/pw; ls -A /b/none; cat /b/all/nested/key; cat /again/password"},
		Volumes: []sandbox.Volume{{Name: "db"}, {Name: "tls"}},
		Mounts: []sandbox.Mount{
			{Volume: "db", SubPath: "password", Path: "/b/pw"},
			{Volume: "db", SubPath: "deep/er/one", Path: "/b/one"},
			{Volume: "db", SubPath: "none/at/all", Path: "/b/none"},
			{Volume: "tls", Path: "/b/all/nested"},
			{Volume: "db", Path: "/b/all"},
			{Volume: "db", Path: "again"},
		},
	}
	out := output(t)
	spec.Stdout, spec.Stderr = out, out
	s := build(t, spec, map[string]string{"db/..2026/password": "hunter2\n", "db/deep/er/one": "1\n", "tls/key": "k\n"})
	needNamespace(t, s)
	for link, target := range map[string]string{"..data": "..2026", "password": "..data/password"} {
		if err := s.Volume("db").Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Start(os.Environ()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("1\nhunter2\nk\nhunter2", content(t, out)); diff != "" {
		t.Error(diff)
	}
}

func TestLinksStayInTheVolume(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("not for the program\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := dbSpec("cat", "/b")
	spec.Mounts = []sandbox.Mount{{Volume: "db", SubPath: "link", Path: "/b"}}
	out := output(t)
	spec.Stdout, spec.Stderr = out, out
	s := build(t, spec, nil)
	needNamespace(t, s)
	if err := s.Volume("db").Symlink(outside, "link"); err != nil {
		t.Fatal(err)
	}
	err := s.Start(os.Environ())
	if stage := (*sandbox.StageError)(nil); !errors.As(err, &stage) {
		t.Errorf("got %v, want an error of the second stage", err)
	}
}

func TestRotationReachesTheProgram(t *testing.T) {
	t.Parallel()
	for _, policy := range []sandbox.Policy{sandbox.Auto, sandbox.Never} {
		out := output(t)
		spec := dbSpec("sh", "-c", `echo ready; until grep -q new "$DB/password"; do sleep 0.01; done`)
		spec.Namespace, spec.Stdout, spec.Stderr = policy, out, out
		s := build(t, spec, map[string]string{"db/password": "old\n"})
		if err := s.Start(append(os.Environ(), "DB="+s.Seen("/bindings/db"))); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the program", func() bool { return strings.Contains(content(t, out), "ready") })
		if err := s.Volume("db").WriteFile("next", []byte("new\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.Volume("db").Rename("next", "password"); err != nil {
			t.Fatal(err)
		}
		if exit, err := s.Wait(); err != nil || exit.Code != 0 {
			t.Errorf("got %v, %v", exit, err)
		}
	}
}

func TestScratch(t *testing.T) {
	t.Parallel()
	spec := sandbox.Spec{
		Command: []string{"sh", "-c", `echo x > /scratch/a && cat /scratch/a; stat -c %a /scratch
			echo x > /look/b || echo refused
			head -c 2000000 /dev/zero > /scratch/big || echo full`},
		Volumes: []sandbox.Volume{{Name: "s", Scratch: true, Limit: 1 << 20, Mode: 0o777}},
		Mounts:  []sandbox.Mount{{Volume: "s", Path: "/scratch"}, {Volume: "s", Path: "/look", ReadOnly: true}},
	}
	out, _ := run(t, spec, nil)
	for _, want := range []string{"x\n777\n", "refused", "full"} {
		if !strings.Contains(out, want) {
			t.Errorf("got %q, want %q in it", out, want)
		}
	}
}

func TestReadOnlyRoot(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	spec := dbSpec("sh", "-c", `for f in "$0/x" /tmp/bowline-x /bindings/x /bindings/db/x; do
			touch "$f" 2>/dev/null && echo "wrote $f"; done
		echo x > /dev/null && echo sh > /proc/$$/comm && echo x > /scratch/x && cat /bindings/db/password /proc/self/comm && echo done`, here)
	spec.Volumes = append(spec.Volumes, sandbox.Volume{Name: "s", Scratch: true})
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Volume: "s", Path: "/scratch"})
	spec.Security.ReadOnlyRoot = true
	out, _ := run(t, spec, map[string]string{"db/password": "hunter2\n"})
	if want := "hunter2\ncat\ndone"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestNothingOfTheProgramShowsBefore(t *testing.T) {
	t.Parallel()
	s := build(t, dbSpec("sh", "-c", "echo s3cret-argument"), nil)
	for _, name := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.PID(), name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "s3cret") || name == "environ" && len(text) > 0 {
			t.Errorf("%s of the second stage is %q", name, text)
		}
	}
}

func TestPrivateFolder(t *testing.T) {
	t.Parallel()
	spec := sandbox.Spec{
		Command: []string{"sh", "-c", `cat "$A/password" "$B" "$C/password"; ls "$ROOT"; ls -A "$D"`},
		Volumes: []sandbox.Volume{{Name: "db"}, {Name: "unused"}},
		Mounts: []sandbox.Mount{
			{Volume: "db", Path: "/bindings/db"},
			{Volume: "db", Path: "/again"},
			{Volume: "db", Path: "/one", SubPath: "password"},
			{Volume: "db", Path: "/none", SubPath: "none"},
		},
		Namespace: sandbox.Never,
		Security:  sandbox.Security{ReadOnlyRoot: true},
	}
	out := output(t)
	spec.Stdout, spec.Stderr = out, out
	s := build(t, spec, map[string]string{"db/password": "hunter2\n", "unused/x": ""})
	if is, reason := s.Isolated(); is || reason == "" {
		t.Errorf("it is isolated: %v, %q", is, reason)
	}
	if len(s.Unmet()) != 1 {
		t.Errorf("unmet: %q, want the read-only root", s.Unmet())
	}
	env := append(os.Environ(), "A="+s.Seen("/bindings/db"), "B="+s.Seen("/one"), "C="+s.Seen("/again"), "ROOT="+s.Seen("/bindings"), "D="+s.Seen("/none"))
	if err := s.Start(env); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("hunter2\nhunter2\nhunter2\ndb", content(t, out)); diff != "" {
		t.Error(diff)
	}
}

func TestPathsInThePrivateFolder(t *testing.T) {
	t.Parallel()
	spec := dbSpec("true")
	spec.Namespace = sandbox.Never
	s := build(t, spec, nil)
	for path, want := range map[string]bool{"/bindings/db/x": true, "/bindings/db": true, "/bindings": false, "/bindings/dbx": false, "/": false} {
		if s.Inside(path) != want {
			t.Errorf("%s is inside: %v", path, !want)
		}
	}
	for _, path := range []string{"/", "/usr/bin", "/bindings/dbx", "relative"} {
		if s.Seen(path) != path {
			t.Errorf("%s is seen at %s", path, s.Seen(path))
		}
	}
	folder := filepath.Dir(filepath.Dir(s.Seen("/bindings")))
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the private folder is %v, %v", info, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the private folder is still there: %v", err)
	}
}

func TestBadSpecs(t *testing.T) {
	t.Parallel()
	mount := func(m sandbox.Mount) func(*sandbox.Spec) {
		return func(s *sandbox.Spec) { s.Mounts = []sandbox.Mount{m} }
	}
	for reason, change := range map[string]func(*sandbox.Spec){
		"no program":      func(s *sandbox.Spec) { s.Command = nil },
		"two volumes":     func(s *sandbox.Spec) { s.Volumes = append(s.Volumes, s.Volumes...) },
		"a path as name":  func(s *sandbox.Spec) { s.Volumes = append(s.Volumes, sandbox.Volume{Name: "../x"}) },
		"too many":        func(s *sandbox.Spec) { s.Volumes = slices.Repeat(s.Volumes, 251) },
		"two mounts":      func(s *sandbox.Spec) { s.Mounts = append(s.Mounts, s.Mounts...) },
		"no such volume":  mount(sandbox.Mount{Volume: "x", Path: "/x"}),
		"the root":        mount(sandbox.Mount{Volume: "db", Path: "/x/.."}),
		"out of a volume": mount(sandbox.Mount{Volume: "db", Path: "/x", SubPath: "a/../../b"}),
		"absolute part":   mount(sandbox.Mount{Volume: "db", Path: "/x", SubPath: "/etc"}),
		"capability":      func(s *sandbox.Spec) { s.Security.Drop = []string{"FLYING"} },
		"negative user":   func(s *sandbox.Spec) { s.Security.User = new(int64(-1)) },
	} {
		spec, place := dbSpec("true"), memory(t)
		spec.Storage.Dir = place
		change(&spec)
		_, err := sandbox.New(t.Context(), spec)
		if bad := (*sandbox.SpecError)(nil); !errors.As(err, &bad) {
			t.Errorf("%s: got %v", reason, err)
		}
		if found := left(t, place); len(found) > 0 {
			t.Errorf("%s: left behind %q", reason, found)
		}
	}
}

func TestOverTheBudgetNothingIsMade(t *testing.T) {
	t.Parallel()
	spec, place := dbSpec("true"), memory(t)
	spec.Storage = storage.Options{Dir: place, Limit: 1 << 10}
	spec.Reserve = 2 << 10
	_, err := sandbox.New(t.Context(), spec)
	over := (*storage.BudgetError)(nil)
	if !errors.As(err, &over) || over.Wanted != 2<<10 || over.Limit != 1<<10 {
		t.Errorf("got %v", err)
	}
	if found := left(t, place); len(found) > 0 {
		t.Errorf("left behind %q", found)
	}
}
