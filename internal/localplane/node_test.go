package localplane

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// planeOf is a plane with a node whose pods have this subnet. It was never started.
func planeOf(t *testing.T, subnet string) *Plane {
	t.Helper()
	p := &Plane{dir: t.TempDir(), state: state{Node: &nodeState{Subnet: netip.MustParsePrefix(subnet)}}}
	if _, err := ensurePKI(p.path("pki"), time.Now()); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestKubeletCertificateFollowsTheAddress(t *testing.T) {
	t.Parallel()
	p := planeOf(t, "10.244.3.0/24")
	for _, c := range []struct {
		reason, subnet string
		renewed        bool
	}{
		{"there is none yet", "10.244.3.0/24", true},
		{"it is still good", "10.244.3.0/24", false},
		{"the node has another address", "10.244.4.0/24", true},
	} {
		p.state.Node.Subnet = netip.MustParsePrefix(c.subnet)
		before, _ := os.ReadFile(p.cert(certKubeletServer))
		if err := p.ensureKubeletCertificate(time.Now()); err != nil {
			t.Fatal(err)
		}
		id, err := readIdentity(p.path("pki"), certKubeletServer)
		if err != nil {
			t.Fatal(err)
		}
		if err := id.cert.VerifyHostname(p.state.Node.address().String()); err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		after, err := os.ReadFile(p.cert(certKubeletServer))
		if renewed := string(before) != string(after); err != nil || renewed != c.renewed {
			t.Errorf("%s: renewed %v, want %v: %v", c.reason, renewed, c.renewed, err)
		}
	}
}

func TestChooseSubnet(t *testing.T) {
	t.Parallel()
	p := planeOf(t, "10.244.7.0/24")
	if err := p.chooseSubnet(); err != nil || p.state.Node.Subnet.String() != "10.244.7.0/24" {
		t.Errorf("a free subnet became %v: %v", p.state.Node.Subnet, err)
	}
	p.state.Node.Subnet = netip.MustParsePrefix("127.0.0.0/24") // where this machine itself has an address
	if err := p.chooseSubnet(); err != nil || p.state.Node.Subnet.Addr().IsLoopback() {
		t.Errorf("a taken subnet became %v: %v", p.state.Node.Subnet, err)
	}
}

func TestFirstDownOfANode(t *testing.T) {
	t.Parallel()
	p := planeOf(t, "10.244.3.0/24")
	for _, dir := range []string{"run", nodeDir} {
		if err := os.MkdirAll(p.path(dir), privateDir); err != nil {
			t.Fatal(err)
		}
	}
	running, ok := identify(os.Getpid(), time.Now())
	if !ok {
		t.Fatal("this process cannot be identified")
	}
	everyone := func(but string) {
		for _, name := range everything() {
			r := running
			if name == but {
				r = record{}
			}
			if err := r.write(p.recordPath(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole, bare := Config{Node: true, ControllerManager: true}, Config{ControllerManager: true}
	for _, c := range []struct {
		reason, down string
		cfg          Config
		want         int
	}{
		{"everything runs", "", whole, 7},
		{"the storage is down, and so is all else", Etcd, whole, 0},
		{"the kubelet needs containerd", Containerd, whole, 4},
		{"the kubelet alone", Kubelet, whole, 5},
		{"nobody asks for the kubelet", Kubelet, bare, 7},
	} {
		everyone(c.down)
		if got := p.firstDown(c.cfg); got != c.want {
			t.Errorf("%s: firstDown = %d, want %d", c.reason, got, c.want)
		}
	}
}

func TestNodeProgramsAreFoundOrAsked(t *testing.T) {
	t.Setenv(nodeVariable, t.TempDir())
	_, err := findNodePrograms("")
	var impossible *NodeError
	if !errors.As(err, &impossible) || !strings.Contains(impossible.Hint, "make node") || !strings.Contains(err.Error(), containerdProgram) {
		t.Errorf("an empty folder: %v", err)
	}
	dir := os.Getenv(nodeVariable)
	for _, name := range nodePrograms() {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), privateDir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := findNodePrograms(""); err != nil || found != dir {
		t.Errorf("findNodePrograms = %q, %v; want %q", found, err, dir)
	}
}

func TestANodeIsNotAttached(t *testing.T) {
	t.Parallel()
	if _, err := (Config{Node: true, Attached: true}).withNode(); err == nil {
		t.Error("pods would outlive what they are attached to")
	}
}
