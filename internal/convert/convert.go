package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubejson "sigs.k8s.io/json"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/compose"
)

var (
	draftKind     = draftv1alpha1.GroupVersion.WithKind("ServiceBinding")
	syntheticKind = draftv1alpha1.GroupVersion.WithKind("SyntheticProvisionedService")
	bindingKind   = bindingv1.GroupVersion.WithKind("ServiceBinding")
)

// Result is what became of objects.
type Result struct {
	// Objects are the given ones in their order, each binding of the draft with what it was rewritten as in its place.
	Objects []*unstructured.Unstructured
	// Remarks are what is worth telling about bindings, in their order.
	Remarks []Remark
}

// Remark is something that a person should know of a binding.
type Remark struct {
	// Object is the place of the binding among the given ones.
	Object int
	// Name is the binding's.
	Name string
	// Field is what the remark is about.
	Field string
	// Text says what is so, and what to do.
	Text string
	// Kept says that the binding stands in the result as it was given.
	Kept bool
}

// obstacle is why a binding cannot be rewritten.
type obstacle struct{ field, text string }

func blocked(at, format string, args ...any) *obstacle {
	return &obstacle{field: at, text: fmt.Sprintf(format, args...)}
}

// Convert rewrites each ServiceBinding of service.binding/v1alpha1. What it needs to know of other objects, such as the names of
// containers or the entries of a Secret, it takes from those that are given. Anything else it passes on as it is.
func Convert(objects []*unstructured.Unstructured) Result {
	c := &converter{objects: objects, taken: map[identity]bool{}}
	for _, object := range objects {
		c.taken[identityOf(object)] = true
	}
	var result Result
	for i, object := range objects {
		if object.GroupVersionKind() != draftKind {
			result.Objects = append(result.Objects, object)
			continue
		}
		made, note, why := c.binding(object)
		if why != nil {
			note = &Remark{Field: why.field, Text: why.text, Kept: true}
			made = []*unstructured.Unstructured{object}
		}
		for _, one := range made {
			c.taken[identityOf(one)] = true
		}
		if note != nil {
			note.Object, note.Name = i, object.GetName()
			result.Remarks = append(result.Remarks, *note)
		}
		result.Objects = append(result.Objects, made...)
	}
	return result
}

// identity names an object, whichever version of its kind is used.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

func identityOf(object *unstructured.Unstructured) identity {
	return identity{object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName()}
}

type converter struct {
	objects []*unstructured.Unstructured
	taken   map[identity]bool
}

// find returns an object among the given ones; of several the last, as it would be were they applied in turn.
func (c *converter) find(id identity) *unstructured.Unstructured {
	for _, object := range slices.Backward(c.objects) {
		if identityOf(object) == id {
			return object
		}
	}
	return nil
}

// binding rewrites one.
func (c *converter) binding(object *unstructured.Unstructured) ([]*unstructured.Unstructured, *Remark, *obstacle) {
	draft, why := read(object)
	if why != nil {
		return nil, nil, why
	}
	if c.taken[identity{bindingKind.GroupKind(), draft.Namespace, draft.Name}] {
		return nil, nil, blocked("metadata.name", "there is a ServiceBinding of %s called %q already; rename one of them",
			bindingv1.GroupVersion.Group, draft.Name)
	}
	spec := bindingv1.ServiceBindingSpec{
		Name: draft.Spec.Name, Type: either(draft.Spec.Type, draft.Spec.Kind), Provider: draft.Spec.Provider,
		Workload: bindingv1.ServiceBindingWorkloadReference{
			APIVersion: draft.Spec.Application.APIVersion, Kind: draft.Spec.Application.Kind,
			Name: draft.Spec.Application.Name, Selector: draft.Spec.Application.Selector,
		},
		Service: bindingv1.ServiceBindingServiceReference(draft.Spec.Service),
	}
	if spec.Workload.Containers, why = c.containers(draft); why != nil {
		return nil, nil, why
	}
	var made []*unstructured.Unstructured
	var note *Remark
	if plain, ok := plainEnv(draft); ok {
		spec.Env = plain
	} else {
		composed, why := c.compose(draft)
		if why != nil {
			return nil, nil, why
		}
		spec.Env = composed.env
		spec.Service = bindingv1.ServiceBindingServiceReference{
			APIVersion: syntheticKind.GroupVersion().String(), Kind: syntheticKind.Kind, Name: composed.service.Name,
		}
		made, note = append(made, assemble(syntheticKind, composed.metadata(object), composed.service.Spec)), composed.note()
	}
	return append(made, assemble(bindingKind, metadataOf(object), spec)), note, nil
}

// read decodes a binding, strictly, and sees that it is one.
func read(object *unstructured.Unstructured) (*draftv1alpha1.ServiceBinding, *obstacle) {
	data, err := json.Marshal(object.Object)
	if err != nil {
		return nil, blocked("", "it cannot be read: %v", err)
	}
	draft := &draftv1alpha1.ServiceBinding{}
	slips, err := kubejson.UnmarshalStrict(data, draft)
	if err != nil || len(slips) > 0 {
		return nil, blocked("spec", "it holds what no binding has; correct it: %v", append(slips, err)[0])
	}
	errs := binding.ValidateDraft(draft)
	errs = append(errs, compose.CheckTemplates(compose.TemplatesOfSpec(&draft.Spec), field.NewPath("spec"))...)
	if len(errs) > 0 {
		return nil, blocked(errs[0].Field, "%s; correct it first", errs[0].ErrorBody())
	}
	return draft, nil
}

func either(one, other string) string {
	if one != "" {
		return one
	}
	return other
}

// metadataOf is what remains of an object's metadata: what a person writes.
func metadataOf(object *unstructured.Unstructured) map[string]any {
	kept := map[string]any{}
	given, _, _ := unstructured.NestedMap(object.Object, "metadata")
	for _, name := range []string{"name", "generateName", "namespace", "labels", "ownerReferences"} {
		if value, ok := given[name]; ok {
			kept[name] = value
		}
	}
	annotations := object.GetAnnotations()
	for _, name := range []string{
		binding.WorkloadKindsAnnotation, binding.RequesterAnnotation, "kubectl.kubernetes.io/last-applied-configuration",
	} {
		delete(annotations, name)
	}
	metadata := unstructured.Unstructured{Object: map[string]any{"metadata": kept}}
	if len(annotations) > 0 {
		metadata.SetAnnotations(annotations)
	}
	others := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(f string) bool { return strings.Contains(f, "bowline.dev/") })
	if len(others) > 0 {
		metadata.SetFinalizers(others)
	}
	return kept
}

// assemble makes an object of its parts.
func assemble(kind schema.GroupVersionKind, metadata map[string]any, spec any) *unstructured.Unstructured {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		Spec any `json:"spec"`
	}{spec})
	if err != nil {
		panic("convert: a spec of this package's own cannot be encoded: " + err.Error())
	}
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata, "spec": fields["spec"]}}
	object.SetGroupVersionKind(kind)
	return object
}
