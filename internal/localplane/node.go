package localplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bowline-dev/bowline/internal/localplane/image"
	"github.com/bowline-dev/bowline/internal/localplane/machine"
)

// NodeName is the name of the node that Config.Node asks for, ShellImage that of an image on it which has sh, test, cat and
// sleep.
const (
	NodeName   = "bowline"
	ShellImage = "localhost/bowline/shell:1"
)

const (
	podGrace    = 3 * time.Second
	clearLimit  = time.Minute
	pauseImage  = "localhost/bowline/pause:1"
	lastSubnet  = 255
	subnetBits  = 24
	identifiers = 4 // bytes of a hash
	nodeDir     = "node"

	// settingsFile keeps the kernel's settings of before. It must not outlive the machine's run, after which they are of no use, and
	// lies where other data directories find it.
	settingsFile  = "settings.json"
	everySettings = "/run/bowline-*/" + settingsFile
)

// NodeError says that this machine cannot be a node, and what would help.
type NodeError struct {
	// Err is why not.
	Err error
	// Hint is what to do about it.
	Hint string
}

func (e *NodeError) Error() string { return fmt.Sprintf("a node cannot run here: %v", e.Err) }

// Unwrap returns why not.
func (e *NodeError) Unwrap() error { return e.Err }

// nodeState is what is remembered of the node between starts.
type nodeState struct {
	// Up says that a start asked for the node and no stop came since.
	Up bool `json:"up"`
	// Proxy says that kube-proxy belongs to the node. It was decided when the node came up.
	Proxy bool `json:"proxy"`
	// Subnet is where pods have their addresses; the node has its first one.
	Subnet netip.Prefix `json:"subnet"`
	// The ports of the node's components, on loopback but for the kubelet's.
	Scheduler    int `json:"scheduler"`
	Kubelet      int `json:"kubelet"`
	ProxyHealth  int `json:"proxyHealth"`
	ProxyMetrics int `json:"proxyMetrics"`
}

// address is the node's own.
func (n *nodeState) address() netip.Addr { return n.Subnet.Masked().Addr().Next() }

// identifier tells the things of this data directory from those of others where they share a name space.
func (p *Plane) identifier() string {
	sum := sha256.Sum256([]byte(p.dir))
	return hex.EncodeToString(sum[:identifiers])
}

func (p *Plane) bridge() string  { return "bow-" + p.identifier() }
func (p *Plane) group() string   { return "bowline-" + p.identifier() }
func (p *Plane) network() string { return p.group() }

// volatile is the folder of what must not outlive the machine's run, and of sockets, whose paths must be short.
func (p *Plane) volatile() string { return filepath.Join("/run", p.group()) }
func (p *Plane) settings() string { return filepath.Join(p.volatile(), settingsFile) }
func (p *Plane) socket() string   { return filepath.Join(p.volatile(), "containerd.sock") }

// node returns a path below the node's part of the data directory.
func (p *Plane) node(elements ...string) string {
	return p.path(append([]string{nodeDir}, elements...)...)
}

// hasNode reports whether there was ever a node.
func (p *Plane) hasNode() bool {
	_, err := os.Stat(p.node())
	return err == nil
}

// nodeReady says whether this machine can be a node, and finds the programs of one.
func nodeReady(cfg Config) (programs string, err error) {
	if cfg.Attached {
		return "", errors.New("a node cannot be attached: its pods outlive any process") // a mistake in a program
	}
	if err := machine.Ready(); err != nil {
		hint := "run it as root, for example with sudo; without --node no root is needed"
		if errors.Is(err, errors.ErrUnsupported) {
			hint = "a node needs Linux"
		}
		return "", &NodeError{Err: err, Hint: hint}
	}
	return findNodePrograms(cfg.Binary)
}

// CheckNode says why this machine cannot be a node, as a *NodeError; nil when it can.
func CheckNode() error {
	_, err := nodeReady(Config{})
	return err
}

// prepareNode changes the machine and writes what the node's components read. Everything that is there already stays.
func (p *Plane) prepareNode() error {
	for _, dir := range []string{p.node("images"), p.node("cni"), p.volatile()} {
		if err := os.MkdirAll(dir, privateDir); err != nil {
			return fmt.Errorf("making the node's folders: %w", err)
		}
	}
	if err := machine.SaveSettings(p.settings(), everySettings); err != nil {
		return fmt.Errorf("preparing the node: %w", err)
	}
	gateway := netip.PrefixFrom(p.state.Node.address(), p.state.Node.Subnet.Bits())
	if err := machine.AddBridge(p.bridge(), gateway); err != nil {
		return fmt.Errorf("preparing the network of the pods: %w", err)
	}
	if err := machine.MakeGroup(p.group()); err != nil {
		return fmt.Errorf("preparing the node: %w", err)
	}
	if err := p.ensureKubeletCertificate(time.Now()); err != nil {
		return fmt.Errorf("making the kubelet's certificate: %w", err)
	}
	return p.writeNodeFiles()
}

// settleNode decides where the node's things are; what runs keeps its place.
func (p *Plane) settleNode(ctx context.Context, place int) error {
	if p.state.Node == nil {
		p.state.Node = &nodeState{}
	}
	n := p.state.Node
	if !n.Up {
		n.Up, n.Proxy = true, canProxy(ctx)
	}
	if err := p.chooseSubnet(); err != nil {
		return err
	}
	for name, list := range map[string][]*int{
		Scheduler: {&n.Scheduler}, Kubelet: {&n.Kubelet}, KubeProxy: {&n.ProxyHealth, &n.ProxyMetrics},
	} {
		if slices.Index(everything(), name) < place {
			continue
		}
		for _, port := range list {
			if err := keepOrChoose(port); err != nil {
				return err
			}
		}
	}
	return nil
}

var errNoSubnet = errors.New("no subnet is free for the pods")

// chooseSubnet keeps the pods' subnet while no other network has addresses in it, and else chooses a free one.
func (p *Plane) chooseSubnet() error {
	taken, err := addresses(p.bridge())
	if err != nil {
		return err
	}
	free := func(s netip.Prefix) bool { return !slices.ContainsFunc(taken, s.Overlaps) }
	if s := p.state.Node.Subnet; s.IsValid() && free(s) {
		return nil
	}
	for i := range lastSubnet {
		s := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(i), 0}), subnetBits)
		if free(s) {
			p.state.Node.Subnet = s
			return nil
		}
	}
	return errNoSubnet
}

// addresses lists the networks of this machine, but for one interface.
func addresses(but string) ([]netip.Prefix, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing the networks of this machine: %w", err)
	}
	var found []netip.Prefix
	for _, i := range interfaces {
		if i.Name == but {
			continue
		}
		list, err := i.Addrs()
		if err != nil {
			continue // it went away
		}
		for _, a := range list {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				found = append(found, prefix)
			}
		}
	}
	return found, nil
}

// clearNode ends the pods and undoes what the node changed in the machine. Its components have been stopped.
func (p *Plane) clearNode(ctx context.Context) error {
	if !p.hasNode() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearLimit) // half a node is worse than a late one
	defer cancel()
	// What watches over containers carries containerd's mark; the containers themselves are in the control group.
	watchers, err := strays(markOf(p.dir, Containerd), record{})
	if err != nil {
		return err
	}
	for _, r := range watchers {
		if err := r.terminate(ctx, 0); err != nil {
			return err
		}
	}
	for _, undo := range []func() error{
		func() error { return machine.RemoveGroup(ctx, p.group(), podGrace) },
		func() error { return p.unproxy(ctx) },
		func() error { return machine.Unmount(p.volatile(), p.node()) },
		func() error { return machine.RemoveBridge(p.bridge()) },
		func() error { return machine.ForgetPods(p.node(logsDir), p.network()) },
		func() error { return machine.RestoreSettings(p.settings(), everySettings) },
		func() error { return os.RemoveAll(p.node("cni", "addresses")) },
		func() error { return os.RemoveAll(p.volatile()) },
	} {
		if err := undo(); err != nil {
			return fmt.Errorf("clearing the node: %w", err)
		}
	}
	if p.state.Node == nil || !p.state.Node.Up {
		return nil
	}
	p.state.Node.Up = false
	return p.writeState()
}

// Load makes an image of static programs and gives it to the node, so that pods can name it at once. Their
// imagePullPolicy MUST NOT be Always.
func (p *Plane) Load(ctx context.Context, i image.Image) error {
	programs, err := findNodePrograms("")
	if err != nil {
		return err
	}
	return p.load(ctx, programs, i)
}

func (p *Plane) load(ctx context.Context, programs string, i image.Image) error {
	archive, err := os.CreateTemp(p.node("images"), "*.tar")
	if err != nil {
		return fmt.Errorf("making an archive for image %q: %w", i.Name, err)
	}
	defer func() { _ = os.Remove(archive.Name()) }()
	err = image.Write(archive, i)
	if closing := archive.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("making an archive: %w", err)
	}
	return p.importImage(ctx, programs, archive.Name())
}
