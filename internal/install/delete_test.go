package install_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/install"
)

const finalizer = "servicebinding.io/finalizer"

func mustCreate(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if err := create(t, object); err != nil {
		t.Fatalf("creating %s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

// assertNothingIsLeft looks for every object of an installation. Only the namespace may take longer than Delete waits.
func assertNothingIsLeft(t *testing.T) {
	t.Helper()
	for _, object := range objects(t, install.Options{Features: feature.Of(feature.All()...), Policy: true}) {
		if object.GetKind() == "Namespace" {
			eventually(t, "the namespace is gone", func() bool { return get(t, object) == nil })
		} else if get(t, object) != nil {
			t.Errorf("%s %s is left", object.GetKind(), object.GetName())
		}
	}
}

func TestDeleteLeavesNothing(t *testing.T) {
	apply(t, install.Options{})
	certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: install.CertificateSecret}}
	secrets := typed(t).CoreV1().Secrets(install.DefaultNamespace)
	if _, err := secrets.Create(t.Context(), certificate, metav1.CreateOptions{}); err != nil {
		t.Fatalf("making the certificate: %v", err)
	}
	for range 2 { // the second time there is nothing to delete
		if err := install.Delete(t.Context(), config, install.Options{}, nil); err != nil {
			t.Fatalf("Delete: %v", err)
		}
		assertNothingIsLeft(t)
	}
}

func TestDeleteRefusesWhileInUse(t *testing.T) {
	apply(t, install.Options{External: true})
	mustCreate(t, binding("v1", "zebra"))
	mustCreate(t, binding("v1beta1", "ant"))
	mustCreate(t, mapping("v1", "widgets.example", map[string]any{"version": "*"}))
	before := versions(t, install.Options{External: true})
	err := install.Delete(t.Context(), config, install.Options{}, nil)
	var use *install.InUseError
	if !errors.As(err, &use) {
		t.Fatalf("Delete: %v, want an InUseError", err)
	}
	want := &install.InUseError{Bindings: []string{"default/ant", "default/zebra"}, Mappings: []string{"widgets.example"}}
	if diff := cmp.Diff(want, use); diff != "" {
		t.Errorf("what is in use (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, versions(t, install.Options{External: true})); diff != "" {
		t.Errorf("a refused Delete wrote (-before +after):\n%s", diff)
	}
}

// withDrafts is an installation with the draft's kinds.
func withDrafts() install.Options {
	return install.Options{External: true, Features: feature.Of(feature.DraftAPI, feature.SyntheticServices)}
}

// TestDraftsAreUse: what people made of the draft's kinds keeps Bowline there, whatever options Delete is given.
func TestDraftsAreUse(t *testing.T) {
	apply(t, withDrafts())
	mustCreate(t, draft("old"))
	mustCreate(t, synthetic("kafka"))
	err := install.Delete(t.Context(), config, install.Options{}, nil)
	var use *install.InUseError
	if !errors.As(err, &use) {
		t.Fatalf("Delete: %v, want an InUseError", err)
	}
	want := &install.InUseError{DraftBindings: []string{"default/old"}, SyntheticServices: []string{"default/kafka"}}
	if diff := cmp.Diff(want, use); diff != "" {
		t.Errorf("what is in use (-want +got):\n%s", diff)
	}
	message := "Bowline is in use: 1 ServiceBinding(s) of service.binding exist: default/old; " +
		"1 SyntheticProvisionedService(s) exist: default/kafka"
	if diff := cmp.Diff(message, use.Error()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

// TestDraftsOutliveTheirFeature: who installs without a feature that is in use loses nothing.
func TestDraftsOutliveTheirFeature(t *testing.T) {
	apply(t, withDrafts())
	mustCreate(t, draft("old"))
	said := apply(t, install.Options{External: true})
	if get(t, draft("old")) == nil || !said.has("servicebindings.service.binding is kept") {
		t.Errorf("progress %q, want the kind kept that is in use", said.lines)
	}
	if !said.has("syntheticprovisionedservices.service.binding deleted") {
		t.Errorf("progress %q, want the kind deleted that nobody uses", said.lines)
	}
}

func TestForcedDeleteReleasesDrafts(t *testing.T) {
	apply(t, withDrafts())
	mustCreate(t, draft("old", "bowline.dev/unbind"))
	mustCreate(t, synthetic("kafka"))
	said := &record{}
	opts := install.Options{Force: true, Timeout: 2 * time.Second}
	if err := install.Delete(t.Context(), config, opts, said.add); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if !said.has("its workload (Deployment orders) keeps what was projected") {
		t.Errorf("progress %q, want the workload named that stays bound", said.lines)
	}
	assertNothingIsLeft(t)
}

// TestDraftsOfOthersAreLeftAlone: the kinds may be another implementation's.
func TestDraftsOfOthersAreLeftAlone(t *testing.T) {
	apply(t, withDrafts())
	crd := find(t, objects(t, withDrafts()), "CustomResourceDefinition", "servicebindings.service.binding")
	relabel := func(value string) {
		t.Helper()
		_, err := resource(t, crd).Patch(t.Context(), crd.GetName(), types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"app.kubernetes.io/part-of":"`+value+`"}}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	relabel("another")
	mustCreate(t, draft("theirs"))
	if err := install.Delete(t.Context(), config, install.Options{Force: true}, nil); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if found := get(t, draft("theirs")); found == nil || found.GetDeletionTimestamp() != nil {
		t.Error("another implementation's binding was deleted")
	}
	relabel("bowline")
}

func TestForcedDeleteWaitsForTheController(t *testing.T) {
	apply(t, install.Options{External: true})
	mustCreate(t, binding("v1", "orders", finalizer))
	release := releaseLikeTheController(t)
	said := &record{}
	if err := install.Delete(t.Context(), config, install.Options{Force: true}, said.add); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	<-release
	if said.has("given up") || !said.has("ServiceBinding default/orders deleted") {
		t.Errorf("progress %q, want the binding deleted and released", said.lines)
	}
	assertNothingIsLeft(t)
}

// releaseLikeTheController takes the finalizer from the binding orders once it is being deleted, and then closes the
// channel.
func releaseLikeTheController(t *testing.T) <-chan struct{} {
	t.Helper()
	released := make(chan struct{})
	bindings := resource(t, binding("v1", "orders"))
	changes, err := bindings.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("watching bindings: %v", err)
	}
	go func() {
		defer close(released)
		defer changes.Stop()
		for change := range changes.ResultChan() {
			object, ok := change.Object.(*unstructured.Unstructured)
			if !ok || object.GetDeletionTimestamp() == nil {
				continue
			}
			_, err := bindings.Patch(context.Background(), "orders", types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil {
				t.Errorf("taking the finalizer: %v", err)
			}
			return
		}
	}()
	return released
}

func TestForcedDeleteEndsWithoutAController(t *testing.T) {
	apply(t, install.Options{External: true})
	mustCreate(t, binding("v1", "orders", finalizer))
	apply(t, install.Options{}) // with webhooks that nobody answers
	said := &record{}
	opts := install.Options{Force: true, Timeout: 5 * time.Second}
	if err := install.Delete(t.Context(), config, opts, said.add); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if !said.has("its workload (Deployment orders) keeps what was projected") {
		t.Errorf("progress %q, want the workload named that stays bound", said.lines)
	}
	assertNothingIsLeft(t)
}

func TestForcedDeleteLeavesFinalizersOfOthers(t *testing.T) {
	apply(t, install.Options{External: true})
	held := binding("v1", "held", finalizer, "example.com/backup")
	mustCreate(t, held)
	err := install.Delete(t.Context(), config, install.Options{Force: true, Timeout: time.Second}, nil)
	if !errors.Is(err, install.ErrTimeout) {
		t.Errorf("Delete: %v, want ErrTimeout", err)
	}
	if diff := cmp.Diff([]string{"example.com/backup"}, get(t, held).GetFinalizers()); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	_, err = resource(t, held).Patch(t.Context(), "held", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("taking the last finalizer: %v", err)
	}
	if err := install.Delete(t.Context(), config, install.Options{}, nil); err != nil {
		t.Errorf("Delete once the finalizer is gone: %v", err)
	}
	assertNothingIsLeft(t)
}
