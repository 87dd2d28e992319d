package offline

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/node"
)

// World is all that manifests say. Of two objects with one kind, namespace and name the later one counts, as it would were
// they applied in turn.
type World struct {
	secrets    map[identity]secret
	configMaps map[identity]configMap
	bindings   map[bindingID]bound
	mappings   map[string]*bindingv1.ClusterWorkloadResourceMapping
	// plurals are the names of the resources that CustomResourceDefinitions declare.
	plurals map[schema.GroupKind]string
	others  []object
}

// identity names an object; Namespace is empty where the manifest names none.
type identity struct{ namespace, name string }

type secret struct {
	entries node.Entries
	kind    string
}

// object is anything that may be a workload or a service.
type object struct {
	identity

	kind   schema.GroupVersionKind
	source document
}

// Parse reads manifests. The error is a *Fault, the first one found.
func Parse(files ...File) (*World, error) {
	w := &World{
		secrets: map[identity]secret{}, configMaps: map[identity]configMap{}, bindings: map[bindingID]bound{},
		mappings: map[string]*bindingv1.ClusterWorkloadResourceMapping{}, plurals: map[schema.GroupKind]string{},
	}
	for _, f := range files {
		documents, err := parse(f)
		if err != nil {
			return nil, err
		}
		for _, d := range documents {
			if err := w.add(d); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

// Kinds that are read, by their group and kind.
var (
	secretKind    = schema.GroupKind{Kind: "Secret"}
	configMapKind = schema.GroupKind{Kind: "ConfigMap"}
	bindingKind   = bindingv1.GroupVersion.WithKind("ServiceBinding").GroupKind()
	draftKind     = draftv1alpha1.GroupVersion.WithKind("ServiceBinding").GroupKind()
	mappingKind   = bindingv1.GroupVersion.WithKind("ClusterWorkloadResourceMapping").GroupKind()
	crdKind       = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// bindingVersions are the versions of the specification's kinds; they differ in nothing but the name.
var bindingVersions = []string{"v1", "v1beta1", "v1alpha3"}

// add takes in one object.
func (w *World) add(d document) error {
	kind, namespace, name, err := d.identity()
	if err != nil {
		return err
	}
	id := identity{namespace, name}
	if err := checkVersion(d, kind); err != nil {
		return err
	}
	switch kind.GroupKind() {
	case secretKind:
		entries, err := secretEntries(d, name)
		text, _ := d.object["type"].(string)
		w.secrets[id] = secret{entries: entries, kind: text}
		return err
	case configMapKind:
		w.configMaps[id], err = configMapEntries(d, name)
		return err
	case bindingKind:
		return w.addBinding(d, id)
	case draftKind:
		return w.addDraft(d, id)
	case mappingKind:
		return w.addMapping(d, name)
	case crdKind:
		w.addPlural(d)
		return nil
	}
	w.others = slices.DeleteFunc(w.others, func(o object) bool {
		return o.identity == id && o.kind.GroupKind() == kind.GroupKind()
	})
	w.others = append(w.others, object{identity: id, kind: kind, source: d})
	return nil
}

// checkVersion refuses versions that no API server has.
func checkVersion(d document, kind schema.GroupVersionKind) error {
	versions := bindingVersions
	switch kind.Group {
	case bindingv1.GroupVersion.Group:
	case draftv1alpha1.GroupVersion.Group:
		versions = []string{draftv1alpha1.GroupVersion.Version}
	default:
		return nil
	}
	if slices.Contains(versions, kind.Version) {
		return nil
	}
	return d.fault(fmt.Errorf("%s has no version %q; its versions are %s",
		kind.Group, kind.Version, strings.Join(versions, ", ")), "apiVersion")
}

func (w *World) addBinding(d document, id identity) error {
	sb := &bindingv1.ServiceBinding{}
	if err := decode(d, sb); err != nil {
		return err
	}
	if errs := binding.Validate(sb); len(errs) > 0 {
		return invalid(d, fmt.Sprintf("ServiceBinding %q", id.name), errs)
	}
	w.bindings[bindingID{identity: id}] = bound{object: sb, source: d}
	return nil
}

func (w *World) addMapping(d document, name string) error {
	m := &bindingv1.ClusterWorkloadResourceMapping{}
	if err := decode(d, m); err != nil {
		return err
	}
	if errs := binding.ValidateMapping(m); len(errs) > 0 {
		return invalid(d, fmt.Sprintf("ClusterWorkloadResourceMapping %q", name), errs)
	}
	w.mappings[name] = m
	return nil
}

// addPlural learns how a CustomResourceDefinition calls the resource of a kind, which is how mappings are named.
func (w *World) addPlural(d document) {
	group, _, _ := unstructured.NestedString(d.object, "spec", "group")
	kind, _, _ := unstructured.NestedString(d.object, "spec", "names", "kind")
	plural, _, _ := unstructured.NestedString(d.object, "spec", "names", "plural")
	if kind != "" && plural != "" {
		w.plurals[schema.GroupKind{Group: group, Kind: kind}] = plural
	}
}

// decode reads an object into its type, as strictly as the API server does for kubectl: a field that is not part of the
// type is a slip.
func decode(d document, into any) error {
	data, err := stdjson.Marshal(d.object)
	if err != nil {
		return d.fault(fmt.Errorf("encoding it: %w", err))
	}
	slips, err := json.UnmarshalStrict(data, into)
	if err != nil {
		return d.fault(err)
	}
	if len(slips) == 0 {
		return nil
	}
	var path []string
	if slip, ok := errors.AsType[json.FieldError](slips[0]); ok {
		path = steps(slip.FieldPath())
	}
	return d.fault(slips[0], path...)
}

// invalid makes a fault of the first rule that is broken, where it is broken.
func invalid(d document, what string, errs field.ErrorList) error {
	more := ""
	if len(errs) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(errs)-1)
	}
	return d.fault(fmt.Errorf("%s: %w%s", what, errs[0], more), steps(errs[0].Field)...)
}

// steps takes apart a field's path, such as spec.env[0].name.
func steps(path string) []string {
	path = strings.NewReplacer("[", ".", "]", "").Replace(path)
	return slices.DeleteFunc(strings.Split(path, "."), func(s string) bool { return s == "" })
}

// plural returns the name of the resource of a kind.
func (w *World) plural(kind schema.GroupVersionKind) schema.GroupResource {
	if name, ok := w.plurals[kind.GroupKind()]; ok {
		return schema.GroupResource{Group: kind.Group, Resource: name}
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return resource.GroupResource()
}
