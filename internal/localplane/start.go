package localplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	defaultTimeout = 3 * time.Minute
	startAttempts  = 3
)

// Config says what control plane to start, and where.
type Config struct {
	// Dir is the data directory; it is made when missing. Required.
	Dir string
	// Binary is the path of bowline-controlplane; empty takes what FindBinary finds.
	Binary string
	// Port is the API server's port; zero keeps the last one used while it is free, and else chooses a free one.
	Port int
	// ControllerManager asks for kube-controller-manager too. One that runs already is left running either way.
	ControllerManager bool
	// Node asks for a node too, on which pods run: kube-scheduler, containerd, kubelet and, where the machine has iptables,
	// kube-proxy. It implies ControllerManager, needs root, and MUST NOT be combined with Attached. A node that runs already,
	// or was killed, is brought back either way.
	Node bool
	// Ephemeral trades the safety of the data for speed: etcd does not wait for the disk, and Stop kills.
	Ephemeral bool
	// Attached kills the components when this process ends, however it ends.
	Attached bool
	// AuditLog makes the API server log every request, without bodies, to the path Plane.AuditLog returns.
	AuditLog bool
	// ExtraAPIServerArgs follow the API server's own arguments and so override them.
	ExtraAPIServerArgs []string
	// Timeout limits a whole start; zero means three minutes.
	Timeout time.Duration
	// Progress is called with each step, in words for people; nil calls nothing.
	Progress func(step string)

	// programs is the folder of the node's programs; empty without a node.
	programs string
}

// ComponentError says that a component did not come up.
type ComponentError struct {
	// Component is its name.
	Component string
	// Log is the path of its log, Tail the last lines of it.
	Log  string
	Tail []string
	// Err is what happened.
	Err error
	// found says that it ran already and was about to end, as after a stop that was killed on its way.
	found bool
}

func (e *ComponentError) Error() string {
	text := fmt.Sprintf("starting %s: %v: see its log %s", e.Component, e.Err, e.Log)
	if len(e.Tail) == 0 {
		return text
	}
	return text + ", which ends with:\n  " + strings.Join(e.Tail, "\n  ")
}

// Unwrap returns what happened.
func (e *ComponentError) Unwrap() error { return e.Err }

// lostPort reports whether somebody took a port between its choice and its use.
func (e *ComponentError) lostPort() bool {
	return slices.ContainsFunc(e.Tail, func(line string) bool { return strings.Contains(line, "address already in use") })
}

// errEnded is a component that ended by itself.
var errEnded = errors.New("it ended by itself")

// Start returns the control plane in the data directory, ready for use. It finds one that runs already, starts what
// is missing of it, and waits for another Start or Stop in the same directory to finish first. When ctx ends before
// the control plane is ready, or a component does not come up, whatever this call started is stopped again.
//
// Errors that callers may tell apart: *BinaryError, *PortError, *ComponentError.
func Start(ctx context.Context, cfg Config) (*Plane, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	p := &Plane{dir: cfg.Dir}
	unlock, err := lock(ctx, p.path(lockFile))
	if err != nil {
		return nil, err
	}
	defer unlock()
	for attempt := 1; ; attempt++ {
		err = p.start(ctx, cfg)
		if err == nil {
			return p, nil
		}
		var failed *ComponentError
		if attempt == startAttempts || !errors.As(err, &failed) {
			return nil, err
		}
		switch {
		case failed.found:
			cfg.Progress(failed.Component + " was about to end: starting it again")
		case failed.lostPort():
			cfg.Progress("a port was taken by another program: choosing again")
		default:
			return nil, err
		}
	}
}

// complete checks the configuration, fills in what was left open and makes the data directory.
func (cfg Config) complete() (Config, error) {
	if err := supported(); err != nil {
		return cfg, err
	}
	if cfg.Dir == "" {
		return cfg, errors.New("no data directory given") //nolint:err113 // a mistake in a program, not a condition
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	var err error
	if cfg.Binary == "" {
		cfg.Binary, err = FindBinary()
	} else {
		cfg.Binary, err = checkBinary(cfg.Binary)
	}
	if err != nil {
		return cfg, err
	}
	if cfg.Node {
		if cfg, err = cfg.withNode(); err != nil {
			return cfg, err
		}
	}
	if err := os.MkdirAll(cfg.Dir, privateDir); err != nil {
		return cfg, fmt.Errorf("making the data directory: %w", err)
	}
	cfg.Dir, err = canonical(cfg.Dir)
	return cfg, err
}

// withNode finds what a node needs.
func (cfg Config) withNode() (Config, error) {
	programs, err := nodeReady(cfg)
	cfg.Node, cfg.ControllerManager, cfg.programs = true, true, programs
	return cfg, err
}

// start brings everything up once; the caller holds the lock.
func (p *Plane) start(ctx context.Context, cfg Config) error {
	cfg, err := p.prepare(ctx, cfg)
	if err != nil {
		return err
	}
	probe, err := p.newProber()
	if err != nil {
		return fmt.Errorf("preparing to watch the components: %w", err)
	}
	p.launcher = newLauncher(cfg.Attached)
	var started []string
	for _, c := range p.components(cfg, probe) {
		began := time.Now()
		fresh, err := p.bringUp(ctx, cfg, c)
		if fresh {
			started = append(started, c.name)
		}
		if err != nil {
			return errors.Join(err, p.undo(ctx, started))
		}
		if fresh {
			cfg.Progress(fmt.Sprintf("%s is ready (%s)", c.name, time.Since(began).Round(10*time.Millisecond)))
		}
	}
	return nil
}

// undo stops the components that a failed start started, after its time has run out.
func (p *Plane) undo(ctx context.Context, started []string) error {
	slices.Reverse(started)
	var all []error
	for _, name := range started {
		all = append(all, p.stopComponent(context.WithoutCancel(ctx), name))
	}
	p.launcher.close()
	p.launcher = nil
	return errors.Join(all...)
}

// prepare settles all that components need before they start, and stops those that run on what is no longer so. It
// returns the configuration with what was asked for earlier and is to go on.
func (p *Plane) prepare(ctx context.Context, cfg Config) (Config, error) {
	renewed, err := p.recall()
	if err != nil {
		return cfg, err
	}
	if cfg, err = p.keepNode(cfg); err != nil {
		return cfg, err
	}
	place := p.firstDown(cfg)
	if renewed {
		place = 0
	}
	if err := p.contradiction(place, cfg.Port); err != nil {
		return cfg, err
	}
	// What depends on a component that is down starts again with it: it may come back elsewhere.
	if err := p.stopFrom(ctx, place); err != nil {
		return cfg, err
	}
	if err := p.choosePorts(place, cfg.Port); err != nil {
		return cfg, err
	}
	if place == 0 {
		p.state.Ephemeral = cfg.Ephemeral // what runs already goes on as it was started
	}
	return cfg, p.settle(ctx, cfg, place)
}

// keepNode asks for the node, too, when it was up before and nobody stopped it.
func (p *Plane) keepNode(cfg Config) (Config, error) {
	if cfg.Node || p.state.Node == nil || !p.state.Node.Up {
		return cfg, nil
	}
	return cfg.withNode()
}

// settle writes what was decided, and makes the machine a node when it is to be one.
func (p *Plane) settle(ctx context.Context, cfg Config, place int) error {
	if cfg.Node {
		if err := p.settleNode(ctx, place); err != nil {
			return err
		}
	}
	if err := p.writeFiles(); err != nil {
		return err
	}
	if !cfg.Node {
		return nil
	}
	if place < slices.Index(everything(), KubeProxy) && !p.state.Node.Proxy {
		cfg.Progress("Services will have no addresses: kube-proxy needs iptables and ip6tables, and to be the only one")
	}
	if err := p.prepareNode(); err != nil {
		return err
	}
	return p.writeContainerdFile(cfg.programs)
}

// recall brings back what the last start left, and reports whether keys or certificates had to be renewed.
func (p *Plane) recall() (renewed bool, err error) {
	for _, dir := range []string{"run", "logs"} {
		if err := os.MkdirAll(p.path(dir), privateDir); err != nil {
			return false, fmt.Errorf("making the data directory: %w", err)
		}
	}
	if former, err := Open(p.dir); err == nil {
		p.state = former.state // else there is none, or none that can be read: begin anew
	}
	renewed, err = ensurePKI(p.path("pki"), time.Now())
	if err != nil {
		return false, fmt.Errorf("preparing keys and certificates: %w", err)
	}
	return renewed, nil
}

// contradiction returns a *PortError when the API server is to go on running, but on another port.
func (p *Plane) contradiction(place, wanted int) error {
	running := p.state.Ports.APIServer
	if place > slices.Index(Components(), APIServer) && wanted != 0 && wanted != running {
		return &PortError{Port: wanted, Running: running}
	}
	return nil
}

// firstDown returns the place, in the order of starting, of the first component that is wanted and does not run; one
// past the last when there is none.
func (p *Plane) firstDown(cfg Config) int {
	place := slices.IndexFunc(everything(), func(name string) bool { return p.wants(cfg, name) && !p.alive(name) })
	if place < 0 || place > len(p.order()) {
		return len(p.order())
	}
	return place
}

// wants reports whether the component is to run.
func (p *Plane) wants(cfg Config, component string) bool {
	switch component {
	case ControllerManager:
		return cfg.ControllerManager
	case KubeProxy:
		return cfg.Node && p.state.Node != nil && p.state.Node.Proxy
	default:
		return cfg.Node || slices.Contains(Components(), component)
	}
}

// choosePorts settles the ports of the components from the place on, which do not run.
func (p *Plane) choosePorts(place, wanted int) error {
	free := [][]*int{
		{&p.state.Ports.Etcd, &p.state.Ports.EtcdPeer},
		{&p.state.Ports.APIServer},
		{&p.state.Ports.ControllerManager},
	}
	free = free[min(place, len(free)):]
	if place <= slices.Index(Components(), APIServer) && wanted != 0 {
		if err := tryPort(wanted); err != nil {
			return &PortError{Port: wanted, Err: err}
		}
		p.state.Ports.APIServer = wanted
	}
	for _, group := range free {
		for _, port := range group {
			if err := keepOrChoose(port); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeState writes what is remembered between starts.
func (p *Plane) writeState() error {
	data, err := json.MarshalIndent(p.state, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the state: %w", err)
	}
	return writeFile(p.path(stateFile), append(data, '\n'))
}

// writeFiles writes what the components and their clients read.
func (p *Plane) writeFiles() error {
	if err := p.writeState(); err != nil {
		return err
	}
	if err := writeFile(p.path("audit-policy.yaml"), []byte(auditPolicy)); err != nil {
		return err
	}
	pki, port := p.path("pki"), p.state.Ports.APIServer
	controllerManager := p.path("pki", certControllerManager+".kubeconfig")
	if err := writeKubeconfig(controllerManager, pki, certControllerManager, port); err != nil {
		return err
	}
	return writeKubeconfig(p.Kubeconfig(), pki, certAdmin, port)
}
