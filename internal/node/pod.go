package node

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
)

// defaultContainer is the annotation with which a pod says which of its containers people mean.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// Pod is what a workload says of its pods. It is immutable and safe for concurrent use.
type Pod struct {
	template corev1.PodTemplateSpec
}

// PodOf reads a workload: a Pod, a kind that has a pod template where the built-in kinds have it, or else a kind that a
// mapping describes, which may be nil. The workload is not changed.
func PodOf(workload map[string]any, mapping *bindingv1.ClusterWorkloadResourceMappingTemplate) (*Pod, error) {
	template, place := templateOf(workload)
	if template == nil && mapping != nil {
		return mappedPod(workload, *mapping)
	}
	if template == nil {
		return nil, &UnsupportedError{Where: ".spec", What: fmt.Sprintf("kind %v, which has no pod template,", workload["kind"])}
	}
	pod := &Pod{}
	if err := decode(template, &pod.template); err != nil {
		return nil, fmt.Errorf("reading the pod template: %w", inside(err, place...))
	}
	if err := pod.claims(workload); err != nil {
		return nil, err
	}
	pod.identify(workload)
	return pod, nil
}

// templateOf finds the pod template where the built-in kinds have it, and what leads there; nil where there is none.
func templateOf(workload map[string]any) (template map[string]any, place []string) {
	if workload["kind"] == "Pod" {
		return workload, nil
	}
	for _, place := range [][]string{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}, {"template"}} {
		found, _, err := unstructured.NestedFieldNoCopy(workload, place...)
		template, ok := found.(map[string]any)
		if err != nil || !ok {
			continue
		}
		if _, has, err := unstructured.NestedFieldNoCopy(template, "spec", "containers"); has && err == nil {
			return template, place
		}
	}
	return nil, nil
}

// identify gives the pods the name, namespace and uid of the workload, which for a Pod are its own.
func (p *Pod) identify(workload map[string]any) {
	object := unstructured.Unstructured{Object: workload}
	p.template.Name, p.template.Namespace, p.template.UID = object.GetName(), object.GetNamespace(), object.GetUID()
}

// claims adds the volumes that a StatefulSet makes for each of its pods, so that they are known for what they are.
func (p *Pod) claims(workload map[string]any) error {
	claims, _, err := unstructured.NestedSlice(workload, "spec", "volumeClaimTemplates")
	if err != nil {
		return fmt.Errorf("reading the volume claim templates: %w", err)
	}
	for _, claim := range claims {
		object, _ := claim.(map[string]any)
		name, _, _ := unstructured.NestedString(object, "metadata", "name")
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
		p.template.Spec.Volumes = append(p.template.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	}
	return nil
}

// Namespace is where the workload and all that it refers to are.
func (p *Pod) Namespace() string { return p.template.Namespace }

// Containers lists the names of the containers and after them those of the init containers.
func (p *Pod) Containers() []string {
	return append(names(p.template.Spec.Containers), names(p.template.Spec.InitContainers)...)
}

// Pick finds the container that is meant: the named one, or without a name the one that the pod's annotation names, or
// the only one beside init containers. Otherwise the error is an AmbiguousError.
func (p *Pod) Pick(name string) (string, error) {
	if name == "" {
		name = p.template.Annotations[defaultContainer]
	}
	regular := names(p.template.Spec.Containers)
	if name == "" && len(regular) > 1 {
		return "", &AmbiguousError{Containers: regular}
	}
	if name == "" && len(regular) == 1 {
		return regular[0], nil
	}
	c, err := p.container(name)
	if err != nil {
		return "", err
	}
	return c.Name, nil
}

// container finds a container by its name.
func (p *Pod) container(name string) (*corev1.Container, error) {
	for _, list := range [][]corev1.Container{p.template.Spec.Containers, p.template.Spec.InitContainers} {
		at := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name })
		if at >= 0 {
			return &list[at], nil
		}
	}
	return nil, &MissingError{Where: ".spec.containers", What: fmt.Sprintf("container %q", name)}
}

// volume finds a volume by its name.
func (p *Pod) volume(name string) (*corev1.Volume, bool) {
	list := p.template.Spec.Volumes
	at := slices.IndexFunc(list, func(v corev1.Volume) bool { return v.Name == name })
	if at < 0 {
		return nil, false
	}
	return &list[at], true
}

// serviceAccount is whom the pod's tokens are for.
func (p *Pod) serviceAccount() string {
	for _, name := range []string{p.template.Spec.ServiceAccountName, p.template.Spec.DeprecatedServiceAccount} {
		if name != "" {
			return name
		}
	}
	return "default"
}

func names(containers []corev1.Container) []string {
	list := make([]string, 0, len(containers))
	for i := range containers {
		list = append(list, containers[i].Name)
	}
	return list
}
