package admission_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	manifests "github.com/bowline-dev/bowline/config"
	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/feature"
)

// scoper answers with a scope that tests set.
type scoper struct{ scope admission.Scope }

func (s *scoper) Scope() admission.Scope { return s.scope }

func deployments() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

// registrar returns a registrar of configurations that are this test's alone.
func registrar(t *testing.T, change func(*admission.RegistrarConfig)) (*admission.Registrar, string) {
	t.Helper()
	client := clients(t, "").AdmissionregistrationV1()
	in := admission.RegistrarConfig{
		Name:       namespace(t),
		Endpoint:   admission.Endpoint{Namespace: "nowhere", Service: "nothing"},
		User:       "bowline",
		Create:     true,
		Mutating:   client.MutatingWebhookConfigurations(),
		Validating: client.ValidatingWebhookConfigurations(),
		Bundle:     func() []byte { return nil },
		Scoper:     &scoper{},
		Now:        time.Now,
	}
	change(&in)
	t.Cleanup(func() {
		gone := func(err error) bool { return err == nil || apierrors.IsNotFound(err) }
		ctx := context.Background()
		one := client.MutatingWebhookConfigurations().Delete(ctx, in.Name, metav1.DeleteOptions{})
		other := client.ValidatingWebhookConfigurations().Delete(ctx, in.Name, metav1.DeleteOptions{})
		if !gone(one) || !gone(other) {
			t.Error(errors.Join(one, other))
		}
	})
	return admission.NewRegistrar(in), in.Name
}

// bundle returns a certificate authority, which the API server checks to be one.
func bundle(t *testing.T) []byte {
	t.Helper()
	certificates := replica(clients(t, "").CoreV1().Secrets(namespace(t)), &clock{})
	ensure(t, certificates)
	return certificates.Bundle()
}

func versions(t *testing.T, name string) []string {
	t.Helper()
	client := clients(t, "").AdmissionregistrationV1()
	mutating, err := client.MutatingWebhookConfigurations().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	validating, err := client.ValidatingWebhookConfigurations().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return []string{mutating.ResourceVersion, validating.ResourceVersion}
}

// TestRegistrarWritesOnlyOnDifference must not run beside tests that make our own kinds: its validating webhook fails.
func TestRegistrarWritesOnlyOnDifference(t *testing.T) {
	now, scope, authority := &clock{}, &scoper{}, bundle(t)
	one, name := registrar(t, func(in *admission.RegistrarConfig) {
		in.Bundle, in.Scoper, in.Now = func() []byte { return authority }, scope, now.now
	})
	sync := func() []string {
		t.Helper()
		if err := one.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		return versions(t, name)
	}
	first := sync()
	now.advance(time.Hour)
	if diff := cmp.Diff(first, sync()); diff != "" {
		t.Errorf("written again, an hour later, though nothing changed (-first +second):\n%s", diff)
	}
	scope.scope = admission.Scope{
		Resources: []schema.GroupVersionResource{deployments()}, Namespaces: []string{"shop"},
	}
	if one.Covered(deployments(), "shop") {
		t.Error("covered before it is written")
	}
	second := sync()
	if second[0] == first[0] || second[1] != first[1] {
		t.Errorf("workloads concern the mutating configuration alone: %v became %v", first, second)
	}
	if !one.Covered(deployments(), "shop") || one.Covered(deployments(), "bank") {
		t.Error("what is covered is not what was written")
	}
	now.advance(time.Hour)
	if diff := cmp.Diff(second, sync()); diff != "" {
		t.Errorf("written again though nothing changed (-first +second):\n%s", diff)
	}
	scope.scope = admission.Scope{}
	sync()
	if one.Covered(deployments(), "shop") {
		t.Error("still covered though nothing is bound")
	}
}

// TestRegistrarAgreesWithManifests sees that what is installed and what runs do not undo each other.
func TestRegistrarAgreesWithManifests(t *testing.T) {
	now, scope, authority := &clock{}, &scoper{}, bundle(t)
	one, name := registrar(t, func(in *admission.RegistrarConfig) {
		in.Endpoint = admission.Endpoint{Namespace: "bowline-system", Service: "bowline-webhook"}
		in.User = "system:serviceaccount:bowline-system:bowline-controller"
		in.Features = feature.Of(feature.All()...)
		in.Create, in.Bundle, in.Scoper, in.Now = false, func() []byte { return authority }, scope, now.now
	})
	installed := install(t, name)
	if err := one.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := clients(t, "").AdmissionregistrationV1()
	running, err := client.MutatingWebhookConfigurations().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range running.Webhooks {
		if !cmp.Equal(authority, running.Webhooks[i].ClientConfig.CABundle) {
			t.Errorf("%s lacks its authority", running.Webhooks[i].Name)
		}
		running.Webhooks[i].ClientConfig.CABundle = nil
	}
	if diff := cmp.Diff(installed.Webhooks, running.Webhooks); diff != "" {
		t.Errorf("beside the authority something changed (-installed +running):\n%s", diff)
	}
	before := versions(t, name)
	now.advance(time.Hour)
	if err := one.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, versions(t, name)); diff != "" {
		t.Errorf("written again though nothing changed (-first +second):\n%s", diff)
	}
}

// install creates the configurations of the manifests under another name.
func install(t *testing.T, name string) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	paths, err := fs.Glob(manifests.Files(), "webhook/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	client := clients(t, "").AdmissionregistrationV1()
	var mutating *admissionregistrationv1.MutatingWebhookConfiguration
	for _, path := range paths {
		raw, err := fs.ReadFile(manifests.Files(), path)
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch object := object.(type) {
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			object.Name = name
			mutating, err = client.MutatingWebhookConfigurations().Create(t.Context(), object, metav1.CreateOptions{})
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			object.Name = name
			_, err = client.ValidatingWebhookConfigurations().Create(t.Context(), object, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return mutating
}

func TestRegistrarWaitsForCertificate(t *testing.T) {
	t.Parallel()
	one, _ := registrar(t, func(*admission.RegistrarConfig) {})
	if err := one.Sync(t.Context()); !errors.Is(err, admission.ErrNoCertificate) {
		t.Errorf("got %v, want %v", err, admission.ErrNoCertificate)
	}
}

func TestRegistrarCreatesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	one, _ := registrar(t, func(in *admission.RegistrarConfig) {
		in.Create, in.Bundle = false, func() []byte { return []byte("bundle") }
	})
	if err := one.Sync(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want not found", err)
	}
}
