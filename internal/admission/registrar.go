package admission

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"

	"github.com/bowline-dev/bowline/internal/feature"
)

// recheck is how long what was written is trusted to be there still.
const recheck = 10 * time.Minute

// ErrNoCertificate says that the API server cannot be told to call, since there is nothing yet to serve it with.
var ErrNoCertificate = errors.New("there is no serving certificate yet")

// Configurations is what is needed of a client for one kind of webhook configuration.
type Configurations[T any] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*T, error)
	Create(ctx context.Context, configuration *T, opts metav1.CreateOptions) (*T, error)
	Update(ctx context.Context, configuration *T, opts metav1.UpdateOptions) (*T, error)
}

// Scoper knows which workloads bindings are about.
type Scoper interface {
	// Scope returns it as of now.
	Scope() Scope
}

// RegistrarConfig says what to register and where.
type RegistrarConfig struct {
	// Name of both configurations; DefaultName when empty.
	Name string
	// Endpoint is where the handlers are served.
	Endpoint Endpoint
	// User is the name by which the API server knows this process. What it writes itself is not asked about, neither to be
	// projected nor to be validated: it MUST be nobody else's name. Empty leaves the condition as installed.
	User string
	// Create makes a configuration that is missing; without it that is an error.
	Create bool
	// Mutating and Validating are the clients.
	Mutating   Configurations[admissionregistrationv1.MutatingWebhookConfiguration]
	Validating Configurations[admissionregistrationv1.ValidatingWebhookConfiguration]
	// Bundle returns the certificate authorities to trust, as PEM.
	Bundle func() []byte
	// Scoper knows the workloads.
	Scoper Scoper
	// Features are those that are on; the webhooks of others are taken away.
	Features feature.Set
	// Now is the clock.
	Now func() time.Time
}

// Registrar tells the API server when to ask and how, in two webhook configurations. Of several replicas only one
// should: where their scopes differ for a while, they would undo each other's writes.
type Registrar struct {
	config RegistrarConfig

	// syncing holds back a second Sync while one is under way; what it then finds written already it does not write again.
	syncing sync.Mutex
	written wanted
	checked time.Time

	mu      sync.RWMutex
	covered Scope
}

// NewRegistrar returns a registrar that has written nothing yet.
func NewRegistrar(config RegistrarConfig) *Registrar {
	if config.Name == "" {
		config.Name = DefaultName
	}
	return &Registrar{config: config}
}

// Sync makes the configurations what they must be. It writes on difference only, and does not even read when nothing
// changed since it last looked, a few minutes ago at most. It may be called as often as anything might have changed.
func (r *Registrar) Sync(ctx context.Context) error {
	r.syncing.Lock()
	defer r.syncing.Unlock()
	want := wanted{
		endpoint: r.config.Endpoint, bundle: r.config.Bundle(), user: r.config.User, scope: r.config.Scoper.Scope().normal(),
		features: r.config.Features,
	}
	if len(want.bundle) == 0 {
		return fmt.Errorf("registering the webhooks: %w", ErrNoCertificate)
	}
	now := r.config.Now()
	if now.Sub(r.checked) < recheck && reflect.DeepEqual(want, r.written) {
		return nil
	}
	if err := r.write(ctx, want); err != nil {
		// What the API server holds now is not known; not covered is the answer that leads to a repair.
		r.settle(wanted{}, time.Time{})
		return err
	}
	r.settle(want, now)
	return nil
}

// Covered says whether, as of the last Sync, the API server asks about a resource in a namespace. It takes a moment, a
// second as a rule, until each API server follows what was written.
func (r *Registrar) Covered(resource schema.GroupVersionResource, namespace string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.covered.covers(resource, namespace)
}

func (r *Registrar) settle(written wanted, checked time.Time) {
	r.written, r.checked = written, checked
	r.mu.Lock()
	defer r.mu.Unlock()
	r.covered = written.scope
}

func (r *Registrar) write(ctx context.Context, want wanted) error {
	object := metav1.ObjectMeta{Name: r.config.Name}
	mutating := configuration[admissionregistrationv1.MutatingWebhookConfiguration]{
		client: r.config.Mutating, desired: want.mutating,
	}
	validating := configuration[admissionregistrationv1.ValidatingWebhookConfiguration]{
		client: r.config.Validating, desired: want.validating,
	}
	if r.config.Create {
		mutating.blank = &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: object}
		validating.blank = &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: object}
	}
	if err := mutating.ensure(ctx, r.config.Name); err != nil {
		return fmt.Errorf("registering mutating webhooks: %w", err)
	}
	if err := validating.ensure(ctx, r.config.Name); err != nil {
		return fmt.Errorf("registering validating webhooks: %w", err)
	}
	return nil
}

// configuration is one webhook configuration with what it must become.
type configuration[T any] struct {
	client  Configurations[T]
	desired func(current *T) *T
	blank   *T // what a missing one is made from; nil where it may not be made
}

// ensure reads, decides and writes, again where somebody else wrote in between.
func (c configuration[T]) ensure(ctx context.Context, name string) error {
	raced := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	if err := retry.OnError(retry.DefaultBackoff, raced, func() error { return c.attempt(ctx, name) }); err != nil {
		return fmt.Errorf("bringing %q up to date: %w", name, err)
	}
	return nil
}

func (c configuration[T]) attempt(ctx context.Context, name string) error {
	current, err := c.client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && c.blank != nil:
		if _, err := c.client.Create(ctx, c.desired(c.blank), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating it: %w", err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("reading it: %w", err)
	}
	desired := c.desired(current)
	if equality.Semantic.DeepEqual(current, desired) {
		return nil
	}
	if _, err := c.client.Update(ctx, desired, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("updating it: %w", err)
	}
	return nil
}
