package machine_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/localplane/machine"
)

// needsRoot skips a test of what only root may do.
func needsRoot(t *testing.T) {
	t.Helper()
	if err := machine.Ready(); err != nil {
		t.Skipf("the machine cannot be changed: %v", err)
	}
}

func TestUndoingNothingIsNoError(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	for what, undo := range map[string]func() error{
		"a bridge":        func() error { return machine.RemoveBridge("bow-none") },
		"a control group": func() error { return machine.RemoveGroup(t.Context(), "bowline-none", 0) },
		"mounts":          func() error { return machine.Unmount("/none/at/all") },
		"settings":        func() error { return machine.RestoreSettings(filepath.Join(t.TempDir(), "none"), "") },
		"pods":            func() error { return machine.ForgetPods("/none/at/all", "bowline-none") },
	} {
		if err := undo(); err != nil {
			t.Errorf("undoing %s that was never there: %v", what, err)
		}
	}
}

func TestBridge(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	const name = "bow-unittest"
	prefix := netip.MustParsePrefix("198.51.100.1/29")
	t.Cleanup(func() { _ = machine.RemoveBridge(name) })
	for range 2 { // the second time it is there
		if err := machine.AddBridge(name, prefix); err != nil {
			t.Fatal(err)
		}
	}
	found, err := net.InterfaceByName(name)
	if err != nil || found.Flags&net.FlagUp == 0 {
		t.Fatalf("the bridge is not up: %v", err)
	}
	addresses, err := found.Addrs()
	if err != nil || len(addresses) == 0 || addresses[0].String() != prefix.String() {
		t.Errorf("its addresses are %v, want %s: %v", addresses, prefix, err)
	}
	if err := machine.RemoveBridge(name); err != nil {
		t.Fatal(err)
	}
	if _, err := net.InterfaceByName(name); err == nil {
		t.Error("the bridge is still there")
	}
}

func TestGroupEndsWhatIsInIt(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	const name = "bowline-unittest"
	if err := machine.MakeGroup(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = machine.RemoveGroup(t.Context(), name, 0) })
	folder := groupFolder(t, name)
	// One process below the group that does not listen, and one outside of it.
	below := filepath.Join(folder, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	member, outsider := sleeper(t), sleeper(t)
	if err := os.WriteFile(filepath.Join(below, "cgroup.procs"), []byte(member.pid()), 0); err != nil {
		t.Fatal(err)
	}
	if err := machine.RemoveGroup(t.Context(), name, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is still there: %v", err)
	}
	if !member.ended() {
		t.Error("the process in the group lives")
	}
	if outsider.gone() {
		t.Error("a process outside of the group was ended")
	}
}

// groupFolder returns a folder of the group.
func groupFolder(t *testing.T, name string) string {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/" + name, "/sys/fs/cgroup/pids/" + name, "/sys/fs/cgroup/*/" + name} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	t.Fatal("there is no such group")
	return ""
}

// process is a program that does nothing for a long time, and does not end when asked to.
type process struct {
	cmd  *exec.Cmd
	over chan struct{}
}

func sleeper(t *testing.T) *process {
	t.Helper()
	p := &process{cmd: exec.Command("sh", "-c", "trap '' TERM; echo ready; while :; do read -r line; done"), over: make(chan struct{})}
	input, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = output.Read(make([]byte, 16)) // it says that it does not listen any more
	go func() { _ = p.cmd.Wait(); close(p.over) }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.over; _ = input.Close() })
	return p
}

func (p *process) pid() string { return strconv.Itoa(p.cmd.Process.Pid) }

// ended waits until the process has ended; false when it does not.
func (p *process) ended() bool {
	select {
	case <-p.over:
		return true
	case <-time.After(time.Minute):
		return false
	}
}

// gone reports whether the process has ended by now.
func (p *process) gone() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}
