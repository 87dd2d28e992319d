package convert

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
)

// containers names the containers that a binding is limited to. The specification knows no positions: the application tells which
// container is at one.
func (c *converter) containers(draft *draftv1alpha1.ServiceBinding) ([]string, *obstacle) {
	var names []string
	for i, container := range draft.Spec.Application.Containers {
		if container.Type == intstr.String {
			names = append(names, container.StrVal)
			continue
		}
		at := fmt.Sprintf("spec.application.containers[%d]", i)
		name, why := c.containerAt(draft, at, int(container.IntVal))
		if why != nil {
			return nil, why
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func (c *converter) containerAt(draft *draftv1alpha1.ServiceBinding, at string, position int) (string, *obstacle) {
	application := draft.Spec.Application
	if application.Name == "" {
		return "", blocked(at, "position %d may be another container in each application that the selector matches; name the container",
			position)
	}
	kind := schema.FromAPIVersionAndKind(application.APIVersion, application.Kind).GroupKind()
	found := c.find(identity{kind, draft.Namespace, application.Name})
	if found == nil {
		return "", blocked(at, "which container is at position %d only %s %q tells; hand it in, too, or name the container",
			position, application.Kind, application.Name)
	}
	path, ok := podSpec(kind)
	if !ok {
		return "", blocked(at, "where %s has its containers is not known here; name the container", application.Kind)
	}
	list, _, err := unstructured.NestedSlice(found.Object, append(path, "containers")...)
	if err != nil || position >= len(list) {
		return "", blocked(at, "%s %q has no container at position %d; name the container, or correct the position",
			application.Kind, application.Name, position)
	}
	fields, _ := list[position].(map[string]any)
	name, _ := fields["name"].(string)
	if name == "" {
		return "", blocked(at, "the container at position %d of %s %q has no name; name it", position, application.Kind, application.Name)
	}
	return name, nil
}

// podSpec says where kinds of Kubernetes's own have the spec of their pods.
func podSpec(kind schema.GroupKind) ([]string, bool) {
	switch kind.String() {
	case "Pod":
		return []string{"spec"}, true
	case "CronJob.batch":
		return []string{"spec", "jobTemplate", "spec", "template", "spec"}, true
	case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch", "ReplicationController":
		return []string{"spec", "template", "spec"}, true
	default:
		return nil, false
	}
}
