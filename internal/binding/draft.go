package binding

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/intstr"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	"github.com/bowline-dev/bowline/projection"
)

// FromDraft makes the model of a service.binding/v1alpha1 object, which it does not change. As FromV1 does, it tells of an
// object that breaks a rule what unbinding needs, and the fault.
func FromDraft(sb *draftv1alpha1.ServiceBinding) *Binding {
	b := fromMeta(Draft, &sb.ObjectMeta)
	b.Status = sb.Status
	b.Projection = projectionOfDraft(sb)
	b.Composition = compositionOf(&sb.Spec)
	b.Workload.GroupVersionKind = kindOf(sb.Spec.Application.APIVersion, sb.Spec.Application.Kind)
	b.Service = Reference{
		GroupVersionKind: kindOf(sb.Spec.Service.APIVersion, sb.Spec.Service.Kind),
		Name:             sb.Spec.Service.Name,
	}
	b.settle(ValidateDraft(sb), sb.Spec.Application.Name, sb.Spec.Application.Selector)
	return b
}

// projectionOfDraft leaves the variables out: they refer to a composed Secret, whose keys the composition decides.
func projectionOfDraft(sb *draftv1alpha1.ServiceBinding) projection.Binding {
	p := projection.Binding{
		UID:      string(sb.UID),
		Name:     cmp.Or(sb.Spec.Name, sb.Name),
		Type:     cmp.Or(sb.Spec.Type, sb.Spec.Kind),
		Provider: sb.Spec.Provider,
	}
	for _, container := range sb.Spec.Application.Containers {
		if container.Type == intstr.String {
			p.Containers = append(p.Containers, container.StrVal)
		} else {
			p.ContainerIndexes = append(p.ContainerIndexes, int(container.IntVal))
		}
	}
	return p
}

// compositionOf is nil where the service's own Secret is projected.
func compositionOf(spec *draftv1alpha1.ServiceBindingSpec) *Composition {
	if len(spec.Mappings)+len(spec.Env) == 0 {
		return nil
	}
	c := &Composition{}
	for _, mapping := range spec.Mappings {
		c.Mappings = append(c.Mappings, NamedValue{Name: mapping.Name, Value: mapping.Value})
	}
	for _, env := range spec.Env {
		c.Env = append(c.Env, NamedValue{Name: env.Name, Value: env.Value})
	}
	return c
}
