// Package binding is the one model of a service binding behind every API version that declares one. It reads values and
// returns values; it neither fetches nor writes.
package binding

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/projection"
)

// What Bowline writes into a binding's metadata.
const (
	// Finalizer keeps a binding until its projections are gone.
	Finalizer = "bowline.dev/unbind"

	// ReferenceFinalizer is the one of the specification's reference runtime. Bowline takes over what that runtime had in
	// hand, and so removes it, too, once the projections are gone.
	ReferenceFinalizer = "servicebinding.io/finalizer"

	// WorkloadKindsAnnotation lists the kinds of workload that may bear a binding's projections, as a sorted,
	// comma-separated list of Kind.version.group. It outlives an edit of spec.workload, so that a controller that was
	// away during the edit still knows where to look.
	WorkloadKindsAnnotation = "bowline.dev/workload-kinds"
	// RequesterAnnotation records who asked for what the object's spec says, as JSON. Admission writes it and lets nobody
	// else do so.
	RequesterAnnotation = "bowline.dev/requester"
)

// Annotations of a binding by which options of Bowline's own are set.
const (
	// EnvAnnotation, with the value "all", projects every entry as an environment variable.
	EnvAnnotation = "bowline.dev/env"
	// EnvPrefixAnnotation is what the names of those variables begin with.
	EnvPrefixAnnotation = "bowline.dev/env-prefix"
	// EnvCaseAnnotation says how a key becomes a name: upper (the default), lower or keep.
	EnvCaseAnnotation = "bowline.dev/env-case"
)

// OptionAnnotations lists the annotations that set options. A change of one counts like a change of the spec.
func OptionAnnotations() []string {
	return []string{EnvAnnotation, EnvPrefixAnnotation, EnvCaseAnnotation}
}

// OptionsOf returns the options among annotations; nil for none.
func OptionsOf(annotations map[string]string) map[string]string {
	var options map[string]string
	for _, name := range OptionAnnotations() {
		if value, ok := annotations[name]; ok {
			if options == nil {
				options = map[string]string{}
			}
			options[name] = value
		}
	}
	return options
}

// SecretKind is the kind of a directly referenced Secret (specification, section Direct Secret Reference).
var SecretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// Binding is what Bowline needs to know of a binding.
type Binding struct {
	// Key names the binding.
	Key Key
	// Created is when the API server made the object; the older of two bindings wins a collision.
	Created time.Time
	// Generation is that of the spec that this model was made from.
	Generation int64
	// ResourceVersion is that of the object.
	ResourceVersion string
	// Deleting is when deletion was asked for; zero when it was not.
	Deleting time.Time
	// Finalized says whether the object bears Finalizer.
	Finalized bool
	// Service is what is bound.
	Service Reference
	// Workload is where to.
	Workload WorkloadReference
	// FormerKinds are the kinds that WorkloadKindsAnnotation lists, sorted.
	FormerKinds []schema.GroupVersionKind
	// Projection is the binding as the projection wants it, but for the Secret, which the service decides.
	Projection projection.Binding
	// Composition says what the Secret that is projected is composed of; nil where the service's own Secret is projected.
	Composition *Composition
	// Options are the annotations that set Bowline's own options, those that OptionAnnotations lists; nil for none.
	Options map[string]string
	// Requester is the record of who asked for the binding, as RequesterAnnotation holds it; empty for none.
	Requester string
	// Status is the status as it was read.
	Status bindingv1.ServiceBindingStatus
	// Fault says which rules the spec breaks; nil for none. A binding with a fault is neither projected nor unprojected.
	Fault error
}

// Composition is what a binding makes of the entries of its service's Secret (early draft, sections Mapping Existing Values
// to New Values and Binding Values as Environment Variables).
type Composition struct {
	// Mappings are entries to be added, in which ((key)) stands for another.
	Mappings []NamedValue
	// Env are environment variables, in which ((key)) stands for an entry.
	Env []NamedValue
}

// NamedValue is a name with a template for its value.
type NamedValue struct {
	// Name of an entry or of a variable.
	Name string
	// Value is the template.
	Value string
}

// Reference names one object in the binding's namespace.
type Reference struct {
	schema.GroupVersionKind

	// Name of the object.
	Name string
}

// WorkloadReference names one workload, or selects any number, in the binding's namespace.
type WorkloadReference struct {
	schema.GroupVersionKind

	// Name of the workload; empty where Selector decides.
	Name string
	// Selector matches labels; nil where Name decides.
	Selector labels.Selector
}

// FromV1 makes the model of a servicebinding.io/v1 object, which it does not change. Of an object that breaks a rule the
// model still tells the key, the kinds and the deletion, so that it can be unbound, and the fault.
func FromV1(sb *bindingv1.ServiceBinding) *Binding {
	b := fromMeta(Specification, &sb.ObjectMeta)
	b.Projection, b.Status = projectionOf(sb), sb.Status
	b.Workload.GroupVersionKind = kindOf(sb.Spec.Workload.APIVersion, sb.Spec.Workload.Kind)
	b.Service = Reference{
		GroupVersionKind: kindOf(sb.Spec.Service.APIVersion, sb.Spec.Service.Kind),
		Name:             sb.Spec.Service.Name,
	}
	b.settle(Validate(sb), sb.Spec.Workload.Name, sb.Spec.Workload.Selector)
	return b
}

// fromMeta takes over what a binding's metadata tells, whichever API declares it.
func fromMeta(api API, object *metav1.ObjectMeta) *Binding {
	b := &Binding{
		Key:             KeyOf(api, object.Namespace, object.Name),
		Created:         object.CreationTimestamp.Time,
		Generation:      object.Generation,
		ResourceVersion: object.ResourceVersion,
		Finalized:       slices.Contains(object.Finalizers, Finalizer),
		FormerKinds:     ParseKinds(object.Annotations[WorkloadKindsAnnotation]),
		Options:         OptionsOf(object.Annotations),
		Requester:       object.Annotations[RequesterAnnotation],
	}
	if object.DeletionTimestamp != nil {
		b.Deleting = object.DeletionTimestamp.Time
	}
	return b
}

// settle takes down the fault, or else which workloads are meant: with a fault none is.
func (b *Binding) settle(errs field.ErrorList, name string, selector *metav1.LabelSelector) {
	if len(errs) > 0 {
		b.Fault = fmt.Errorf("reading spec: %w", errs.ToAggregate())
		return
	}
	b.Workload.Name = name
	if selector != nil {
		b.Workload.Selector, b.Fault = metav1.LabelSelectorAsSelector(selector)
	}
}

// Matches says whether the binding's workload reference names or selects an object of that kind in its namespace.
func (r WorkloadReference) Matches(kind schema.GroupKind, name string, set labels.Set) bool {
	if r.GroupKind() != kind {
		return false
	}
	if r.Selector != nil {
		return r.Selector.Matches(set)
	}
	return r.Name != "" && r.Name == name
}

// WorkloadKinds lists the kinds that may bear the binding's projections: the one it names, and former ones. Sorted.
func (b *Binding) WorkloadKinds() []schema.GroupVersionKind {
	kinds := slices.Clone(b.FormerKinds)
	if !b.Workload.Empty() {
		kinds = append(kinds, b.Workload.GroupVersionKind)
	}
	return sortKinds(kinds)
}

// Before orders bindings by age, then by name, so that the same binding wins a collision wherever it is decided.
func (b *Binding) Before(other *Binding) int {
	if c := b.Created.Compare(other.Created); c != 0 {
		return c
	}
	return b.Key.Compare(other.Key)
}

// FormatKinds writes kinds as WorkloadKindsAnnotation holds them: sorted, each once.
func FormatKinds(kinds []schema.GroupVersionKind) string {
	names := make([]string, 0, len(kinds))
	for _, kind := range sortKinds(slices.Clone(kinds)) {
		names = append(names, kind.Kind+"."+kind.Version+"."+kind.Group)
	}
	return strings.Join(names, ",")
}

// ParseKinds reads what FormatKinds wrote. What it cannot read it leaves out: the annotation may have been edited.
func ParseKinds(list string) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for name := range strings.SplitSeq(list, ",") {
		if kind, _ := schema.ParseKindArg(name); kind != nil {
			kinds = append(kinds, *kind)
		}
	}
	return sortKinds(kinds)
}

func sortKinds(kinds []schema.GroupVersionKind) []schema.GroupVersionKind {
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(kinds)
}

// kindOf returns the zero kind where the two do not make one.
func kindOf(apiVersion, kind string) schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Version == "" || kind == "" {
		return schema.GroupVersionKind{}
	}
	return gv.WithKind(kind)
}

func projectionOf(sb *bindingv1.ServiceBinding) projection.Binding {
	p := projection.Binding{
		UID:        string(sb.UID),
		Name:       sb.Spec.Name,
		Type:       sb.Spec.Type,
		Provider:   sb.Spec.Provider,
		Containers: slices.Clone(sb.Spec.Workload.Containers),
	}
	if p.Name == "" {
		p.Name = sb.Name
	}
	for _, env := range sb.Spec.Env {
		p.Env = append(p.Env, projection.Env{Name: env.Name, Key: env.Key})
	}
	return p
}
