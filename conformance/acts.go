package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// status is what the specification says of a binding's status.
type status struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	Conditions         []metav1.Condition `json:"conditions"`
	Binding            *struct {
		Name string `json:"name"`
	} `json:"binding"`
}

// readStatus reads the status of a binding, and whether it is about the binding as it is now. The early draft knows no
// observed generation: there a status without one may be.
func readStatus(object *unstructured.Unstructured) (status, bool, error) {
	var s status
	if err := decode(object.Object["status"], &s); err != nil {
		return s, false, fmt.Errorf("reading the status: %w", err)
	}
	silent := s.ObservedGeneration == 0 && object.GroupVersionKind().Group == draftGroup
	return s, silent || s.ObservedGeneration == object.GetGeneration(), nil
}

// get reads an object of the clause's namespace, or of the cluster.
func (t *T) get(resource schema.GroupVersionResource, name string) (*unstructured.Unstructured, error) {
	object, err := t.in(resource, t.ns).Get(t.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", resource.Resource, name, err)
	}
	return object, nil
}

// must reads an object that has to be there.
func (t *T) must(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	object, err := t.get(resource, name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return object
}

// remove deletes an object of the clause's namespace.
func (t *T) remove(resource schema.GroupVersionResource, name string) {
	background := metav1.DeletePropagationBackground
	err := t.in(resource, t.ns).Delete(t.ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil {
		t.Fatalf("deleting %s %s: %v", resource.Resource, name, err)
	}
}

// unbind deletes a binding and waits until it is gone.
func (t *T) unbind(name string) {
	t.remove(t.bindings(), name)
	t.gone(t.bindings(), name)
}

func (t *T) gone(resource schema.GroupVersionResource, name string) {
	t.Eventually(resource.Resource+" "+name+" is gone", func() error {
		_, err := t.get(resource, name)
		if err == nil {
			return errors.New("it is there")
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// merge applies a JSON merge patch.
func (t *T) merge(resource schema.GroupVersionResource, name, patch string, subresources ...string) {
	if err := t.tryMerge(resource, name, patch, subresources...); err != nil {
		t.Fatalf("changing %s %s: %v", resource.Resource, name, err)
	}
}

func (t *T) tryMerge(resource schema.GroupVersionResource, name, patch string, subresources ...string) error {
	_, err := t.in(resource, t.ns).
		Patch(t.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err //nolint:wrapcheck // the caller asks for its kind
}

// remap changes the one template of a mapping.
func (t *T) remap(name, spec string) {
	object, err := parse(spec)
	if err != nil || len(object) != 1 {
		t.Fatalf("reading a mapping: %v", err)
	}
	data, err := json.Marshal(map[string]any{"spec": object[0].Object["spec"]})
	if err != nil {
		t.Fatalf("encoding a mapping: %v", err)
	}
	_, err = t.Client().Resource(t.mappings()).Patch(t.ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("changing mapping %s: %v", name, err)
	}
}

// condition waits until a condition of a binding has a value at the binding's current generation.
func (t *T) condition(name, kind string, want metav1.ConditionStatus) metav1.Condition {
	var found metav1.Condition
	t.Eventually(fmt.Sprintf("%s of binding %s is %s", kind, name, want), func() error {
		object, err := t.get(t.bindings(), name)
		if err != nil {
			return err
		}
		s, current, err := readStatus(object)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(s.Conditions, kind)
		switch {
		case c == nil:
			return errors.New("there is no such condition")
		case !current:
			return fmt.Errorf("the status is about generation %d, not %d", s.ObservedGeneration, object.GetGeneration())
		case c.Status != want:
			return fmt.Errorf("it is %s (%s): %s", c.Status, c.Reason, c.Message)
		}
		found = *c
		return nil
	})
	return found
}

// ready waits until bindings are.
func (t *T) ready(names ...string) {
	for _, name := range names {
		t.condition(name, readyCondition, metav1.ConditionTrue)
	}
}

// unready waits until a binding says that it cannot be completed.
func (t *T) unready(name string) metav1.Condition {
	return t.condition(name, readyCondition, metav1.ConditionFalse)
}

// refused sees that a binding is either not accepted, or says that it cannot be completed; and that a workload which has
// no projection does not get one.
func (t *T) refused(text string, w target) {
	objects, err := parse(text)
	if err != nil || len(objects) != 1 {
		t.Fatalf("reading a binding: %v", err)
	}
	err = t.create(objects[0])
	switch {
	case isRefusal(err):
	case err != nil:
		t.Fatalf("creating %s: %v", objects[0].GetName(), err)
	default:
		t.unready(objects[0].GetName())
	}
	t.unprojected(w)
}

// isRefusal says whether the API server, or admission, does not accept an object because of what is in it.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err)
}

// rejected sees that the API server does not accept an object.
func (t *T) rejected(what, text string) {
	objects, err := parse(text)
	if err != nil || len(objects) != 1 {
		t.Fatalf("reading %s: %v", what, err)
	}
	if err := t.create(objects[0]); !isRefusal(err) {
		t.Fatalf("%s was not refused: %v", what, err)
	}
}

// history records the conditions of a binding that does not exist yet; the function it returns ends that and gives each
// that was seen, in order.
func (t *T) history(name string) func() []metav1.Condition {
	watcher, err := t.in(t.bindings(), t.ns).Watch(t.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatalf("watching binding %s: %v", name, err)
	}
	var seen []metav1.Condition
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok || object.GetName() != name {
				continue
			}
			if s, _, err := readStatus(object); err == nil {
				seen = append(seen, s.Conditions...)
			}
		}
	}()
	return func() []metav1.Condition {
		watcher.Stop()
		<-done
		return seen
	}
}

// mustSay sees that a condition has a reason and a message, and that the message names something.
func (t *T) mustSay(c metav1.Condition, word string) {
	if c.Reason == "" || c.Message == "" {
		t.Fatalf("%s is %s without a reason or message", c.Type, c.Status)
	}
	if !strings.Contains(c.Message, word) {
		t.Fatalf("the message of %s does not name %q: %s", c.Type, word, c.Message)
	}
}

const (
	readyCondition   = "Ready"
	serviceCondition = "ServiceAvailable"
)

// patchJSON applies a JSON patch to a workload.
func (t *T) patchJSON(w target, patch string) {
	_, err := t.in(w.resource, t.ns).Patch(t.ctx, w.name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("changing %s: %v", w, err)
	}
}

// ensure creates a cluster-scoped object unless there is one of its name.
func (t *T) ensure(text string) {
	objects, err := parse(text)
	if err != nil || len(objects) != 1 {
		t.Fatalf("reading manifests: %v", err)
	}
	if err := t.create(objects[0]); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("creating %s %s: %v", objects[0].GetKind(), objects[0].GetName(), err)
	}
}
