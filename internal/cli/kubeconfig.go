package cli

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster are the flags that say which cluster a command talks to, and as whom.
type cluster struct {
	kubeconfig, context, as string
}

func (c *cluster) bind(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "",
		"path of the kubeconfig (default: $KUBECONFIG, ~/.kube/config, or the pod's own service account)")
	flags.StringVar(&c.context, "context", "", "context of the kubeconfig (default: its current one)")
	flags.StringVar(&c.as, "as", "", "user to act as")
}

func (c *cluster) load() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

// namespace returns that of the context.
func (c *cluster) namespace() string {
	namespace, _, err := c.load().Namespace()
	if err != nil {
		return "default"
	}
	return namespace
}

// config returns how to reach the cluster.
func (c *cluster) config() (*rest.Config, error) {
	config, err := c.load().ClientConfig()
	if err != nil {
		return nil, &hinted{
			err:  fmt.Errorf("reading the kubeconfig: %w", err),
			hint: "set --kubeconfig or $KUBECONFIG; for a control plane on this machine: bowline up",
		}
	}
	if c.as != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: c.as}
	}
	return config, nil
}
