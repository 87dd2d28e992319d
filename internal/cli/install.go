package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/install"
)

// installation are the flags that install and uninstall share.
type installation struct {
	cluster cluster
	options install.Options
}

func (i *installation) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	i.cluster.bind(flags)
	flags.StringVarP(&i.options.Namespace, "namespace", "n", install.DefaultNamespace, "namespace of the controller")
	flags.DurationVar(&i.options.Timeout, "timeout", install.DefaultTimeout, "how long each single wait may take")
}

func newInstall(streams Streams) *cobra.Command {
	var (
		i     installation
		f     features
		print bool //nolint:predeclared // it is the flag's name
	)
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install Bowline in a cluster, or print what would be installed",
		Long: `Install applies Bowline's definitions, roles, webhooks and controller to the cluster that the kubeconfig names, and
waits until its API is served. It may be run again at any time: what is as it should be stays untouched. Optional
features, each with permissions of its own, are left out unless they are asked for; --full asks for all.

  bowline install --image registry.example/bowline:v1
  bowline install --full --image registry.example/bowline:v1
  bowline install --print > bowline.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check("bowline install"); err != nil {
				return err
			}
			i.options.Features, i.options.Arguments = f.set(), f.arguments()
			if print {
				return wrap(install.Render(streams.Out, i.options), "printing the manifests")
			}
			config, err := i.cluster.config()
			if err != nil {
				return err
			}
			return wrap(install.Apply(cmd.Context(), config, i.options, progress(streams.Err)), "installing Bowline")
		},
	}
	i.bind(cmd)
	flags := cmd.Flags()
	f.bind(flags, feature.Set{})
	f.bindFull(flags)
	flags.BoolVar(&print, "print", false, "print the manifests and apply nothing")
	flags.StringVar(&i.options.Image, "image", install.DefaultImage, "image of the controller")
	flags.BoolVar(&i.options.External, "external", false, "leave out the Deployment and its Service: the controller runs outside the cluster")
	flags.BoolVar(&i.options.WithoutSecrets, "without-secrets", false,
		"leave out the role that lets the controller see which Secrets exist; a binding then trusts what its service says")
	flags.BoolVar(&i.options.Policy, "policy", false,
		"add a ValidatingAdmissionPolicy by which the API server itself asks what the author of a binding may do")
	return cmd
}

func newUninstall(streams Streams) *cobra.Command {
	var i installation
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Bowline from a cluster",
		Long: `Uninstall removes what install applied, definitions included. While there are bindings it refuses, since workloads
would keep what was projected into them; with --force it deletes the bindings first and waits until they are unbound.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := i.cluster.config()
			if err != nil {
				return err
			}
			err = install.Delete(cmd.Context(), config, i.options, progress(streams.Err))
			if inUse := (*install.InUseError)(nil); errors.As(err, &inUse) {
				return &hinted{err: err, hint: "delete them, or try: bowline uninstall --force"}
			}
			return wrap(err, "uninstalling Bowline")
		},
	}
	i.bind(cmd)
	cmd.Flags().BoolVar(&i.options.Force, "force", false, "delete bindings and mappings first")
	return cmd
}

// progress returns a function that tells of each step with the time that has passed.
func progress(w io.Writer) func(string) {
	began := time.Now()
	return func(step string) {
		_, _ = fmt.Fprintf(w, "%6.1fs  %s\n", time.Since(began).Seconds(), step)
	}
}

// wrap returns nil for nil.
func wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
