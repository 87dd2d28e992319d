package localplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/localplane/image"
)

// The components of the node, in the order in which they start.
const (
	Scheduler  = "kube-scheduler"
	Containerd = "containerd"
	Kubelet    = "kubelet"
	KubeProxy  = "kube-proxy"
)

// NodeComponents returns the names of all components that Config.Node adds, in the order in which they start.
func NodeComponents() []string { return []string{Scheduler, Containerd, Kubelet, KubeProxy} }

// everything lists all components that there may be, in the order in which they start.
func everything() []string { return append(Components(), NodeComponents()...) }

// order lists all components that there may be in this data directory.
func (p *Plane) order() []string {
	if p.hasNode() {
		return everything()
	}
	return Components()
}

// nodeComponents lists what the node is to run.
func (p *Plane) nodeComponents(cfg Config, probe *prober) []component {
	n := p.state.Node
	kubelet := net.JoinHostPort(n.address().String(), strconv.Itoa(n.Kubelet))
	list := []component{
		{name: Scheduler, args: p.schedulerArgs(), ready: probe.get(address(n.Scheduler), "/healthz")},
		{
			name: Containerd, path: filepath.Join(cfg.programs, containerdProgram),
			args:   []string{"--config", p.node("containerd.toml")},
			ready:  p.containerdAnswers,
			settle: func(ctx context.Context) error { return p.loadImages(ctx, cfg.programs) },
		},
		{
			name: Kubelet,
			args: []string{
				"--config=" + p.node("kubelet.yaml"),
				"--kubeconfig=" + p.path("pki", certKubelet+".kubeconfig"),
				"--root-dir=" + p.node("kubelet"),
				"--hostname-override=" + NodeName,
				"--node-ip=" + n.address().String(),
			},
			ready: all(probe.get(kubelet, "/healthz"), probe.nodeReady(address(p.state.Ports.APIServer))),
		},
	}
	if !n.Proxy {
		return list
	}
	return append(list, component{
		name: KubeProxy, args: []string{"--config=" + p.node("kube-proxy.yaml")}, ready: plainHealth(address(n.ProxyHealth)),
	})
}

func (p *Plane) schedulerArgs() []string {
	kubeconfig := p.path("pki", certScheduler+".kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", p.state.Node.Scheduler),
		"--tls-cert-file=" + p.cert(certScheduler),
		"--tls-private-key-file=" + p.key(certScheduler),
		"--leader-elect=false",
		"--profiling=false",
	}
}

// containerdAnswers returns nil once containerd takes requests.
func (p *Plane) containerdAnswers(ctx context.Context) error {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "unix", p.socket())
	if err != nil {
		return fmt.Errorf("connecting to containerd: %w", err)
	}
	return connection.Close()
}

// loadImages gives the node what it cannot do without, and a shell for probes.
func (p *Plane) loadImages(ctx context.Context, programs string) error {
	shell := filepath.Join(programs, shellProgram)
	for _, i := range []image.Image{
		{Name: pauseImage, Entrypoint: []string{"/pause"}, Programs: map[string]string{"/pause": filepath.Join(programs, pauseProgram)}},
		{
			Name: ShellImage, Entrypoint: []string{"/bin/sh"}, Programs: map[string]string{"/bin/sh": shell},
			Links: map[string]string{"/bin/cat": "sh", "/bin/sleep": "sh", "/bin/test": "sh"},
		},
	} {
		if err := p.load(ctx, programs, i); err != nil {
			return err
		}
	}
	return nil
}

// nodeReady returns a check that wants the kubelet to have called its node ready.
func (p *prober) nodeReady(apiServer string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+apiServer+"/api/v1/nodes/"+NodeName, nil)
		if err != nil {
			return fmt.Errorf("composing a probe: %w", err)
		}
		response, err := p.client.Do(request)
		if err != nil {
			return fmt.Errorf("probing: %w", err)
		}
		defer func() { _ = response.Body.Close() }()
		var node corev1.Node
		if err := json.NewDecoder(response.Body).Decode(&node); err != nil {
			return fmt.Errorf("reading the node: %w", err)
		}
		for _, c := range node.Status.Conditions {
			if c.Type != corev1.NodeReady {
				continue
			}
			if c.Status == corev1.ConditionTrue {
				return nil
			}
			return fmt.Errorf("the node is %w: %s", errAnswer, c.Message)
		}
		return fmt.Errorf("the node is %w: it has not said how it is", errAnswer)
	}
}

// plainHealth returns a check that wants status 200 from a health endpoint without encryption, which has no secrets.
func plainHealth(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
		if err != nil {
			return fmt.Errorf("composing a probe: %w", err)
		}
		response, err := (&http.Client{Timeout: probeTimeout}).Do(request)
		if err != nil {
			return fmt.Errorf("probing: %w", err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("probing: %w: status %d", errAnswer, response.StatusCode)
		}
		return nil
	}
}
