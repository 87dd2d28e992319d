package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/node/sandbox"
)

const showStatus = `id -u; id -g; id -G; awk '/^(Cap|NoNewPrivs)/ {print $1 $2}' /proc/self/status`

func TestCredentials(t *testing.T) {
	needRoot(t)
	t.Parallel()
	const noCaps = "0000000000000000"
	for reason, test := range map[string]struct {
		security sandbox.Security
		want     []string // lines that are there
	}{
		"another user": {
			sandbox.Security{User: new(int64(4242)), Group: new(int64(4343)), Groups: []int64{4444, 4545}},
			[]string{"4242", "4343", "4343 4444 4545", "CapEff:" + noCaps, "CapPrm:" + noCaps, "CapInh:" + noCaps, "CapAmb:" + noCaps, "NoNewPrivs:0"},
		},
		"a user without a group, not of this machine": {
			sandbox.Security{User: new(int64(4242))}, []string{"4242", "4242"},
		},
		"no capabilities": {
			sandbox.Security{Drop: []string{"ALL"}, NoNewPrivileges: true},
			[]string{"0", "CapEff:" + noCaps, "CapPrm:" + noCaps, "CapBnd:" + noCaps, "NoNewPrivs:1"},
		},
		"one capability": {
			sandbox.Security{Drop: []string{"all"}, Add: []string{"cap_net_bind_service"}},
			[]string{"0", "CapEff:0000000000000400", "CapPrm:0000000000000400", "CapBnd:0000000000000400", "NoNewPrivs:0"},
		},
		"one capability and no new ones": {
			sandbox.Security{Drop: []string{"ALL"}, Add: []string{"NET_BIND_SERVICE"}, NoNewPrivileges: true},
			[]string{"0", "CapEff:0000000000000400", "CapPrm:0000000000000400", "NoNewPrivs:1"},
		},
		"another user, whose set-user-ID programs gain nothing": {
			sandbox.Security{User: new(int64(4242)), Drop: []string{"ALL"}},
			[]string{"4242", "CapEff:" + noCaps, "CapBnd:" + noCaps},
		},
	} {
		for _, policy := range []sandbox.Policy{sandbox.Auto, sandbox.Never} {
			t.Run(fmt.Sprint(reason, policy), func(t *testing.T) {
				t.Parallel()
				spec := dbSpec("sh", "-c", showStatus)
				spec.Security, spec.Namespace, spec.Dir = test.security, policy, "/"
				out, _ := run(t, spec, nil)
				for _, line := range test.want {
					if !strings.Contains("\n"+out+"\n", "\n"+line+"\n") {
						t.Errorf("no line %q in\n%s", line, out)
					}
				}
			})
		}
	}
}

func TestOthersFilesAreOutOfReach(t *testing.T) {
	t.Parallel()
	first, second := sandbox.Security{}, sandbox.Security{}
	if os.Geteuid() == 0 {
		first.User, second.User = new(int64(4242)), new(int64(4343))
	}
	victim := dbSpec("sleep", "600")
	victim.Security, victim.Dir = first, "/"
	victim.Volumes[0].UID, victim.Volumes[0].Mode = 4242, 0o755
	a := build(t, victim, map[string]string{"db/password": "hunter2\n"})
	needNamespace(t, a)
	if err := a.Start(os.Environ()); err != nil {
		t.Fatal(err)
	}
	thief := dbSpec("sh", "-c", `cat /proc/$0/root/bindings/db/password /bindings/db/password /proc/$0/environ`,
		strconv.Itoa(a.PID()))
	thief.Security, thief.Dir = second, "/"
	out, exit := run(t, thief, nil)
	if strings.Contains(out, "hunter2") || strings.Contains(out, "PATH=") || exit.Code == 0 {
		t.Errorf("the other program saw %s", out)
	}
}

func TestOthersPrivateFolders(t *testing.T) {
	needRoot(t)
	t.Parallel()
	owner := dbSpec("sh", "-c", `cat "$0/password"; touch "$0/x"`)
	owner.Namespace, owner.Security, owner.Dir = sandbox.Never, sandbox.Security{User: new(int64(4242))}, "/"
	owner.Storage.Dir = memory(t)
	out := output(t)
	owner.Stdout = out
	owner.Command[2] = `cat "$DB/password"`
	a := build(t, owner, map[string]string{"db/password": "hunter2\n"})
	if err := a.Start(append(os.Environ(), "DB="+a.Seen("/bindings/db"))); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(); err != nil || content(t, out) != "hunter2" {
		t.Errorf("its owner saw %q, %v", content(t, out), err)
	}
	thief := dbSpec("cat", a.Seen("/bindings/db/password"))
	thief.Namespace, thief.Security, thief.Dir = sandbox.Never, sandbox.Security{User: new(int64(4343))}, "/"
	if out, exit := run(t, thief, nil); strings.Contains(out, "hunter2") || exit.Code == 0 {
		t.Errorf("the other program saw %s", out)
	}
}

func TestUserNamespaceLeavesNoPrivileges(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("TestUnprivileged runs it as another user")
	}
	t.Parallel()
	for _, drop := range [][]string{nil, {"ALL"}} {
		for _, policy := range []sandbox.Policy{sandbox.Auto, sandbox.Never} {
			spec := dbSpec("sh", "-c", showStatus)
			spec.Security.Drop, spec.Namespace = drop, policy
			out, _ := run(t, spec, nil)
			const noCaps = "0000000000000000"
			for _, want := range []string{strconv.Itoa(os.Getuid()), "CapEff:" + noCaps, "CapPrm:" + noCaps, "CapInh:" + noCaps, "CapAmb:" + noCaps} {
				if !strings.Contains("\n"+out+"\n", "\n"+want+"\n") {
					t.Errorf("no line %q in\n%s", want, out)
				}
			}
			if bounded := strings.Contains(out, "CapBnd:"+noCaps) || strings.Contains(out, "NoNewPrivs:1"); drop != nil && !bounded {
				t.Errorf("set-user-ID programs may gain capabilities: %s", out)
			}
		}
	}
}

// TestMirrorsAreNoWayIn looks for what a user could write to in a mirror, but not in the folder that it shows.
func TestMirrorsAreNoWayIn(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("TestUnprivileged runs it as another user")
	}
	t.Parallel()
	if out, _ := run(t, dbSpec("sh", "-c", "mkdir /bowline-x && echo made"), nil); strings.Contains(out, "made") {
		t.Error("the user can write to the root")
	}
	here := t.TempDir()
	spec := dbSpec("sh", "-c", `mkdir "$0/x" && echo made`, here)
	spec.Mounts[0].Path = here + "/new"
	if out, _ := run(t, spec, nil); !strings.Contains(out, "made") {
		t.Errorf("the user cannot write to an own folder: %s", out)
	}
}

func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		for _, security := range []sandbox.Security{{User: new(int64(0))}, {Group: new(int64(4343))}} {
			spec := dbSpec("true")
			spec.Security = security
			_, err := sandbox.New(t.Context(), spec)
			if other := (*sandbox.CannotBecomeError)(nil); !errors.As(err, &other) {
				t.Errorf("got %v", err)
			}
		}
		spec := dbSpec("true")
		spec.Security.Groups = []int64{int64(os.Getgid()), 4343}
		if s := build(t, spec, nil); len(s.Unmet()) != 1 {
			t.Errorf("unmet: %q, want the group", s.Unmet())
		}
		return
	}
	spec := dbSpec("true")
	spec.Security.RunAsNonRoot = true
	_, err := sandbox.New(t.Context(), spec)
	if root := (*sandbox.RootError)(nil); !errors.As(err, &root) {
		t.Errorf("got %v", err)
	}
	spec.Security.User = new(int64(4242))
	s := build(t, spec, nil)
	if diff := cmp.Diff([]string(nil), s.Unmet()); diff != "" {
		t.Error(diff)
	}
}
