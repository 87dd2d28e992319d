package admission

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/bowline-dev/bowline/projection"
)

// Projector knows the bindings and what they project.
type Projector interface {
	// ProjectForAdmission returns the workload with all bindings projected that refer to it and are ready to be, or the
	// workload itself where there is none. It does not change its argument and does not wait for anything.
	ProjectForAdmission(gvk schema.GroupVersionKind, w projection.Workload) (projection.Workload, error)
}

// WorkloadMutator projects bindings into a workload before it is stored, so that its first pods are bound already. It
// never refuses and never fails: what it cannot do the controller does afterwards, or reports on the binding.
type WorkloadMutator struct {
	// Projector does the work.
	Projector Projector
}

// Handle answers one request.
func (m *WorkloadMutator) Handle(ctx context.Context, req admission.Request) admission.Response {
	patch, err := m.project(&req)
	if err == nil {
		return patched(patch)
	}
	logf.FromContext(ctx).Error(err, "Letting a workload pass without projecting into it",
		"kind", req.Kind.Kind, "namespace", req.Namespace, "name", req.Name)
	response := admission.Allowed("")
	if refusal := (*projection.Refusal)(nil); errors.As(err, &refusal) {
		return response.WithWarnings("bowline: " + refusal.Message)
	}
	return response
}

// project returns the changes that the bindings make. A panic is an error like any other; of its value only the type is
// kept, since it may hold part of the workload.
func (m *WorkloadMutator) project(req *admission.Request) (patch []projection.Operation, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			patch, err = nil, fmt.Errorf("projecting: panic with a %T at %s", cause, debug.Stack())
		}
	}()
	workload, err := readWorkload(req)
	if err != nil {
		return nil, err
	}
	if deleting, _, _ := unstructured.NestedFieldNoCopy(workload, "metadata", "deletionTimestamp"); deleting != nil {
		return nil, nil
	}
	gvk := schema.GroupVersionKind(req.Kind)
	projected, err := m.Projector.ProjectForAdmission(gvk, workload)
	if err != nil {
		return nil, fmt.Errorf("projecting: %w", err)
	}
	if projected == nil {
		return nil, nil
	}
	return projection.Diff(workload, projected), nil
}

// readWorkload reads the object with integers kept as such, and sees that it tells its namespace.
func readWorkload(req *admission.Request) (projection.Workload, error) {
	var workload projection.Workload
	if err := json.Unmarshal(req.Object.Raw, &workload); err != nil {
		return nil, fmt.Errorf("reading the workload: %w", err)
	}
	if err := unstructured.SetNestedField(workload, req.Namespace, "metadata", "namespace"); err != nil {
		return nil, fmt.Errorf("reading the workload's metadata: %w", err)
	}
	return workload, nil
}
