package admission

import (
	"crypto/tls"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/bowline-dev/bowline/internal/feature"
)

// ServerConfig says where the handlers are served and by what they are backed.
type ServerConfig struct {
	// Host is the address to listen on; all when empty.
	Host string
	// Port to listen on.
	Port int
	// GetCertificate is that of Certificates.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Projector projects at admission.
	Projector Projector
	// Authority reviews who writes bindings.
	Authority Authority
	// WarnOnly warns where else an object would be refused for what its author lacks.
	WarnOnly bool
	// Features are those that are on. The handlers of all are served, since another replica may have registered them.
	Features feature.Set
}

// NewServer returns a server of all handlers, to be started as a manager's runnable or by itself. It serves on each
// replica, leader or not.
func NewServer(config ServerConfig) webhook.Server {
	server := webhook.NewServer(webhook.Options{
		Host: config.Host,
		Port: config.Port,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS13
			c.GetCertificate = config.GetCertificate
		}},
	})
	for path, handler := range map[string]admission.Handler{
		PathMutateBinding:            config.mutator(Bindings()),
		PathValidateBinding:          config.validator(Bindings()),
		PathMutateDraftBinding:       config.mutator(DraftBindings()),
		PathValidateDraftBinding:     config.validator(DraftBindings()),
		PathMutateSyntheticService:   config.mutator(SyntheticServices()),
		PathValidateSyntheticService: config.validator(SyntheticServices()),
		PathMutateMapping:            MappingMutator{},
		PathValidateMapping:          MappingValidator{},
		PathMutateWorkload:           &WorkloadMutator{Projector: config.Projector},
	} {
		server.Register(path, &admission.Webhook{Handler: handler})
	}
	return server
}

func (c ServerConfig) mutator(kind Kind) Mutator {
	return Mutator{Kind: kind, Record: recorded(c.Features)}
}

func (c ServerConfig) validator(kind Kind) Validator {
	return Validator{Kind: kind, Authority: c.Authority, WarnOnly: c.WarnOnly, Record: recorded(c.Features)}
}
