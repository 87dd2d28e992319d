package extensions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/bowline-dev/bowline/internal/produce"
)

// player plays one scenario in a namespace of its own.
type player struct {
	t        *testing.T
	scenario *scenario
	ns       string
	// asUser is who acts; empty for the administrator.
	asUser string
	acting dynamic.Interface
	admin  dynamic.Interface
	// workloads are as they would be without any binding.
	workloads map[string]*unstructured.Unstructured
	// clusterwide are the objects outside of the namespace, to be removed.
	clusterwide []*unstructured.Unstructured
}

func newPlayer(t *testing.T, s *scenario) *player {
	t.Helper()
	client, err := clientOf("")
	if err == nil {
		err = emptyNamespace(t.Context(), client, s.name)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &player{
		t: t, scenario: s, ns: s.name, acting: client, admin: client, workloads: map[string]*unstructured.Unstructured{},
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := destroyNamespace(ctx, client, s.name); err != nil {
			t.Error(err)
		}
		for _, object := range slices.Backward(p.clusterwide) {
			if resource, err := p.of(p.admin, object); err == nil {
				_ = resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
			}
		}
	})
	return p
}

// become changes who acts.
func (p *player) become(user string) (err error) {
	if user == "admin" {
		user = ""
	}
	p.asUser = user
	p.acting, err = clientOf(user)
	return err
}

// of is the client for the kind and namespace of an object.
func (p *player) of(client dynamic.Interface, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	resource, namespaced, err := resourceOf(object.GroupVersionKind())
	if err != nil || !namespaced {
		return client.Resource(resource), err
	}
	return client.Resource(resource).Namespace(p.ns), nil
}

func (p *player) create(object *unstructured.Unstructured) error {
	resource, err := p.of(p.acting, object)
	if err != nil {
		return err
	}
	if err := p.remember(object); err != nil {
		return err
	}
	created, err := p.tryCreate(resource, object)
	if err != nil {
		return err
	}
	if created.GetNamespace() == "" {
		p.clusterwide = append(p.clusterwide, created)
	}
	if object.GetKind() == "CustomResourceDefinition" {
		return served(p.t.Context(), object)
	}
	return nil
}

// tryCreate creates an object. What a role allows that was granted a moment ago may not have reached the API server's memory.
func (p *player) tryCreate(resource dynamic.ResourceInterface, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var created *unstructured.Unstructured
	var last error
	err := wait.PollUntilContextTimeout(p.t.Context(), pollGap, patience, true, func(ctx context.Context) (bool, error) {
		created, last = resource.Create(ctx, object, metav1.CreateOptions{})
		return !apierrors.IsForbidden(last) || !strings.Contains(last.Error(), " cannot create resource "), nil
	})
	if last != nil {
		return nil, last
	}
	return created, err
}

// remember keeps a workload as the API server would have it where nothing is bound.
func (p *player) remember(object *unstructured.Unstructured) error {
	if !isWorkload(object) {
		return nil
	}
	resource, _, err := resourceOf(object.GroupVersionKind())
	if err != nil {
		return err
	}
	plain, err := p.admin.Resource(resource).Namespace(metav1.NamespaceDefault).
		Create(p.t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("trying it where nothing is bound: %w", err)
	}
	p.workloads[object.GetKind()+"/"+object.GetName()] = plain
	return nil
}

func (p *player) change(patch *unstructured.Unstructured) error {
	resource, err := p.of(p.acting, patch)
	if err != nil {
		return err
	}
	data, err := patch.MarshalJSON()
	if err != nil {
		return err
	}
	if _, err := resource.Patch(p.t.Context(), patch.GetName(), types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
		return err
	}
	before, ok := p.workloads[patch.GetKind()+"/"+patch.GetName()]
	if !ok {
		return nil
	}
	merge(before.Object, patch.Object)
	return nil
}

// merge applies a JSON merge patch.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		have, also := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && also:
			merge(have, inner)
		default:
			into[key] = value
		}
	}
}

func (p *player) remove(object *unstructured.Unstructured) error {
	resource, err := p.of(p.acting, object)
	if err != nil {
		return err
	}
	if err := resource.Delete(p.t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
		return err
	}
	delete(p.workloads, object.GetKind()+"/"+object.GetName())
	return p.absent(object)
}

func (p *player) absent(object *unstructured.Unstructured) error {
	resource, err := p.of(p.admin, object)
	if err != nil {
		return err
	}
	return eventually(p.t.Context(), patience, func() error {
		_, err := resource.Get(p.t.Context(), object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}

// refused tries what must be refused, and compares the answer with the section that follows.
func (p *player) refused(i int, object *unstructured.Unstructured) error {
	files := p.scenario.archive.Files
	stem := strings.TrimSuffix(files[i].Name, ".yaml")
	if i+1 == len(files) || files[i+1].Name != stem+".txt" {
		return fmt.Errorf("the section %s.txt must follow, with the answer", stem)
	}
	resource, err := p.of(p.acting, object)
	if err != nil {
		return err
	}
	err = p.create(object)
	if apierrors.IsAlreadyExists(err) {
		data, _ := object.MarshalJSON()
		_, err = resource.Patch(p.t.Context(), object.GetName(), types.MergePatchType, data, metav1.PatchOptions{})
	}
	if err == nil {
		return errors.New("it was not refused")
	}
	if *update {
		p.scenario.rewrite(i+1, err.Error()+"\n")
	}
	if diff := cmp.Diff(strings.TrimSpace(string(files[i+1].Data)), strings.TrimSpace(err.Error())); diff != "" {
		return fmt.Errorf("the answer is another one (-want +got):\n%s", diff)
	}
	return nil
}

// want waits until an object is as wanted.
func (p *player) want(object *unstructured.Unstructured) error {
	resource, err := p.of(p.admin, object)
	if err != nil {
		return err
	}
	decode(object)
	err = eventually(p.t.Context(), patience, func() error {
		got, err := resource.Get(p.t.Context(), object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if seen, ok, _ := unstructured.NestedInt64(got.Object, "status", "observedGeneration"); ok && seen != got.GetGeneration() {
			return errors.New("its status is of an older generation")
		}
		decode(got)
		return within("", object.Object, got.Object)
	})
	if err != nil {
		return err
	}
	return p.quiet()
}

// unbind deletes what was bound, and sees that nothing is left of it.
func (p *player) unbind() error {
	for _, kind := range []schema.GroupVersionKind{
		{Group: "service.binding", Version: "v1alpha1", Kind: "ServiceBinding"},
		{Group: "servicebinding.io", Version: "v1", Kind: "ServiceBinding"},
	} {
		if err := p.removeAll(kind); err != nil {
			return err
		}
	}
	for name, before := range p.workloads {
		resource, err := p.of(p.admin, before)
		if err != nil {
			return err
		}
		after, err := resource.Get(p.t.Context(), before.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if diff := cmp.Diff(essence(before), essence(after)); diff != "" {
			return fmt.Errorf("%s is not as it was (-before +after):\n%s", name, diff)
		}
	}
	if err := p.noneMade(string(produce.ForBinding), string(produce.ForService)); err != nil {
		return err
	}
	synthetic := schema.GroupVersionKind{Group: "service.binding", Version: "v1alpha1", Kind: "SyntheticProvisionedService"}
	if err := p.removeAll(synthetic); err != nil {
		return err
	}
	if err := p.noneMade(string(produce.ForSynthetic)); err != nil {
		return err
	}
	return p.quiet()
}

// removeAll deletes all objects of a kind and waits for their end.
func (p *player) removeAll(kind schema.GroupVersionKind) error {
	found, err := p.list(kind)
	if err != nil {
		return err
	}
	if err := p.become("admin"); err != nil {
		return err
	}
	for i := range found {
		if err := p.remove(&found[i]); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s %s: %w", kind.Kind, found[i].GetName(), err)
		}
	}
	return nil
}

func (p *player) list(kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	resource, err := p.of(p.admin, object)
	if err != nil {
		return nil, err
	}
	list, err := resource.List(p.t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
	}
	return list.Items, nil
}

// noneMade waits until no Secret is left that was made for some purposes.
func (p *player) noneMade(purposes ...string) error {
	return eventually(p.t.Context(), patience, func() error {
		all, err := p.list(secretKind)
		if err != nil {
			return err
		}
		for _, secret := range all {
			if slices.Contains(purposes, secret.GetLabels()[produce.MadeForLabel]) {
				return fmt.Errorf("Secret %s, made for a %s, is still there", secret.GetName(), secret.GetLabels()[produce.MadeForLabel])
			}
		}
		return nil
	})
}

// essence is what a person wrote into a workload.
func essence(object *unstructured.Unstructured) map[string]any {
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, "deployment.kubernetes.io/revision")
	kept := map[string]any{"spec": object.Object["spec"], "labels": object.GetLabels()}
	if len(annotations) > 0 {
		kept["annotations"] = annotations
	}
	data, err := json.Marshal(kept)
	if err == nil {
		kept = map[string]any{}
		err = json.Unmarshal(data, &kept)
	}
	if err != nil {
		panic(err)
	}
	return kept
}
