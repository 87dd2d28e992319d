package localplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// stopGrace is how long a component may take to end by itself.
const stopGrace = 15 * time.Second

// ErrAbsent says that a data directory holds no control plane.
var ErrAbsent = errors.New("no control plane there")

// Plane is a control plane in a data directory, running or not.
type Plane struct {
	dir      string
	state    state
	launcher *launcher // nil in a plane that was only opened
}

// state is what is remembered between starts.
type state struct {
	Ports     ports `json:"ports"`
	Ephemeral bool  `json:"ephemeral,omitempty"`
	// Node is nil until a node was asked for.
	Node *nodeState `json:"node,omitempty"`
}

// Status tells how one component is.
type Status struct {
	// Component is its name, one of those Components or NodeComponents return.
	Component string
	// Running says whether its process is there.
	Running bool
	// PID is its process; zero when it does not run.
	PID int
	// Started is when it was started; zero when it does not run.
	Started time.Time
	// Log is the path of its log.
	Log string
}

// Open returns the control plane recorded in a data directory, running or not. The error wraps ErrAbsent when there
// is none.
func Open(dir string) (*Plane, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	dir, err := canonical(dir)
	if err != nil {
		return nil, err
	}
	p := &Plane{dir: dir}
	data, err := os.ReadFile(p.path(stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening %q: %w", dir, ErrAbsent)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the control plane in %q: %w", dir, err)
	}
	if err := json.Unmarshal(data, &p.state); err != nil {
		return nil, fmt.Errorf("reading %q: %w", p.path(stateFile), err)
	}
	return p, nil
}

// The entries of a data directory.
const (
	stateFile = "state.json"
	lockFile  = "lock"
)

// canonical returns the one name of a directory, by which its processes are recognised.
func canonical(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolving %q: %w", dir, err)
	}
	resolved, err := filepath.EvalSymlinks(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		return absolute, nil
	}
	if err != nil {
		return "", fmt.Errorf("resolving %q: %w", dir, err)
	}
	return resolved, nil
}

func (p *Plane) path(elements ...string) string {
	return filepath.Join(append([]string{p.dir}, elements...)...)
}

func (p *Plane) cert(name string) string            { return p.path("pki", name+".crt") }
func (p *Plane) key(name string) string             { return p.path("pki", name+".key") }
func (p *Plane) recordPath(component string) string { return p.path("run", component+".json") }

// Dir returns the data directory.
func (p *Plane) Dir() string { return p.dir }

// Port returns the port of the API server.
func (p *Plane) Port() int { return p.state.Ports.APIServer }

// Log returns the path of a component's log.
func (p *Plane) Log(component string) string { return p.path("logs", component+".log") }

// AuditLog returns the path of the API server's audit log, which is written when Config.AuditLog asks for it.
func (p *Plane) AuditLog() string { return p.path("logs", "audit.log") }

// Status returns how each component is, in the order in which they start. Those of the node are among them once a node was
// asked for.
func (p *Plane) Status() []Status {
	var list []Status
	for _, name := range p.order() {
		s := Status{Component: name, Log: p.Log(name)}
		if r := readRecord(p.recordPath(name)); r.alive() {
			s.Running, s.PID, s.Started = true, r.PID, r.Started
		}
		list = append(list, s)
	}
	return list
}

// Running reports whether the API and its storage are served, ready or not.
func (p *Plane) Running() bool {
	return p.alive(Etcd) && p.alive(APIServer)
}

// NodeRunning reports whether pods are looked after, be the node ready or not.
func (p *Plane) NodeRunning() bool {
	return p.alive(Containerd) && p.alive(Kubelet)
}

func (p *Plane) alive(component string) bool { return readRecord(p.recordPath(component)).alive() }

// Stop ends the components, last started first: it asks them to, and kills those that take too long. What they hold
// stays in the data directory, and Start brings it back.
func (p *Plane) Stop(ctx context.Context) error {
	unlock, err := lock(ctx, p.path(lockFile))
	if err != nil {
		return err
	}
	defer unlock()
	return p.end(ctx)
}

// Wipe stops the components and removes everything that the package put into the data directory, and the directory
// itself when nothing else is in it.
func (p *Plane) Wipe(ctx context.Context) error {
	unlock, err := lock(ctx, p.path(lockFile))
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.end(ctx); err != nil {
		return err
	}
	// The lock goes last: whoever waits for it finds an empty directory.
	for _, name := range []string{
		stateFile, "kubeconfig", "audit-policy.yaml", "run", "etcd", "logs", "pki", nodeDir, lockFile,
	} {
		if err := os.RemoveAll(p.path(name)); err != nil {
			return fmt.Errorf("removing the control plane in %q: %w", p.dir, err)
		}
	}
	_ = os.Remove(p.dir) // it stays when it holds files of others
	return nil
}

// end stops all components and the launcher; the caller holds the lock.
func (p *Plane) end(ctx context.Context) error {
	if err := p.stopFrom(ctx, 0); err != nil {
		return err
	}
	if err := p.clearNode(ctx); err != nil {
		return err
	}
	if p.launcher != nil {
		p.launcher.close()
		p.launcher = nil
	}
	return nil
}

// stopFrom stops the component at the place in the order of starting and all after it, the last one first.
func (p *Plane) stopFrom(ctx context.Context, place int) error {
	names := p.order()[place:]
	if place < len(Components()) {
		companions, err := p.companions() // they depend on the control plane as a whole
		if err != nil {
			return err
		}
		names = append(names, companions...)
	}
	slices.Reverse(names)
	for _, name := range names {
		if err := p.stopComponent(ctx, name); err != nil {
			return fmt.Errorf("stopping %s: %w", name, err)
		}
	}
	return nil
}

// stopComponent stops the recorded process of a component and any that was started for it but never recorded.
func (p *Plane) stopComponent(ctx context.Context, name string) error {
	path := p.recordPath(name)
	recorded, grace := readRecord(path), p.grace()
	found, err := strays(markOf(p.dir, name), recorded)
	if err != nil {
		return err
	}
	if name == Containerd { // those who watch over containers inherit its mark, and stay
		found = slices.DeleteFunc(found, func(r record) bool { return program(r.PID) != containerdProgram })
	}
	for _, r := range append(found, recorded) {
		if err := r.terminate(ctx, grace); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the process: %w", err)
	}
	return nil
}

// grace returns how long a component may take to end by itself. It is none when nobody will miss what it holds, and
// none without etcd: the API server would wait for etcd in vain, and has nothing of its own to lose.
func (p *Plane) grace() time.Duration {
	if p.state.Ephemeral || !readRecord(p.recordPath(Etcd)).alive() {
		return 0
	}
	return stopGrace
}
