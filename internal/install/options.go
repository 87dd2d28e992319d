package install

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bowline-dev/bowline/internal/feature"
)

const (
	// DefaultNamespace is where the controller lives unless told otherwise.
	DefaultNamespace = "bowline-system"
	// DefaultImage is what the Deployment runs unless told otherwise.
	DefaultImage = "bowline:latest"
	// DefaultTimeout bounds each single wait of Apply and Delete.
	DefaultTimeout = time.Minute
	// FieldManager owns the fields that Apply sets.
	FieldManager = "bowline-install"
	// WebhookConfiguration is the name of both webhook configurations.
	WebhookConfiguration = "bowline"
	// CertificateSecret holds the certificate of the admission endpoint, in the namespace of the controller.
	CertificateSecret = "bowline-webhook-cert"
	// LeaderElectionLease is the only Lease that the controller's Role lets it use.
	LeaderElectionLease = "bowline-controller"
)

// Options say what is installed. The zero value is the core of Bowline, with the defaults and without what is optional.
type Options struct {
	// Image of the controller. Defaults to DefaultImage.
	Image string
	// Namespace of the controller. Defaults to DefaultNamespace.
	Namespace string
	// External is for a controller that runs outside the cluster: Deployment, Service and PodDisruptionBudget are left
	// out, and the webhook configurations are empty until that controller fills them (see Webhooks).
	External bool
	// WithoutSecrets leaves out the ClusterRole that lets the controller read Secrets.
	WithoutSecrets bool
	// Policy adds a ValidatingAdmissionPolicy by which the API server itself asks what the author of a binding may do.
	Policy bool
	// Features are the optional abilities that are installed, each with its definitions, its roles and the controller's flag.
	Features feature.Set
	// Arguments are further ones of the controller.
	Arguments []string
	// Force lets Delete remove the bindings and mappings that people made, instead of refusing.
	Force bool
	// Timeout bounds each single wait. Defaults to DefaultTimeout.
	Timeout time.Duration
}

// complete returns the options with their defaults filled in, or what is wrong with them.
func (o Options) complete() (Options, error) {
	if o.Image == "" {
		o.Image = DefaultImage
	}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if problems := validation.IsDNS1123Label(o.Namespace); len(problems) > 0 {
		return o, &OptionError{Option: "namespace", Value: o.Namespace, Problem: strings.Join(problems, "; ")}
	}
	if strings.ContainsAny(o.Image, " \t\r\n") {
		return o, &OptionError{Option: "image", Value: o.Image, Problem: "an image reference holds no white space"}
	}
	return o, nil
}

// OptionError reports an option with a value that cannot be used.
type OptionError struct {
	Option, Value, Problem string
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("%s %q: %s", e.Option, e.Value, e.Problem)
}
