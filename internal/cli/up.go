package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
)

const (
	controllerName = "controller"
	// controllerUser is who the controller is to the API server: just what it would be in a cluster, so that its roles are
	// the same.
	controllerUser = "system:serviceaccount:" + install.DefaultNamespace + ":bowline-controller"

	// What up puts into the data directory beside the control plane.
	portsFile = "controller.json"
	linksDir  = "bin"

	upTimeout    = 5 * time.Minute
	probeTimeout = 2 * time.Second
)

// local are the flags of up and down.
type local struct {
	dir      string
	port     int
	node     bool
	policy   policy
	features features
}

func (l *local) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.dir, "dir", defaultDir(), "data directory")
}

// defaultDir returns where data of this user belongs.
func defaultDir() string {
	if base := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "bowline")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "bowline-data"
	}
	return filepath.Join(home, ".local", "share", "bowline")
}

func newUp(streams Streams) *cobra.Command {
	var (
		l     local
		audit bool
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a control plane on this machine, with Bowline in it",
		Long: `Up starts etcd, kube-apiserver and kube-controller-manager on loopback, installs Bowline into them and runs its
controller. All of it lives in the data directory and goes on when this command has ended; a second up finds the first.
Optional features are on, but for the early draft's API (--draft-api), whose kind has the name of the specification's.
Without a node workloads are kept and changed, but no pod runs. With --node this machine becomes one: kube-scheduler,
containerd, kubelet and, where there is iptables, kube-proxy run too. It needs Linux and root.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(l.policy.check("bowline up"), l.features.check("bowline up")); err != nil {
				return err //nolint:wrapcheck // it says all
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), upTimeout)
			defer cancel()
			return l.up(ctx, streams, audit)
		},
	}
	l.bind(cmd)
	cmd.Flags().IntVar(&l.port, "port", 0, "port of the API server (default: the last one used, or a free one)")
	cmd.Flags().BoolVar(&l.node, "node", false, "make this machine a node, on which pods run")
	cmd.Flags().BoolVar(&audit, "audit-log", false, "let the API server log every request")
	l.policy.bind(cmd.Flags())
	l.features.bind(cmd.Flags(), onThisMachine())
	return cmd
}

func (l *local) up(ctx context.Context, streams Streams, audit bool) error {
	tell := progress(streams.Err)
	plane, err := localplane.Start(ctx, localplane.Config{
		Dir: l.dir, Port: l.port, ControllerManager: true, Node: l.node, AuditLog: audit, Progress: tell,
	})
	if impossible := (*localplane.NodeError)(nil); errors.As(err, &impossible) {
		return &usageError{err: &hinted{err: err, hint: impossible.Hint}, command: "bowline up"}
	}
	if err != nil {
		return wrap(err, "starting the control plane")
	}
	config, err := plane.RESTConfig()
	if err != nil {
		return wrap(err, "reading the kubeconfig")
	}
	arguments := append(l.policy.arguments(), l.features.arguments()...)
	if err := prevail(ctx, plane, arguments); err != nil {
		return err
	}
	if !plane.Accompanied(controllerName) {
		tell("installing Bowline")
		if err := install.Apply(ctx, config, install.Options{External: true, Features: l.features.set()}, func(string) {}); err != nil {
			return wrap(err, "installing Bowline")
		}
		tell("starting the controller")
	}
	if err := accompany(ctx, plane, arguments); err != nil {
		return wrap(err, "starting the controller")
	}
	tell("ready")
	return l.greet(streams.Out, plane)
}

// greet says what to do with what is there now.
func (l *local) greet(w io.Writer, plane *localplane.Plane) error {
	bin := filepath.Join(plane.Dir(), linksDir)
	binary, err := localplane.FindBinary()
	if err == nil {
		err = localplane.WriteAssets(bin, binary)
	}
	if err != nil {
		return wrap(err, "making links to the control plane's programs")
	}
	_, err = fmt.Fprintf(w, `Bowline runs in a control plane at https://127.0.0.1:%d
  export KUBECONFIG=%s
  export PATH=$PATH:%s          # kubectl
  bowline down%s                  # stops it; the data stays
`, plane.Port(), plane.Kubeconfig(), bin, l.dirFlag())
	return wrap(err, "printing what to do next")
}

func (l *local) dirFlag() string {
	if l.dir == defaultDir() {
		return ""
	}
	return " --dir " + strconv.Quote(l.dir)
}

// controllerPorts are those of the controller; they are kept so that they stay the same from one start to the next.
type controllerPorts struct {
	Webhook int `json:"webhook"`
	Probe   int `json:"probe"`
	Metrics int `json:"metrics"`
}

// accompany runs the controller beside the control plane, with further arguments.
func accompany(ctx context.Context, plane *localplane.Plane, further []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	ports, err := choosePorts(filepath.Join(plane.Dir(), portsFile), plane.Accompanied(controllerName))
	if err != nil {
		return err
	}
	_, err = plane.Accompany(ctx, localplane.Companion{
		Name: controllerName,
		Path: self,
		Args: append([]string{
			"controller", "--kubeconfig", plane.Kubeconfig(), "--as", controllerUser, "--leader-elect=false",
			"--metrics-address", loopback(ports.Metrics), "--probe-address", loopback(ports.Probe),
			"--webhook-host", "127.0.0.1", "--webhook-port", strconv.Itoa(ports.Webhook),
			"--webhook-url", "https://" + loopback(ports.Webhook),
		}, further...),
		Ready: func(ctx context.Context) error { return probe(ctx, "http://"+loopback(ports.Probe)+"/readyz") },
	})
	return err //nolint:wrapcheck // it says all
}

// choosePorts returns the recorded ports, those that are taken by others replaced.
func choosePorts(path string, running bool) (controllerPorts, error) {
	var ports controllerPorts
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return ports, fmt.Errorf("reading %q: %w", path, err)
	}
	_ = json.Unmarshal(data, &ports) // what cannot be read is chosen anew
	if running {
		return ports, nil
	}
	for _, port := range []*int{&ports.Webhook, &ports.Probe, &ports.Metrics} {
		if *port, err = localplane.FreePort(*port); err != nil {
			return ports, fmt.Errorf("choosing the controller's ports: %w", err)
		}
	}
	if data, err = json.Marshal(ports); err != nil {
		return ports, fmt.Errorf("encoding the controller's ports: %w", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return ports, fmt.Errorf("writing %q: %w", path, err)
	}
	return ports, nil
}

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// probe asks a health endpoint.
func probe(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking %s: %s", url, response.Status) //nolint:err113 // only ever shown
	}
	return nil
}
