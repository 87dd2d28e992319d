package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
)

const secret = "canary-swordfish"

func value(text string) node.Value { return node.NewValue([]byte(text)) }

func words(texts ...string) []node.Word {
	var list []node.Word
	for _, text := range texts {
		list = append(list, node.Word{Text: text, Value: value(strings.ReplaceAll(text, "$(PW)", secret))})
	}
	return list
}

// full is a plan with something of everything.
func full() *node.Plan {
	return &node.Plan{
		Image: "example.com/app:1", Command: words("/app", "--password=$(PW)"), Args: words("it's"), WorkingDir: "/srv",
		Volumes: []node.Volume{
			{Name: "db", Files: []node.File{
				{Path: "password", Value: value(secret), Mode: 0o640}, {Path: "tls/ca.crt", Value: value(secret), Mode: 0o444},
			}},
			{Name: "tmp", Scratch: true},
		},
		Mounts: []node.Mount{
			{Volume: "db", Path: "/bindings/db"}, {Volume: "tmp", Path: "/tmp/x"},
			{Volume: "db", Path: "/etc/ca.crt", SubPath: "tls/ca.crt"}, {Volume: "db", Path: "/etc/tls", SubPath: "tls"},
		},
		Env: []node.Variable{
			{Name: "SERVICE_BINDING_ROOT", Value: value("/bindings")}, {Name: "PW", Value: value(secret)},
			{Name: "URL", Value: value("pg://?sslrootcert=/bindings/db/tls/ca.crt&x")},
		},
		Security: node.Security{User: new(int64(7)), Group: new(int64(8)), Groups: []int64{9}, ReadOnlyRoot: true, NoNewPrivileges: true,
			Drop: []string{"ALL"}, Add: []string{"NET_BIND_SERVICE"}},
	}
}

func TestRelocate(t *testing.T) {
	t.Parallel()
	r := newRelocator(full(), func(path string) string { return "/private" + path })
	for text, want := range map[string]string{
		"/bindings/db":                         "/private/bindings/db",
		"/bindings/db/password":                "/private/bindings/db/password",
		"/bindings/database":                   "/bindings/database",
		"/bindings":                            "/bindings",
		"x/bindings/db":                        "x/bindings/db",
		"http://host/bindings/db":              "http://host/bindings/db",
		"file:///bindings/db/password":         "file:///private/bindings/db/password",
		"/a:/bindings/db:/b":                   "/a:/private/bindings/db:/b",
		"ca=/etc/ca.crt key='/etc/tls/k'":      "ca=/private/etc/ca.crt key='/private/etc/tls/k'",
		`{"path":"/bindings/db"}`:              `{"path":"/private/bindings/db"}`,
		"pg://?sslrootcert=/bindings/db/ca&x":  "pg://?sslrootcert=/private/bindings/db/ca&x",
		"":                                     "",
		"/bindings/db,/bindings/db/tls":        "/private/bindings/db,/private/bindings/db/tls",
		"/etc/tls.d /etc/tls;/etc/tls-other/x": "/etc/tls.d /private/etc/tls;/etc/tls-other/x",
	} {
		if got := r.text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := r.variable("SERVICE_BINDING_ROOT", "/bindings/"); got != "/private/bindings" {
		t.Errorf("the root becomes %q", got)
	}
	if got := r.variable("SERVICE_BINDING_ROOT", "bindings"); got != "bindings" {
		t.Errorf("a root that is no path becomes %q", got)
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	inherited := []string{"PATH=/bin", "PW=mine", "SERVICE_BINDING_ROOT=/other"}
	got := environ(inherited, full(), nil)
	want := []string{"PATH=/bin", "SERVICE_BINDING_ROOT=/bindings", "PW=" + secret, "URL=pg://?sslrootcert=/bindings/db/tls/ca.crt&x"}
	if diff := cmp.Diff(want, got.list); diff != "" || got.moved != nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
	move := newRelocator(full(), func(path string) string { return "/private" + path })
	if diff := cmp.Diff([]string{"SERVICE_BINDING_ROOT", "URL"}, environ(nil, full(), &move).moved); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PATH=/bin"}, Clean(inherited)); diff != "" {
		t.Errorf("clean (-want +got):\n%s", diff)
	}
	if got := environ(inherited, &node.Plan{}, nil).list; len(got) != 2 {
		t.Errorf("the bindings of another program are inherited: %v", got)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	places := Places{Files: func(path string) string { return "/private" + path }, Variables: "/private/env", Inherited: []string{"CERT"}}
	common := "run --rm --interactive --tty --env-file /private/env -e CERT -v /private/bindings/db:/bindings/db:ro " +
		"-v /private/tmp/x:/tmp/x -v /private/etc/ca.crt:/etc/ca.crt:ro -v /private/etc/tls:/etc/tls:ro " +
		"--user 7:8 --group-add 9 --read-only --security-opt no-new-privileges --cap-drop ALL --cap-add NET_BIND_SERVICE "
	e := Engine{Program: "docker", Terminal: true}
	tests := []struct {
		reason  string
		change  func(*node.Plan)
		command []string
		want    string
	}{
		{"the container's own command", func(*node.Plan) {}, nil,
			"--workdir /srv --entrypoint /app example.com/app:1 '--password=" + secret + "' 'it'\\''s'"},
		{"another command", func(*node.Plan) {}, []string{"sh", "-c", "ls"}, "--entrypoint sh example.com/app:1 -c ls"},
		{"the image's command", func(p *node.Plan) { p.Command, p.Args = nil, nil }, nil, "--workdir /srv example.com/app:1"},
		{"the image's command, other arguments", func(p *node.Plan) { p.Command = nil }, nil, "--workdir /srv example.com/app:1 'it'\\''s'"},
	}
	for _, test := range tests {
		plan := full()
		test.change(plan)
		got := strings.ReplaceAll(Line(e.Arguments(plan, places, test.command)), "--password="+secret, "'--password="+secret+"'")
		if diff := cmp.Diff(common+test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	all := full().Security
	as := sandbox.Security{ReadOnlyRoot: true, NoNewPrivileges: true, Drop: all.Drop, Add: all.Add}
	whole := as
	whole.User, whole.Group, whole.Groups, whole.RunAsNonRoot = all.User, all.Group, all.Groups, true
	user := as
	user.RunAsNonRoot = true
	tests := []struct {
		reason string
		keep   bool
		own    int
		want   sandbox.Security
		said   []string
	}{
		{"root can", false, 0, whole, nil},
		{"root need not", true, 0, as, nil},
		{"others cannot", false, 1000, user, []string{"the program runs as you are, user 1000: to run it as user 7 and its groups takes root"}},
		{"others need not", true, 1000, as, nil},
	}
	for _, test := range tests {
		var said []string
		s := &supervisor{plan: full(), told: map[string]bool{}, request: Request{
			KeepUser: test.keep, Say: func(text string) { said = append(said, text) },
		}}
		s.plan.Security.RunAsNonRoot = true
		if diff := cmp.Diff(test.want, s.security(test.own)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		if diff := cmp.Diff(test.said, said); diff != "" {
			t.Errorf("%s: said (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestEnvFile(t *testing.T) {
	t.Parallel()
	text, err := EnvFile([]node.Variable{{Name: "A", Value: value("b c='d'")}, {Name: "E", Value: value("")}})
	if err != nil || string(text.Reveal()) != "A=b c='d'\nE=\n" {
		t.Errorf("it is %q, %v", text.Reveal(), err)
	}
	_, err = EnvFile([]node.Variable{{Name: "CERT", Value: value("a\n" + secret)}})
	if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), `"CERT"`) {
		t.Errorf("of a variable of several lines it says: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	want := `container app, image example.com/app:1
command   /app '--password=$(PW)' 'it'\''s', in /srv
security  --user 7:8 --group-add 9 --read-only --security-opt no-new-privileges --cap-drop ALL --cap-add NET_BIND_SERVICE
files
  /bindings/db  (volume db, read-only)
    -rw-r-----  password
    -r--r--r--  tls/ca.crt
  /tmp/x  (volume tmp, writable)
  /etc/ca.crt  (volume db, subPath tls/ca.crt, read-only)
    -r--r--r--  .
  /etc/tls  (volume db, subPath tls, read-only)
    -r--r--r--  ca.crt
variables
  SERVICE_BINDING_ROOT
  PW
  URL
`
	if diff := cmp.Diff(want, Describe("app", full())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	for range 2 { // the second time over the first
		if err := Export(dir, full()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bindings/db/password", "bindings/db/tls/ca.crt", "etc/ca.crt", "etc/tls/ca.crt"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != secret {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others can enter: %v, %v", info, err)
	}
	if _, err := os.Readlink(filepath.Join(dir, "bindings", "db", "..data")); err != nil {
		t.Errorf("it is not laid out as the kubelet has it: %v", err)
	}
}

// TestExportedFolders has a container's user, who may be anybody, find what a pod has; but nobody else.
func TestExportedFolders(t *testing.T) {
	t.Parallel()
	for top, want := range map[os.FileMode]os.FileMode{0o700: 0o777, 0o755: 0o700} {
		dir := t.TempDir()
		if err := errors.Join(os.Chmod(dir, top), Export(dir, full())); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"bindings/db", "tmp/x", "etc/tls"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s in a folder of mode %o: %v, %v, want %o", name, top, info.Mode(), err, want)
			}
		}
		if left, err := os.ReadDir(filepath.Join(dir, "tmp", "x")); err != nil || len(left) > 0 {
			t.Errorf("the scratch volume is not empty: %v, %v", left, err)
		}
	}
}

func TestWriteEnvFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "env")
	if err := os.WriteFile(name, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteEnvFile(name, full()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	text, _ := os.ReadFile(name)
	if err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(string(text), "PW="+secret+"\n") {
		t.Errorf("it is %v with %d bytes, %v", info.Mode(), len(text), err)
	}
	if err := WriteEnvFile(name, &node.Plan{Env: []node.Variable{{Name: "A", Value: value("\n")}}}); err == nil {
		t.Error("several lines are written")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
