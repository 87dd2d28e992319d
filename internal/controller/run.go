package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/watch"
)

// Defaults of Options.
const (
	// DefaultWorkers is how many workloads, and how many bindings, are reconciled at a time.
	DefaultWorkers = 8
	// DefaultGather is how long a workload waits for further bindings before it is changed.
	DefaultGather = 500 * time.Millisecond
	// CertificateSecret is the name of the Secret that holds the webhook's certificate.
	CertificateSecret = "bowline-webhook-cert"

	leaseName = "bowline-controller"

	// When the registration of admission is looked at, if nothing that it depends on changes.
	registerSoon   = 100 * time.Millisecond
	registerRetry  = 2 * time.Second
	registerCheck  = 5 * time.Minute
	registerAnyway = 10 * time.Second
)

// Options say how the controller runs.
type Options struct {
	// Namespace holds the lease and the webhook's certificate.
	Namespace string
	// LeaderElection is needed where more than one replica runs.
	LeaderElection bool
	// MetricsAddress is where metrics are served; "0" for nowhere.
	MetricsAddress string
	// ProbeAddress is where /healthz and /readyz are served; "0" for nowhere.
	ProbeAddress string
	// WebhookHost is the address that admission is served on; all when empty.
	WebhookHost string
	// WebhookPort is the port that admission is served on; zero for no admission.
	WebhookPort int
	// Endpoint is where the API server reaches admission.
	Endpoint admission.Endpoint
	// Hosts are the names and addresses that the webhook's certificate is for.
	Hosts []string
	// CreateWebhooks makes the webhook configurations when they are missing.
	CreateWebhooks bool
	// Workers is how many workloads, and how many bindings, are reconciled at a time; DefaultWorkers when zero.
	Workers int
	// Gather is how long a workload waits for further bindings before it is changed.
	Gather time.Duration
	// Features are the optional abilities that are switched on. Each needs its own roles.
	Features feature.Set
	// KnownOperator says whether the resources of an operator are described by what Bowline knows of it; nil for all.
	KnownOperator func(name string) bool
	// WarnOnly lets bindings pass whose author may not get the service or update the workload, with a warning.
	WarnOnly bool
	// AllowedSecretTypes are types of Secrets with credentials of the platform that may be bound all the same.
	AllowedSecretTypes []string
	// SkipNameValidation allows a second controller in one process, as tests need.
	SkipNameValidation bool
	// Log receives what is worth telling.
	Log logr.Logger
}

// Run runs the controller until the context ends or it loses the lead; it then finishes what it has begun.
func Run(ctx context.Context, config *rest.Config, options Options) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's own fairness decides
	config.UserAgent = "bowline-controller"
	mgr, err := newManager(config, options)
	if err != nil {
		return err
	}
	parts, err := assemble(mgr, options)
	if err != nil {
		return err
	}
	if options.WebhookPort != 0 {
		if err := parts.addAdmission(ctx, mgr, options); err != nil {
			return err
		}
	}
	if err := parts.addReconcilers(mgr, options); err != nil {
		return err
	}
	if err := parts.addMakers(mgr, options); err != nil {
		return err
	}
	if err := parts.addProbes(mgr); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the controller: %w", err)
	}
	return nil
}

func newManager(config *rest.Config, options Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(bindingv1.AddToScheme(scheme), draftv1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("registering the API: %w", err)
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: scheme,
		Logger: options.Log,
		Cache:  cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Metrics: server.Options{
			BindAddress: options.MetricsAddress,
		},
		HealthProbeBindAddress:        options.ProbeAddress,
		Controller:                    crconfig.Controller{SkipNameValidation: &options.SkipNameValidation},
		LeaderElection:                options.LeaderElection,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       options.Namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the controller: %w", err)
	}
	return mgr, nil
}

// parts are what a controller is made of.
type parts struct {
	clients      *kubernetes.Clientset
	dynamic      dynamic.Interface
	reads        watch.Clients
	hub          *watch.Hub
	sink         *sink
	registrar    *admission.Registrar
	certificates *admission.Certificates
	webhooks     webhook.Server
}

func assemble(mgr manager.Manager, options Options) (*parts, error) {
	config, client := mgr.GetConfig(), mgr.GetHTTPClient()
	clients, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("making the client for services and workloads: %w", err)
	}
	metadataClient, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("making the client for metadata: %w", err)
	}
	reads := watch.Clients{
		Dynamic:   dynamicClient,
		Metadata:  metadataClient,
		Discovery: clients.Discovery(),
		Access:    clients.AuthorizationV1().SelfSubjectAccessReviews(),

		AllowedSecretTypes: options.AllowedSecretTypes,
		Features:           options.Features,
	}
	hub := watch.New(options.Log.WithName("watch"), reads, mgr.GetCache())
	if err := mgr.Add(hub); err != nil {
		return nil, fmt.Errorf("adding the hub: %w", err)
	}
	return &parts{
		clients: clients, dynamic: dynamicClient, reads: reads, hub: hub,
		sink: newSink(newGathering(options.Gather, time.Now)),
	}, nil
}

// addAdmission adds the webhook server, its certificate and, for the leader, its registration at the API server.
func (p *parts) addAdmission(ctx context.Context, mgr manager.Manager, options Options) error {
	self, err := p.clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("asking the API server who Bowline is to it: %w", err)
	}
	p.certificates = admission.NewCertificates(admission.CertificatesConfig{
		Secrets: p.clients.CoreV1().Secrets(options.Namespace), Name: CertificateSecret, Hosts: options.Hosts, Now: time.Now,
	})
	p.registrar = admission.NewRegistrar(admission.RegistrarConfig{
		Endpoint:   options.Endpoint,
		User:       self.Status.UserInfo.Username,
		Create:     options.CreateWebhooks,
		Mutating:   p.clients.AdmissionregistrationV1().MutatingWebhookConfigurations(),
		Validating: p.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations(),
		Bundle:     p.certificates.Bundle,
		Scoper:     scoper{p.hub},
		Features:   options.Features,
		Now:        time.Now,
	})
	p.webhooks = admission.NewServer(admission.ServerConfig{
		Host: options.WebhookHost, Port: options.WebhookPort,
		GetCertificate: p.certificates.GetCertificate, Projector: projector{p.hub},
		Authority: authority.New(p.clients.AuthorizationV1().SubjectAccessReviews(), p.clients.Discovery(), time.Now),
		WarnOnly:  options.WarnOnly,
		Features:  options.Features,
	})
	registration := manager.RunnableFunc(p.register)
	for _, runnable := range []manager.Runnable{p.certificates, p.webhooks, registration} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("adding admission: %w", err)
		}
	}
	return nil
}

// register keeps the registration at the API server in step with the certificate and with the kinds that bindings name.
func (p *parts) register(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx)
	began := time.Now()
	for ctx.Err() == nil {
		wait := registerSoon
		// What is known only in part would be written twice.
		if p.hub.Settled() || time.Since(began) > registerAnyway {
			err := p.registrar.Sync(ctx)
			wait = registerCheck
			if err != nil && ctx.Err() == nil {
				wait = registerRetry
				if !errors.Is(err, admission.ErrNoCertificate) {
					log.Error(err, "Registering admission")
				}
			}
		}
		p.await(ctx, wait)
	}
	return nil
}

// await waits until something comes that the registration depends on, or a time is over.
func (p *parts) await(ctx context.Context, atMost time.Duration) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-p.sink.kinds:
	case <-p.certificates.Changes():
	}
}

func (p *parts) addReconcilers(mgr manager.Manager, options Options) error {
	shared := newLedger()
	workloads := &WorkloadReconciler{
		hub: p.hub, client: p.dynamic, ledger: shared, gather: p.sink.gather, now: time.Now,
		tell: func(uid string) {
			if b := p.hub.BindingByUID(uid); b != nil {
				p.sink.BindingChanged(b.Key)
			}
		},
	}
	bindings := &BindingReconciler{
		hub: p.hub, client: mgr.GetClient(), events: mgr.GetEventRecorder("bowline"), ledger: shared, now: time.Now,
		covered: coverage(p.hub, p.registrar), lastSeen: newWrites(),
	}
	workers := options.Workers
	if workers == 0 {
		workers = DefaultWorkers
	}
	byWorkload, err := controller.NewTyped("workload", mgr, controller.TypedOptions[watch.WorkloadKey]{
		Reconciler: workloads, MaxConcurrentReconciles: workers, RateLimiter: backoff[watch.WorkloadKey](),
		NewQueue: newQueue(tenantOfWorkload),
	})
	if err != nil {
		return fmt.Errorf("adding the reconciler of workloads: %w", err)
	}
	byBinding, err := controller.NewTyped("binding", mgr, controller.TypedOptions[binding.Key]{
		Reconciler: bindings, MaxConcurrentReconciles: workers, RateLimiter: backoff[binding.Key](),
		NewQueue: newQueue(tenantOfBinding),
	})
	if err != nil {
		return fmt.Errorf("adding the reconciler of bindings: %w", err)
	}
	return errors.Join(
		byWorkload.Watch(feedQueue(p.hub, p.sink, &p.sink.workloads)),
		byBinding.Watch(feedQueue(p.hub, p.sink, &p.sink.bindings)),
	)
}

// backoff spaces out what fails, each key by itself, so that one bad binding never delays another.
func backoff[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](50*time.Millisecond, time.Minute)
}

func (p *parts) addProbes(mgr manager.Manager) error {
	ready := func(request *http.Request) error {
		switch {
		case !p.hub.Settled():
			return watch.ErrStarting
		case p.certificates != nil && len(p.certificates.Bundle()) == 0:
			return admission.ErrNoCertificate
		case p.webhooks != nil:
			return p.webhooks.StartedChecker()(request)
		}
		return nil
	}
	return errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ready", ready))
}
