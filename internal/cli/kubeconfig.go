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

func (c *cluster) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

// config returns how to reach the cluster.
func (c *cluster) config() (*rest.Config, error) {
	config, err := c.loader().ClientConfig()
	if err != nil {
		return nil, unreadableConfig(err)
	}
	if c.as != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: c.as}
	}
	return config, nil
}

// namespace returns the one that the context names, or default.
func (c *cluster) namespace() (string, error) {
	namespace, _, err := c.loader().Namespace()
	if err != nil {
		return "", unreadableConfig(err)
	}
	return namespace, nil
}

func unreadableConfig(err error) error {
	return &hinted{
		err:  fmt.Errorf("reading the kubeconfig: %w", err),
		hint: "set --kubeconfig or $KUBECONFIG; for a control plane on this machine: bowline up",
	}
}
