package admission

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// DefaultCheck is how often certificates are looked at when nothing seems to happen.
	DefaultCheck = time.Hour

	// pause is how long is waited after something went wrong.
	pause = 2 * time.Second
)

// Secrets is what is needed of a client for the Secrets of one namespace.
type Secrets interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, secret *corev1.Secret, opts metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, opts metav1.UpdateOptions) (*corev1.Secret, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// CertificatesConfig says where a certificate is kept and what for.
type CertificatesConfig struct {
	// Secrets is the client for the namespace of the Secret.
	Secrets Secrets
	// Name of the Secret. It belongs to Bowline: content that is broken or comes from elsewhere is replaced.
	Name string
	// Hosts are the DNS names and IP addresses by which the API server calls.
	Hosts []string
	// Now is the clock.
	Now func() time.Time
	// Check is how often to look without a cause; DefaultCheck when zero.
	Check time.Duration
}

// Certificates keeps the certificate of the webhook server: made by the first replica that finds none, shared by all
// through a Secret, renewed in time by whichever notices first. It needs get, update and watch on that one Secret, by
// name, and create in its namespace; it reads no other.
type Certificates struct {
	config  CertificatesConfig
	current atomic.Pointer[held]
	changes chan struct{}
}

// held is what was last read.
type held struct {
	version  string
	material *material
	tls      *tls.Certificate
	bundle   []byte
}

// NewCertificates returns certificates that hold nothing until Ensure or Start is called.
func NewCertificates(config CertificatesConfig) *Certificates {
	if config.Check == 0 {
		config.Check = DefaultCheck
	}
	return &Certificates{config: config, changes: make(chan struct{}, 1)}
}

// GetCertificate is for a tls.Config.
func (c *Certificates) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if now := c.current.Load(); now != nil {
		return now.tls, nil
	}
	return nil, ErrNoCertificate
}

// Bundle returns, as PEM, the authorities that a client is to trust; nothing before the first certificate.
func (c *Certificates) Bundle() []byte {
	if now := c.current.Load(); now != nil {
		return now.bundle
	}
	return nil
}

// Changes gets a value when Bundle has changed.
func (c *Certificates) Changes() <-chan struct{} {
	return c.changes
}

// NeedLeaderElection is false: each replica serves.
func (c *Certificates) NeedLeaderElection() bool {
	return false
}

// Start keeps the certificate until the context ends. It never gives up: what goes wrong is logged and tried again.
func (c *Certificates) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.follow(ctx); err != nil && ctx.Err() == nil {
			logf.FromContext(ctx).Error(err, "Keeping the certificate of the webhook server", "secret", c.config.Name)
			sleep(ctx, pause)
		}
	}
	return nil
}

// follow ensures the certificate, and again at each change of the Secret, until the watch ends or it is time for a look
// without a cause.
func (c *Certificates) follow(ctx context.Context) error {
	if err := c.Ensure(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.Check)
	defer cancel()
	changes, err := c.config.Secrets.Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, c.config.Name).String(),
	})
	if err != nil {
		return fmt.Errorf("watching Secret %q: %w", c.config.Name, err)
	}
	defer changes.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-changes.ResultChan():
			if !open || event.Type == watch.Error {
				sleep(ctx, pause)
				return nil
			}
			if err := c.notice(ctx, event); err != nil {
				return err
			}
		}
	}
}

// notice acts on a change of the Secret, unless it is the state that is held already.
func (c *Certificates) notice(ctx context.Context, event watch.Event) error {
	secret, ok := event.Object.(*corev1.Secret)
	now := c.current.Load()
	if ok && event.Type != watch.Deleted && now != nil && secret.ResourceVersion == now.version {
		return nil
	}
	return c.Ensure(ctx)
}

// Ensure reads the certificate, makes or renews it if need be, and holds what came of it. Of replicas that do so at the
// same time one writes, and the others take over what it wrote.
func (c *Certificates) Ensure(ctx context.Context) error {
	raced := func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
	}
	if err := retry.OnError(retry.DefaultBackoff, raced, func() error { return c.attempt(ctx) }); err != nil {
		return fmt.Errorf("ensuring the certificate in Secret %q: %w", c.config.Name, err)
	}
	return nil
}

func (c *Certificates) attempt(ctx context.Context) error {
	secret, err := c.config.Secrets.Get(ctx, c.config.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		secret = nil
	case err != nil:
		return fmt.Errorf("reading: %w", err)
	}
	have, want, err := c.decide(secret)
	if err != nil {
		return err
	}
	if have != want || secret == nil {
		if secret, err = c.write(ctx, secret, want); err != nil {
			return err
		}
	}
	c.hold(secret.ResourceVersion, want)
	return nil
}

// decide returns what the Secret holds, nil where that is unusable, and what it is to hold. A Secret that is gone gets
// what it held, so that API servers need not learn to trust another authority.
func (c *Certificates) decide(secret *corev1.Secret) (have, want *material, err error) {
	now := c.config.Now()
	switch {
	case secret != nil:
		if have, err = parse(secret.Data); err != nil {
			have = nil // Whatever is wrong with it, the remedy is the same: to begin anew.
		}
	case c.current.Load() != nil:
		have = c.current.Load().material
	}
	if want = have; want == nil {
		if want, err = issue(c.config.Hosts, now); err != nil {
			return nil, nil, err
		}
	}
	want, err = renewed(want, c.config.Hosts, now)
	return have, want, err
}

// write stores material in the Secret, made where it is missing. Entries of other names stay.
func (c *Certificates) write(ctx context.Context, secret *corev1.Secret, m *material) (*corev1.Secret, error) {
	data, err := m.data()
	if err != nil {
		return nil, err
	}
	if secret == nil {
		secret, err = c.config.Secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: c.config.Name},
			Type:       corev1.SecretTypeTLS,
			Data:       data,
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("creating: %w", err)
		}
		return secret, nil
	}
	secret = secret.DeepCopy()
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, data)
	if secret, err = c.config.Secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return nil, fmt.Errorf("updating: %w", err)
	}
	return secret, nil
}

func (c *Certificates) hold(version string, m *material) {
	bundle := m.bundle()
	before := c.current.Swap(&held{version: version, material: m, tls: m.tls(), bundle: bundle})
	if before != nil && slices.Equal(before.bundle, bundle) {
		return
	}
	select {
	case c.changes <- struct{}{}:
	default: // A change is waiting to be noticed already.
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
