package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCredentialsFor(t *testing.T) {
	t.Parallel()
	const bind, chown = capabilitySet(1 << 10), capabilitySet(1)
	passwd := func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("root:x:0:0::/:\nbroken\nann:x:1000:100::/:\nodd:x:1001:none::/:\n")), nil
	}
	root := identity{uid: 0, gid: 0, capabilities: bind | chown, passwd: passwd}
	ann := identity{uid: 1000, gid: 100, groups: []int{100, 27}, passwd: passwd}
	for _, test := range []struct {
		reason string
		own    identity
		wanted Security
		want   credentials
		unmet  int
	}{
		{"nothing asked for, all stays", root, Security{}, credentials{}, 0},
		{"a user's group is the machine's", root, Security{User: new(int64(1000))}, credentials{Become: true, UID: 1000, GID: 100}, 0},
		{"a user without a group gets its own", root, Security{User: new(int64(7))}, credentials{Become: true, UID: 7, GID: 7}, 0},
		{"an unreadable group is none", root, Security{User: new(int64(1001))}, credentials{Become: true, UID: 1001, GID: 1001}, 0},
		{"a group alone", root, Security{Group: new(int64(7))}, credentials{Become: true, GID: 7}, 0},
		{"groups alone", root, Security{Groups: []int64{7}}, credentials{Become: true, Groups: []int{7}}, 0},
		{"dropping all", root, Security{Drop: []string{"ALL"}}, credentials{Bound: true}, 0},
		{
			"adding what is there", root, Security{Drop: []string{"ALL"}, Add: []string{"NET_BIND_SERVICE"}},
			credentials{Bound: true, Keep: bind}, 0,
		},
		{
			"adding what is not there", root, Security{Drop: []string{"CHOWN"}, Add: []string{"SYS_TIME"}},
			credentials{Bound: true, Keep: bind}, 1,
		},
		{"adding all is adding what is there", root, Security{Add: []string{"all"}}, credentials{Keep: bind | chown}, 0},
		{"one's own ids", ann, Security{User: new(int64(1000)), Group: new(int64(100))}, credentials{UID: 1000, GID: 100}, 0},
		{"groups that one is in, and not", ann, Security{Groups: []int64{27, 28}}, credentials{UID: 1000, GID: 100}, 1},
	} {
		got, unmet, err := credentialsFor(test.wanted, test.own)
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || len(unmet) != test.unmet {
			t.Errorf("%s: %s, unmet: %q", test.reason, diff, unmet)
		}
	}
	if gid := primaryGroup(5, func() (io.ReadCloser, error) { return nil, fs.ErrNotExist }); gid != 5 {
		t.Errorf("without a list of users: got group %d", gid)
	}
}

func TestRefusedCredentialsSayWhatToDo(t *testing.T) {
	t.Parallel()
	_, _, err := credentialsFor(Security{Group: new(int64(5))}, identity{uid: 1000, gid: 100})
	other := (*CannotBecomeError)(nil)
	if !errors.As(err, &other) {
		t.Fatalf("got %v", err)
	}
	want := []string{
		"the program is to run as group 5, and only root can give it another group than 100",
		"run it as root (sudo), or set runAsGroup to 100 or not at all",
	}
	if diff := cmp.Diff(want, []string{other.Error(), other.Hint()}); diff != "" {
		t.Error(diff)
	}
}

func TestMountsAreSorted(t *testing.T) {
	t.Parallel()
	spec, err := Spec{
		Command: []string{"true"}, Volumes: []Volume{{Name: "v"}},
		Mounts: []Mount{{Volume: "v", Path: "/a/b/"}, {Volume: "v", Path: "a", SubPath: "x//y/"}, {Volume: "v", Path: "/c/./d"}},
	}.tidy()
	if err != nil {
		t.Fatal(err)
	}
	want := []Mount{{Volume: "v", Path: "/a", SubPath: "x/y"}, {Volume: "v", Path: "/a/b"}, {Volume: "v", Path: "/c/d"}}
	if diff := cmp.Diff(want, spec.Mounts); diff != "" {
		t.Error(diff)
	}
}

func TestCapabilityNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]capabilitySet{
		"CHOWN": 1, "cap_chown": 1, "CAP_NET_BIND_SERVICE": 1 << 10, "SYS_ADMIN": 1 << 21, "CHECKPOINT_RESTORE": 1 << 40,
		"all": ^capabilitySet(0), "none": 0, "": 0,
	} {
		if got := capabilityNamed(name); got != want {
			t.Errorf("%q is %#x, want %#x", name, got, want)
		}
	}
	if names := (capabilitySet(1 | 1<<21)).names(); !slices.Equal(names, []string{"CHOWN", "SYS_ADMIN"}) {
		t.Errorf("got %q", names)
	}
}
