package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/jsonpath"
	"github.com/bowline-dev/bowline/projection"
)

// mappedPod puts a pod together from where a mapping finds its parts.
func mappedPod(workload map[string]any, given bindingv1.ClusterWorkloadResourceMappingTemplate) (*Pod, error) {
	mapping, err := completed(given)
	if err != nil {
		return nil, err
	}
	pod := &Pod{}
	pod.identify(workload)
	if err := readAt(workload, mapping.Volumes, &pod.template.Spec.Volumes); err != nil {
		return nil, err
	}
	if err := readAt(workload, mapping.Annotations, &pod.template.Annotations); err != nil {
		return nil, err
	}
	if err := pod.mappedLabels(workload, mapping.Annotations); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, c := range mapping.Containers {
		if err := pod.mappedContainers(workload, c, seen); err != nil {
			return nil, err
		}
	}
	if len(pod.template.Spec.Containers) == 0 {
		return nil, &MissingError{Where: ".", What: fmt.Sprintf("a container in kind %v", workload["kind"])}
	}
	return pod, nil
}

// completed fills in the mapping's defaults, in the one place that knows them.
func completed(given bindingv1.ClusterWorkloadResourceMappingTemplate) (bindingv1.ClusterWorkloadResourceMappingTemplate, error) {
	var mapping bindingv1.ClusterWorkloadResourceMappingTemplate
	compiled, err := projection.Compile(given)
	if err != nil {
		return mapping, fmt.Errorf("compiling the mapping: %w", err)
	}
	if err := json.Unmarshal([]byte(compiled.String()), &mapping); err != nil {
		return mapping, fmt.Errorf("reading the mapping: %w", err)
	}
	return mapping, nil
}

// mappedLabels reads the labels beside the annotations, where those are called so as everywhere in Kubernetes.
func (p *Pod) mappedLabels(workload map[string]any, annotations string) error {
	path, err := jsonpath.ParseFixed(annotations)
	if err != nil {
		return fmt.Errorf("reading the path of the annotations: %w", err)
	}
	steps := path.Steps()
	last := len(steps) - 1
	if steps[last] != "annotations" {
		return nil
	}
	steps[last] = "labels"
	return readAt(workload, jsonpath.FixedOf(steps...).String(), &p.template.Labels)
}

// mappedContainers adds the containers of one path; one that an earlier path found is not added again.
func (p *Pod) mappedContainers(
	workload map[string]any, mapping bindingv1.ClusterWorkloadResourceMappingContainer, seen map[string]bool,
) error {
	path, err := jsonpath.Parse(mapping.Path)
	if err != nil {
		return fmt.Errorf("reading the path of the containers: %w", err)
	}
	matches, err := path.Find(workload)
	if err != nil {
		return fmt.Errorf("finding the containers: %w", err)
	}
	list := &p.template.Spec.Containers
	if fields, ok := path.FixedList(); ok && fields[len(fields)-1] == "initContainers" {
		list = &p.template.Spec.InitContainers
	}
	for _, match := range matches {
		object, ok := match.Value.(map[string]any)
		if !ok || seen[match.Pointer()] {
			continue
		}
		seen[match.Pointer()] = true
		c, err := mappedContainer(object, mapping)
		if err != nil {
			return fmt.Errorf("reading the container at %s: %w", match.Pointer(), inside(err, stepsOf(match.Pointer())...))
		}
		if c.Name == "" {
			c.Name = match.Pointer()
		}
		*list = append(*list, *c)
	}
	return nil
}

// stepsOf takes a JSON pointer apart.
func stepsOf(pointer string) []string {
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, step := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	return steps
}

// mappedContainer reads a container: all of it where it looks like that of a pod, else the parts that are mapped.
func mappedContainer(object map[string]any, mapping bindingv1.ClusterWorkloadResourceMappingContainer) (*corev1.Container, error) {
	c := &corev1.Container{}
	if slices.Equal([]string{mapping.Env, mapping.VolumeMounts}, []string{".env", ".volumeMounts"}) {
		err := decode(object, c)
		if err == nil && (mapping.Name == "" || mapping.Name == ".name") {
			return c, nil
		}
		*c = corev1.Container{}
	}
	if mapping.Name != "" {
		if err := readAt(object, mapping.Name, &c.Name); err != nil {
			return nil, err
		}
	}
	if err := readAt(object, mapping.Env, &c.Env); err != nil {
		return nil, err
	}
	return c, readAt(object, mapping.VolumeMounts, &c.VolumeMounts)
}

// readAt decodes what lies at a Fixed JSONPath; nothing there leaves the target as it is.
func readAt(root map[string]any, expression string, target any) error {
	path, err := jsonpath.ParseFixed(expression)
	if err != nil {
		return fmt.Errorf("reading path %s of the mapping: %w", expression, err)
	}
	value, found, err := path.Get(root)
	if err != nil {
		return fmt.Errorf("following the mapping: %w", err)
	}
	if !found || value == nil {
		return nil
	}
	if err := decodeJSON(value, target); err != nil {
		return fmt.Errorf("reading %s: %w", expression, inside(err, path.Steps()...))
	}
	return nil
}
