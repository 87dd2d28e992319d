package localplane

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const contextName = "bowline"

// writeKubeconfig writes a kubeconfig that holds everything needed to reach the API server as the certificate's
// subject.
func writeKubeconfig(path, pki, certificate string, port int) error {
	var data [3][]byte
	for i, name := range []string{clusterCA + ".crt", certificate + ".crt", certificate + ".key"} {
		content, err := os.ReadFile(filepath.Join(pki, name))
		if err != nil {
			return fmt.Errorf("composing kubeconfig %q: %w", path, err)
		}
		data[i] = content
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{
		Server: "https://" + address(port), CertificateAuthorityData: data[0],
	}
	config.AuthInfos[contextName] = &clientcmdapi.AuthInfo{ClientCertificateData: data[1], ClientKeyData: data[2]}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName}
	config.CurrentContext = contextName
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encoding kubeconfig %q: %w", path, err)
	}
	return writeFile(path, content)
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (p *Plane) Kubeconfig() string { return p.path("kubeconfig") }

// RESTConfig returns the administrator's client configuration. The client does not throttle itself: the server at the
// other end belongs to its user alone and has its own priorities and fairness.
func (p *Plane) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %q: %w", p.Kubeconfig(), err)
	}
	config.QPS = -1
	return config, nil
}
