package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/controller"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/install"
)

// controllerFlags are the flags of the controller.
type controllerFlags struct {
	cluster        cluster
	options        controller.Options
	webhookURL     string
	webhookService string
	policy         policy
	features       features
	verbosity      int
}

func newController(streams Streams) *cobra.Command {
	var f controllerFlags
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller (what runs in a cluster)",
		Long: `Controller keeps workloads and bindings in step and answers admission, until it is told to end. In a cluster it is
what the installed Deployment runs. Unless an optional feature is on, it reads no Secret but the one that holds its own
certificate.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), streams) },
	}
	flags := cmd.Flags()
	f.cluster.bind(flags)
	o := &f.options
	flags.StringVar(&o.Namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), install.DefaultNamespace),
		"namespace of the lease and of the webhook's certificate; in a pod, $POD_NAMESPACE")
	flags.BoolVar(&o.LeaderElection, "leader-elect", true, "let one of several replicas lead")
	flags.StringVar(&o.MetricsAddress, "metrics-address", ":8080", `address of /metrics; "0" for none`)
	flags.StringVar(&o.ProbeAddress, "probe-address", ":8081", `address of /healthz and /readyz; "0" for none`)
	flags.StringVar(&o.WebhookHost, "webhook-host", "", "address that admission is served on (default: all)")
	flags.IntVar(&o.WebhookPort, "webhook-port", 9443, "port that admission is served on; 0 for no admission")
	flags.StringVar(&f.webhookURL, "webhook-url", "", "URL by which the API server reaches admission, for a controller outside the cluster")
	flags.StringVar(&f.webhookService, "webhook-service", "bowline-webhook", "Service by which the API server reaches admission")
	flags.IntVar(&o.Workers, "workers", controller.DefaultWorkers, "how many workloads, and how many bindings, are reconciled at a time")
	flags.DurationVar(&o.Gather, "gather", controller.DefaultGather,
		"how long a workload waits for further bindings before it is changed, so that bindings applied together cause one rollout")
	f.policy.bind(flags)
	f.features.bind(flags, feature.Set{})
	flags.IntVarP(&f.verbosity, "verbosity", "v", 0, "1 tells more")
	return cmd
}

func (f *controllerFlags) run(ctx context.Context, streams Streams) error {
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(f.verbosity), textlogger.Output(streams.Err)))
	setLogger(log)
	if err := f.policy.check("bowline controller"); err != nil {
		return err
	}
	if err := f.features.check("bowline controller"); err != nil {
		return err
	}
	f.options.Features, f.options.KnownOperator = f.features.set(), f.features.knows
	f.options.WarnOnly, f.options.AllowedSecretTypes = f.policy.warnOnly(), f.policy.allowedSecretTypes
	config, err := f.cluster.config()
	if err != nil {
		return err
	}
	if f.options.WebhookPort != 0 {
		if err := f.reach(); err != nil {
			return err
		}
	}
	f.options.Log = log
	log.Info("Starting", "version", Version())
	began := time.Now()
	err = controller.Run(ctx, config, f.options)
	log.Info("Ended", "after", time.Since(began).Round(time.Second).String())
	return wrap(err, "running the controller")
}

// setLogger gives the libraries the one logger.
func setLogger(log logr.Logger) {
	ctrl.SetLogger(log)
	klog.SetLogger(log)
}

// reach works out how the API server reaches admission, and for which names its certificate is made.
func (f *controllerFlags) reach() error {
	o := &f.options
	if f.webhookURL == "" {
		o.Endpoint = admission.Endpoint{Namespace: o.Namespace, Service: f.webhookService}
		o.Hosts = []string{f.webhookService + "." + o.Namespace + ".svc"}
		return nil
	}
	u, err := url.Parse(f.webhookURL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return &usageError{
			err:     fmt.Errorf("--webhook-url %q is not of the form https://HOST:PORT", f.webhookURL),
			command: "bowline controller",
		}
	}
	o.Endpoint = admission.Endpoint{URL: f.webhookURL}
	o.CreateWebhooks = true
	o.Hosts = []string{u.Hostname()}
	if net.ParseIP(u.Hostname()) != nil {
		o.Hosts = append(o.Hosts, "localhost")
	}
	return nil
}
