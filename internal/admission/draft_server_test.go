package admission_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/internal/binding"
)

// author is a person who may do everything, and the draft's kinds as they reach them.
type author struct {
	*testing.T

	name, in string
	dynamic  dynamic.Interface
}

func (e end) author(name string) author {
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:masters"}}
	client, err := dynamic.NewForConfig(as)
	if err != nil {
		e.Fatal(err)
	}
	return author{T: e.T, name: name, in: e.in, dynamic: client}
}

func (a author) of(plural string) dynamic.ResourceInterface {
	return a.dynamic.Resource(schema.GroupVersionResource{Group: "service.binding", Version: "v1alpha1", Resource: plural}).Namespace(a.in)
}

func (a author) patch(plural, name, patch string) (*unstructured.Unstructured, error) {
	made, err := a.of(plural).Patch(a.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return nil, fmt.Errorf("patching as %s: %w", a.name, err)
	}
	return made, nil
}

// isRecorded sees whose wish an object is.
func (a author) isRecorded(as string, made *unstructured.Unstructured, err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
	user, err := authority.Requester(made.GetAnnotations()[binding.RequesterAnnotation])
	if err != nil || user.Username != as {
		a.Errorf("recorded is %q, %v; want %q", user.Username, err, as)
	}
}

// drafts: the API server asks about the draft's kinds, and whose wish they are can be neither forged nor laundered.
func (e end) drafts() {
	dev, root := e.author("dev"), e.author("root")
	objects := map[string]map[string]any{
		"servicebindings": {
			"apiVersion": "service.binding/v1alpha1", "kind": "ServiceBinding",
			"spec": map[string]any{
				"service":     map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "db"},
				"application": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "orders"},
			},
		},
		"syntheticprovisionedservices": {
			"apiVersion": "service.binding/v1alpha1", "kind": "SyntheticProvisionedService",
			"spec": map[string]any{
				"type":     "kafka",
				"services": []any{map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "db"}},
			},
		},
	}
	forged := map[string]any{"annotations": map[string]any{binding.RequesterAnnotation: authority.Record(user("root"))}, "name": "x"}
	for plural, object := range objects {
		object["metadata"] = forged
		made, err := dev.of(plural).Create(e.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		dev.isRecorded("dev", made, err)
		made, err = root.patch(plural, "x", `{"metadata":{"labels":{"a":"b"},"finalizers":["example.com/wait"]}}`)
		dev.isRecorded("dev", made, err)
		made, err = dev.patch(plural, "x", `{"metadata":{"annotations":{"bowline.dev/requester":null}}}`)
		dev.isRecorded("dev", made, err)
		made, err = root.patch(plural, "x", `{"spec":{"type":"other"}}`)
		dev.isRecorded("root", made, err)
		_, err = dev.patch(plural, "x", `{"spec":{"mappings":[{"name":"uri","value":"((x"}]}}`)
		if diff := cmp.Diff([]string{"spec.mappings[0].value"}, fieldsOf(err)); diff != "" {
			e.Errorf("%s: fields refused (-want +got):\n%s\n%v", plural, diff, err)
		}
		dev.leave(plural)
	}
}

// leave deletes an object that somebody holds back: on its way out it can be forged no more than before.
func (a author) leave(plural string) {
	if err := a.of(plural).Delete(a.Context(), "x", metav1.DeleteOptions{}); err != nil {
		a.Fatal(err)
	}
	_, err := a.patch(plural, "x", `{"metadata":{"annotations":{"bowline.dev/requester":"{\"username\":\"admin\"}"}}}`)
	if !slices.Contains(fieldsOf(err), "metadata.annotations[bowline.dev/requester]") {
		a.Errorf("%s: a forged record on the way out is answered with %v", plural, err)
	}
	if _, err := a.patch(plural, "x", `{"metadata":{"finalizers":null}}`); err != nil {
		a.Errorf("%s: cannot leave: %v", plural, err)
	}
}
