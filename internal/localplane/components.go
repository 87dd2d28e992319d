package localplane

import (
	"context"
	"fmt"
)

// The components, in the order in which they start.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
)

const serviceRange = "10.96.0.0/16"

// Components returns the names of all components in the order in which they start.
func Components() []string { return []string{Etcd, APIServer, ControllerManager} }

// component is one process to run.
type component struct {
	name  string
	path  string // its program; empty is the control plane's binary
	args  []string
	ready func(ctx context.Context) error
	// settle does what is to be done each time that it was started; nil is nothing.
	settle func(ctx context.Context) error
}

// components lists what is to run, in the order of starting.
func (p *Plane) components(cfg Config, probe *prober) []component {
	ps := p.state.Ports
	list := []component{
		{name: Etcd, args: p.etcdArgs(), ready: probe.get(address(ps.Etcd), "/health")},
		{
			name:  APIServer,
			args:  append(p.apiServerArgs(cfg), cfg.ExtraAPIServerArgs...),
			ready: probe.get(address(ps.APIServer), "/readyz"),
		},
	}
	if !cfg.ControllerManager {
		return list
	}
	list = append(list, component{
		name: ControllerManager,
		args: p.controllerManagerArgs(),
		ready: all(
			probe.get(address(ps.ControllerManager), "/healthz"),
			// It writes this account when its controllers run; without it no pod is admitted.
			probe.get(address(ps.APIServer), "/api/v1/namespaces/default/serviceaccounts/default"),
		),
	})
	if !cfg.Node {
		return list
	}
	return append(list, p.nodeComponents(cfg, probe)...)
}

// etcdArgs lets nobody in without a certificate of etcd's own authority.
func (p *Plane) etcdArgs() []string {
	client, peer := "https://"+address(p.state.Ports.Etcd), "https://"+address(p.state.Ports.EtcdPeer)
	args := []string{
		"--name=" + contextName,
		"--data-dir=" + p.path("etcd"),
		"--log-level=warn",
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + contextName + "=" + peer,
		"--client-cert-auth",
		"--trusted-ca-file=" + p.cert(etcdCA),
		"--cert-file=" + p.cert(certEtcd),
		"--key-file=" + p.key(certEtcd),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + p.cert(etcdCA),
		"--peer-cert-file=" + p.cert(certEtcd),
		"--peer-key-file=" + p.key(certEtcd),
	}
	if p.state.Ephemeral {
		args = append(args, "--unsafe-no-fsync")
	}
	return args
}

func (p *Plane) apiServerArgs(cfg Config) []string {
	args := []string{
		"--etcd-servers=https://" + address(p.state.Ports.Etcd),
		"--etcd-cafile=" + p.cert(etcdCA),
		"--etcd-certfile=" + p.cert(certAPIServerEtcd),
		"--etcd-keyfile=" + p.key(certAPIServerEtcd),
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", p.state.Ports.APIServer),
		// A Service without a pod fails at once; its address, which nobody routes here, is never tried.
		"--enable-aggregator-routing=true",
		"--endpoint-reconciler-type=none", // a loopback address may not stand in an Endpoints object
		"--service-cluster-ip-range=" + serviceRange,
		"--tls-cert-file=" + p.cert(certAPIServer),
		"--tls-private-key-file=" + p.key(certAPIServer),
		"--client-ca-file=" + p.cert(clusterCA),
		"--anonymous-auth=false",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--kubelet-client-certificate=" + p.cert(certKubeletClient),
		"--kubelet-client-key=" + p.key(certKubeletClient),
		"--kubelet-certificate-authority=" + p.cert(clusterCA),
		"--kubelet-preferred-address-types=InternalIP",
		"--profiling=false",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.key(keyServiceAccount),
		"--service-account-signing-key-file=" + p.key(keyServiceAccount),
		"--requestheader-client-ca-file=" + p.cert(frontProxyCA),
		"--requestheader-allowed-names=" + certFrontProxy,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.cert(certFrontProxy),
		"--proxy-client-key-file=" + p.key(certFrontProxy),
	}
	if cfg.AuditLog {
		args = append(args,
			"--audit-policy-file="+p.path("audit-policy.yaml"),
			"--audit-log-path="+p.AuditLog(),
			"--audit-log-maxsize=100",
			"--audit-log-maxbackup=1",
		)
	}
	return args
}

func (p *Plane) controllerManagerArgs() []string {
	kubeconfig := p.path("pki", certControllerManager+".kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", p.state.Ports.ControllerManager),
		"--tls-cert-file=" + p.cert(certControllerManager),
		"--tls-private-key-file=" + p.key(certControllerManager),
		"--leader-elect=false",
		"--profiling=false",
		"--use-service-account-credentials=true",
		"--kube-api-qps=300", // the usual 20 a second would spend four seconds on its own service accounts
		"--kube-api-burst=500",
		"--root-ca-file=" + p.cert(clusterCA),
		"--service-account-private-key-file=" + p.key(keyServiceAccount),
		"--cluster-signing-cert-file=" + p.cert(clusterCA),
		"--cluster-signing-key-file=" + p.key(clusterCA),
	}
}

// auditPolicy records who asked for what, and no request or response body: those may hold Secrets.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`
