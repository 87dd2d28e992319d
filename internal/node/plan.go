package node

import (
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Secrets holds the data of the Secrets in the workload's namespace, by name.
type Secrets map[string]map[string]Value

// File is one file of a volume.
type File struct {
	// Path is relative to the mount.
	Path string
	// Value is the content.
	Value Value
	// Mode holds the permission bits the volume asks for.
	Mode int32
}

// Mount is one directory the container sees, with the files in it, sorted by path.
type Mount struct {
	// Path is absolute, as the container sees it.
	Path string
	// Files are all there is below it.
	Files []File
}

// Variable is one environment variable.
type Variable struct {
	// Name of the variable.
	Name string
	// Value of the variable.
	Value Value
}

// Plan is what one container gets.
type Plan struct {
	// Mounts are in the container's order.
	Mounts []Mount
	// Env names each variable once; of several of one name the last one won.
	Env []Variable
}

// NewPlan decides what the named container (or init container) of a workload gets. The workload is a Pod or a kind
// with a pod template at .spec.template or .spec.jobTemplate.spec.template; it is not changed.
func NewPlan(workload map[string]any, container string, secrets Secrets) (*Plan, error) {
	pod, err := podOf(workload)
	if err != nil {
		return nil, err
	}
	c, err := containerOf(pod, container)
	if err != nil {
		return nil, err
	}
	r := resolver{pod: pod, secrets: secrets}
	plan := &Plan{}
	if plan.Mounts, err = r.mounts(c); err != nil {
		return nil, fmt.Errorf("planning the volumes of container %q: %w", container, err)
	}
	if plan.Env, err = r.env(c); err != nil {
		return nil, fmt.Errorf("planning the environment of container %q: %w", container, err)
	}
	return plan, nil
}

// resolver answers references from inside one pod.
type resolver struct {
	pod     *corev1.PodTemplateSpec
	secrets Secrets
}

// podOf reads the pod template of a workload, with the workload's namespace.
func podOf(workload map[string]any) (*corev1.PodTemplateSpec, error) {
	template, err := templateOf(workload)
	if err != nil {
		return nil, err
	}
	pod := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, pod); err != nil {
		return nil, fmt.Errorf("reading the pod template: %w", err)
	}
	namespace, _, err := unstructured.NestedString(workload, "metadata", "namespace")
	if err != nil {
		return nil, fmt.Errorf("reading the workload's namespace: %w", err)
	}
	pod.Namespace = namespace
	return pod, nil
}

// templateOf finds the pod template where the built-in kinds have it.
func templateOf(workload map[string]any) (map[string]any, error) {
	if workload["kind"] == "Pod" {
		return workload, nil
	}
	for _, place := range [][]string{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
		template, found, err := unstructured.NestedMap(workload, place...)
		if err != nil {
			return nil, fmt.Errorf("finding the pod template: %w", err)
		}
		if found {
			return template, nil
		}
	}
	return nil, &UnsupportedError{Where: ".spec", What: fmt.Sprintf("kind %v, which has no pod template,", workload["kind"])}
}

// containerOf picks the container by its name.
func containerOf(pod *corev1.PodTemplateSpec, name string) (*corev1.Container, error) {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i], nil
			}
		}
	}
	return nil, &MissingError{Where: ".spec.containers", What: fmt.Sprintf("container %q", name)}
}

// secret finds a Secret; a missing one that is optional counts as empty.
func (r resolver) secret(name, where string, optional *bool) (map[string]Value, error) {
	data, ok := r.secrets[name]
	if !ok && !isTrue(optional) {
		return nil, &MissingError{Where: where, What: fmt.Sprintf("Secret %q", name)}
	}
	return data, nil
}

// mounts plans each volume mount of the container.
func (r resolver) mounts(c *corev1.Container) ([]Mount, error) {
	volumes := make(map[string]int, len(r.pod.Spec.Volumes))
	for i := range r.pod.Spec.Volumes {
		volumes[r.pod.Spec.Volumes[i].Name] = i
	}
	mounts := make([]Mount, 0, len(c.VolumeMounts))
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		where := fmt.Sprintf(".volumeMounts[%d]", i)
		if m.SubPath != "" || m.SubPathExpr != "" {
			return nil, &UnsupportedError{Where: where, What: "a sub-path"}
		}
		at, ok := volumes[m.Name]
		if !ok {
			return nil, &MissingError{Where: where, What: fmt.Sprintf("volume %q", m.Name)}
		}
		files, err := r.volume(&r.pod.Spec.Volumes[at])
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, Mount{Path: path.Clean("/" + m.MountPath), Files: files})
	}
	return mounts, nil
}

func isTrue(b *bool) bool { return b != nil && *b }
