package admission

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/projection"
)

// Defaults of the specification for a resource that has a pod template.
const (
	defaultAnnotations = ".spec.template.metadata.annotations"
	defaultVolumes     = ".spec.template.spec.volumes"
)

// MappingMutator writes the default paths into the templates of a ClusterWorkloadResourceMapping that leave them out.
// The specification calls them optional, while the schema of v1beta1 requires them: without this a mapping made without
// them could not be edited through v1beta1, nor made there.
type MappingMutator struct{}

// Handle answers one request.
func (MappingMutator) Handle(_ context.Context, req admission.Request) admission.Response {
	var mapping bindingv1.ClusterWorkloadResourceMapping
	if err := decode(req.Object, "ClusterWorkloadResourceMapping", &mapping); err != nil {
		return unread()
	}
	var patch []projection.Operation
	for i, template := range mapping.Spec.Versions {
		at := fmt.Sprintf("/spec/versions/%d/", i)
		if template.Annotations == "" {
			patch = append(patch, projection.Operation{Op: opAdd, Path: at + "annotations", Value: defaultAnnotations})
		}
		if template.Volumes == "" {
			patch = append(patch, projection.Operation{Op: opAdd, Path: at + "volumes", Value: defaultVolumes})
		}
	}
	return patched(patch)
}
