package localplane

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	certScheduler     = "scheduler"
	certKubeletClient = "apiserver-kubelet-client"
	certKubelet       = "kubelet"
	certKubeletServer = "kubelet-server"
	certProxy         = "kube-proxy"
	logsDir           = "pod-logs"
)

// nodeLeaves lists the certificates of those who are clients of the API server or of the kubelet. They are always made,
// since the API server is told of its own when it starts.
func nodeLeaves() []leaf {
	local := []string{"localhost"}
	return []leaf{
		{name: certScheduler, authority: clusterCA, commonName: "system:kube-scheduler", server: true, client: true, hosts: local},
		{name: certKubeletClient, authority: clusterCA, commonName: "kube-apiserver-kubelet-client", organization: "system:masters", client: true},
		{name: certKubelet, authority: clusterCA, commonName: "system:node:" + NodeName, organization: "system:nodes", client: true},
		{name: certProxy, authority: clusterCA, commonName: "system:kube-proxy", client: true},
	}
}

// ensureKubeletCertificate makes the certificate by which the API server knows the kubelet.
func (p *Plane) ensureKubeletCertificate(now time.Time) error {
	authority, err := readIdentity(p.path("pki"), clusterCA)
	if err != nil {
		return err
	}
	_, err = ensureLeaf(p.path("pki"), leaf{
		name: certKubeletServer, authority: clusterCA, commonName: "system:node:" + NodeName, organization: "system:nodes",
		server: true, hosts: []string{NodeName}, address: net.IP(p.state.Node.address().AsSlice()),
	}, authority, now)
	return err
}

// covers reports whether the certificate is good for the leaf's own address.
func (l leaf) covers(cert *x509.Certificate) bool {
	return l.address == nil || cert.VerifyHostname(l.address.String()) == nil
}

// writeNodeFiles writes what the node's components read.
func (p *Plane) writeNodeFiles() error {
	for _, name := range []string{certScheduler, certKubelet, certProxy} {
		if err := writeKubeconfig(p.path("pki", name+".kubeconfig"), p.path("pki"), name, p.state.Ports.APIServer); err != nil {
			return err
		}
	}
	network, err := p.networkFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.node("cni", "config"), privateDir); err != nil {
		return fmt.Errorf("making the node's folders: %w", err)
	}
	for path, content := range map[string]string{
		p.node("cni", "config", "10-bowline.conflist"): network,
		p.node("kubelet.yaml"):                         p.kubeletFile(),
		p.node("kube-proxy.yaml"):                      p.proxyFile(),
	} {
		if err := writeFile(path, []byte(content)); err != nil {
			return err
		}
	}
	return nil
}

// networkFile describes the network of the pods: each has an address in the subnet, and the bridge leads to the others and
// to this machine.
func (p *Plane) networkFile() (string, error) {
	data, err := json.MarshalIndent(map[string]any{
		"cniVersion": "1.0.0", "name": p.network(),
		"plugins": []any{map[string]any{
			"type": "bridge", "bridge": p.bridge(), "isGateway": true, "ipMasq": false, "hairpinMode": true,
			"ipam": map[string]any{
				"type": "host-local", "dataDir": p.node("cni", "addresses"),
				"ranges": []any{[]any{map[string]any{"subnet": p.state.Node.Subnet.String()}}},
				"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
			},
		}},
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("describing the network of the pods: %w", err)
	}
	return string(data) + "\n", nil
}

// writeContainerdFile describes containerd to itself. Nothing is ever fetched from a registry, so the pause image is pinned.
func (p *Plane) writeContainerdFile(programs string) error {
	content := fmt.Sprintf(`version = 3
root = %q
state = %q
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.tracing", "io.containerd.cri.v1.cdi",
  "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.btrfs"]

[grpc]
  address = %q

[ttrpc]
  address = %q

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = %q

[plugins.'io.containerd.cri.v1.runtime']
  # Root in a virtual machine or container often may not make a process less likely to be killed than it is itself, as the
  # kubelet wants for some.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true

[plugins.'io.containerd.shim.v1.manager']
  socket_dir = %q

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = [%q]
  conf_dir = %q
  use_internal_loopback = true

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
    BinaryName = %q
    Root = %q
    SystemdCgroup = false
`, p.node("containerd"), filepath.Join(p.volatile(), "containerd"), p.socket(), p.socket()+".ttrpc", pauseImage, filepath.Join(p.volatile(), "s"),
		filepath.Join(programs, "cni"), p.node("cni", "config"), filepath.Join(programs, runcProgram), filepath.Join(p.volatile(), "runc"))
	return writeFile(p.node("containerd.toml"), []byte(content))
}

// kubeletFile configures the kubelet. It looks at each pod every second, so that a changed Secret is in the files soon; it
// never removes an image, since none could be fetched again; and it listens on the bridge alone.
func (p *Plane) kubeletFile() string {
	n := p.state.Node
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %s
port: %d
healthzPort: 0
containerRuntimeEndpoint: unix://%s
cgroupDriver: cgroupfs
cgroupRoot: /%s
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %q}}
authorization: {mode: Webhook}
tlsCertFile: %q
tlsPrivateKeyFile: %q
syncFrequency: 1s
nodeStatusUpdateFrequency: 5s
podLogsDir: %q
volumePluginDir: %q
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: "1%%", imagefs.available: "1%%", nodefs.inodesFree: "1%%"}
enableProfilingHandler: false
`, n.address(), n.Kubelet, p.socket(), p.group(), p.cert(clusterCA), p.cert(certKubeletServer), p.key(certKubeletServer),
		p.node(logsDir), p.node("volume-plugins"))
}

func (p *Plane) proxyFile() string {
	n := p.state.Node
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: %q}
clusterCIDR: %s
hostnameOverride: %s
healthzBindAddress: %s
metricsBindAddress: %s
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`, p.path("pki", certProxy+".kubeconfig"), n.Subnet, NodeName, address(n.ProxyHealth), address(n.ProxyMetrics))
}
