package admission_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/admission"
)

const secretName = "bowline-webhook-cert"

// clock is one that tests set.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time           { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(by time.Duration) { c.offset.Add(int64(by)) }

// replica returns the certificates of one replica, kept in a namespace.
func replica(secrets admission.Secrets, c *clock) *admission.Certificates {
	return admission.NewCertificates(admission.CertificatesConfig{
		Secrets: secrets, Name: secretName, Hosts: []string{"localhost", "127.0.0.1"}, Now: c.now,
	})
}

// leaf returns the certificate that a replica serves.
func leaf(t *testing.T, certificates *admission.Certificates) []byte {
	t.Helper()
	served, err := certificates.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return served.Certificate[0]
}

func ensure(t *testing.T, certificates *admission.Certificates) {
	t.Helper()
	if err := certificates.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// start follows the Secret until the test ends.
func start(t *testing.T, certificates *admission.Certificates) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- certificates.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func secret(t *testing.T, secrets admission.Secrets) *corev1.Secret {
	t.Helper()
	stored, err := secrets.Get(t.Context(), secretName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestNoCertificateYet(t *testing.T) {
	t.Parallel()
	certificates := replica(nil, &clock{})
	if _, err := certificates.GetCertificate(nil); !errors.Is(err, admission.ErrNoCertificate) {
		t.Errorf("got %v, want %v", err, admission.ErrNoCertificate)
	}
	if certificates.Bundle() != nil {
		t.Error("there is a bundle before there is a certificate")
	}
}

func TestRacingReplicasAgree(t *testing.T) {
	t.Parallel()
	secrets := clients(t, "").CoreV1().Secrets(namespace(t))
	time := &clock{}
	replicas := make([]*admission.Certificates, 4)
	var group sync.WaitGroup
	for i := range replicas {
		replicas[i] = replica(secrets, time)
		group.Go(func() {
			if err := replicas[i].Ensure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, other := range replicas[1:] {
		if !bytes.Equal(leaf(t, replicas[0]), leaf(t, other)) {
			t.Error("replicas serve different certificates")
		}
	}
	stored := secret(t, secrets)
	if stored.Type != corev1.SecretTypeTLS {
		t.Errorf("the Secret is of type %q", stored.Type)
	}
	ensure(t, replicas[0])
	if version := secret(t, secrets).ResourceVersion; version != stored.ResourceVersion {
		t.Error("the Secret was written though nothing was to do")
	}
	select {
	case <-replicas[0].Changes():
	default:
		t.Error("the first bundle was not announced")
	}
}

func TestRenewalReachesOtherReplicas(t *testing.T) {
	t.Parallel()
	secrets := clients(t, "").CoreV1().Secrets(namespace(t))
	time := &clock{}
	first, second := replica(secrets, time), replica(secrets, time)
	ensure(t, first)
	start(t, second)
	eventually(t, "the second replica has the certificate", func(context.Context) (bool, error) {
		return second.Bundle() != nil, nil
	})
	before, bundle := leaf(t, first), first.Bundle()
	time.advance(61 * 24 * hour)
	ensure(t, first)
	if bytes.Equal(before, leaf(t, first)) {
		t.Fatal("the certificate was not renewed in time")
	}
	eventually(t, "the second replica serves the renewed certificate", func(context.Context) (bool, error) {
		return bytes.Equal(leaf(t, first), leaf(t, second)), nil
	})
	if !bytes.Equal(bundle, second.Bundle()) {
		t.Error("the authority changed with the certificate")
	}
}

const hour = time.Hour

func TestSpoiltSecretIsRepaired(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*corev1.Secret){
		"foreign": func(s *corev1.Secret) { s.Data[corev1.TLSCertKey] = []byte("someone else's") },
		"emptied": func(s *corev1.Secret) { s.Data["ca.key"] = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secrets := clients(t, "").CoreV1().Secrets(namespace(t))
			certificates := replica(secrets, &clock{})
			start(t, certificates)
			eventually(t, "there is a certificate", func(context.Context) (bool, error) {
				return certificates.Bundle() != nil, nil
			})
			before := certificates.Bundle()
			stored := secret(t, secrets)
			spoil(stored)
			if _, err := secrets.Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "there is another certificate", func(context.Context) (bool, error) {
				return !bytes.Equal(before, certificates.Bundle()), nil
			})
			ensure(t, replica(secrets, &clock{}))
		})
	}
}

func TestExpiredCertificateIsReplaced(t *testing.T) {
	t.Parallel()
	secrets := clients(t, "").CoreV1().Secrets(namespace(t))
	long := &clock{}
	first := replica(secrets, long)
	ensure(t, first)
	long.advance(3 * 365 * 24 * hour)
	second := replica(secrets, long)
	ensure(t, second)
	if bytes.Equal(first.Bundle(), second.Bundle()) {
		t.Error("an expired authority is still in use")
	}
}

// TestDeletedSecretComesBack also shows that rights on one Secret by name are enough.
func TestDeletedSecretComesBack(t *testing.T) {
	t.Parallel()
	in := namespace(t)
	admin := clients(t, "")
	grant(t, in)
	certificates := replica(clients(t, "keeper").CoreV1().Secrets(in), &clock{})
	start(t, certificates)
	eventually(t, "there is a certificate", func(context.Context) (bool, error) { return certificates.Bundle() != nil, nil })
	before := secret(t, admin.CoreV1().Secrets(in))
	if err := admin.CoreV1().Secrets(in).Delete(t.Context(), secretName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Secret is back", func(ctx context.Context) (bool, error) {
		after, err := admin.CoreV1().Secrets(in).Get(ctx, secretName, metav1.GetOptions{})
		return err == nil && bytes.Equal(before.Data[corev1.TLSCertKey], after.Data[corev1.TLSCertKey]), nil
	})
}

// grant gives the user "keeper" what the documentation of Certificates asks for, and no more.
func grant(t *testing.T, in string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "keeper"}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secretName},
			Verbs: []string{"get", "update", "watch"},
		},
	}}
	bound := &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "keeper"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "keeper"}},
	}
	rbac := clients(t, "").RbacV1()
	if _, err := rbac.Roles(in).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.RoleBindings(in).Create(t.Context(), bound, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
