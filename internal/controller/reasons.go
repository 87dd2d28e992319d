package controller

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/internal/watch"
)

// Condition types of a ServiceBinding.
const (
	// ConditionReady sums up the others.
	ConditionReady = "Ready"
	// ConditionServiceAvailable tells of the service and its Secret.
	ConditionServiceAvailable = "ServiceAvailable"
	// ConditionWorkloadProjected tells of the workloads.
	ConditionWorkloadProjected = "WorkloadProjected"
)

// Reasons of the conditions WorkloadProjected and Ready; those of ServiceAvailable are in package service, those of a
// projection that is refused in package projection.
const (
	// ReasonProjected is Ready's reason once the projection was observed on every workload.
	ReasonProjected = "Projected"
	// ReasonWorkloadProjected is WorkloadProjected's reason then.
	ReasonWorkloadProjected = "WorkloadProjected"
	// ReasonNoneSelected is the reason when the selector matches nothing, which is no error.
	ReasonNoneSelected = "NoWorkloadSelected"
	// ReasonProjecting is the reason while a projection is under way.
	ReasonProjecting = "Projecting"
	// ReasonWaiting is the reason while the service is not available and a workload has no projection yet.
	ReasonWaiting = "WaitingForService"
	// ReasonInvalidSpec is the reason when the spec breaks a rule that admission would have refused.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonWorkloadNotFound is the reason when no workload of the name exists.
	ReasonWorkloadNotFound = "WorkloadNotFound"
	// ReasonWorkloadKindUnknown is the reason when the cluster serves no such kind.
	ReasonWorkloadKindUnknown = "WorkloadKindUnknown"
	// ReasonWorkloadForbidden is the reason when Bowline may not watch or patch the kind.
	ReasonWorkloadForbidden = "WorkloadForbidden"
	// ReasonWorkloadClusterScoped is the reason when the kind has no namespace.
	ReasonWorkloadClusterScoped = "WorkloadClusterScoped"
	// ReasonWorkloadImmutable is the reason when the API server lets nobody change the workload's pods.
	ReasonWorkloadImmutable = "WorkloadImmutable"
	// ReasonWorkloadRejected is the reason when the API server, or an admission webhook, refuses the projection.
	ReasonWorkloadRejected = "WorkloadRejected"
	// ReasonMappingInvalid is the reason when the kind's ClusterWorkloadResourceMapping does not compile.
	ReasonMappingInvalid = "MappingInvalid"
)

// Problem says why a binding is not projected into one workload, or its service not available.
type Problem struct {
	// Reason is one of the documented reasons.
	Reason string
	// Message names the object, what is wrong and what to do next.
	Message string
	// Stuck is set when it was the removal of the projection that was refused.
	Stuck bool
}

// serviceProblem turns an error of Hub.Secret into a problem; nil when the error is none.
func serviceProblem(err error) *Problem {
	if unavailable, ok := errors.AsType[*service.Unavailable](err); ok {
		return &Problem{Reason: unavailable.Reason, Message: unavailable.Message}
	}
	var fault *watch.KindError
	if !errors.As(err, &fault) {
		return nil
	}
	switch fault.Fault {
	case watch.NotNamespaced:
		return &Problem{Reason: service.ReasonClusterScoped, Message: fmt.Sprintf(
			"%v and cannot be a service; refer to a namespaced kind in spec.service", fault)}
	case watch.Forbidden:
		return &Problem{Reason: service.ReasonForbidden, Message: fmt.Sprintf(
			"%v; ask an administrator to apply this ClusterRole:\n%s", fault, grant(fault, "get", "list", "watch"))}
	case watch.NoSuchKind:
	}
	return &Problem{Reason: service.ReasonKindUnknown, Message: fmt.Sprintf(
		"%v; correct spec.service, or install its CustomResourceDefinition", fault)}
}

// workloadProblem does the same for the workload's kind. field is where the binding names it.
func workloadProblem(err error, field string) *Problem {
	var fault *watch.KindError
	if !errors.As(err, &fault) {
		return nil
	}
	switch fault.Fault {
	case watch.NotNamespaced:
		return &Problem{Reason: ReasonWorkloadClusterScoped, Message: fmt.Sprintf(
			"%v and cannot be a workload; refer to a namespaced kind in %s", fault, field)}
	case watch.Forbidden:
		return forbiddenWorkload(fault)
	case watch.NoSuchKind:
	}
	return &Problem{Reason: ReasonWorkloadKindUnknown, Message: fmt.Sprintf(
		"%v; correct %s, or install its CustomResourceDefinition", fault, field)}
}

func forbiddenWorkload(fault *watch.KindError) *Problem {
	return &Problem{Reason: ReasonWorkloadForbidden, Message: fmt.Sprintf(
		"Bowline may not list, watch and patch %s; ask an administrator to apply this ClusterRole:\n%s",
		fault.Resource.GroupResource(), grant(fault, "get", "list", "watch", "update", "patch"))}
}

// grant writes the ClusterRole that lets Bowline do what it is not allowed to (specification, section RBAC).
func grant(fault *watch.KindError, verbs ...string) string {
	name := strings.TrimSuffix("bowline-"+fault.Resource.Resource+"."+fault.Resource.Group, ".")
	return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: %s
  labels:
    servicebinding.io/controller: "true"
rules:
- apiGroups: [%q]
  resources: [%q]
  verbs: [%s]
`, name, fault.Resource.Group, fault.Resource.Resource, strings.Join(verbs, ", "))
}
