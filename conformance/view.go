package conformance

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// rootVariable names the directory of all bindings.
const rootVariable = "SERVICE_BINDING_ROOT"

// shape says where a kind keeps what a pod template would hold. The paths are made of fields, with a slash between them;
// "*" stands for each item of a list or map.
type shape struct {
	annotations, volumes string
	containers           []string
	name, env, mounts    string
}

// shapeAt is the shape of a kind whose pod template lies at a path.
func shapeAt(template string) shape {
	return shape{
		annotations: template + "/metadata/annotations",
		volumes:     template + "/spec/volumes",
		containers:  []string{template + "/spec/initContainers/*", template + "/spec/containers/*"},
		name:        "name", env: "env", mounts: "volumeMounts",
	}
}

// container is what a process in a container would see of its bindings.
type container struct {
	// root is the value of SERVICE_BINDING_ROOT, roots how often it is set.
	root  string
	roots int
	// env holds the variables that have a value.
	env map[string]string
	// dirs are the directories that volumes are mounted at.
	dirs map[string]bool
	// files holds the contents of the mounted files, by path.
	files map[string]string
}

// lookup gives the entries of a Secret.
type lookup func(secret string) (map[string]string, error)

// view works out, as a kubelet would, what the containers of a workload see. Containers go by their names, those without
// by "#0", "#1" and so on.
func view(workload map[string]any, s shape, secret lookup) (map[string]container, error) {
	p := pod{secret: secret, volumes: map[string]corev1.Volume{}}
	if err := decodeFirst(workload, s.annotations, &p.annotations); err != nil {
		return nil, err
	}
	var volumes []corev1.Volume
	if err := decodeFirst(workload, s.volumes, &volumes); err != nil {
		return nil, err
	}
	for _, v := range volumes {
		p.volumes[v.Name] = v
	}
	seen := map[string]container{}
	for _, at := range s.containers {
		for _, found := range find(workload, at) {
			name, c, err := p.container(found, s)
			if err != nil {
				return nil, err
			}
			if name == "" {
				name = "#" + strconv.Itoa(len(seen))
			}
			seen[name] = c
		}
	}
	return seen, nil
}

// decodeFirst decodes what lies at a path; nothing when there is nothing.
func decodeFirst(from any, at string, into any) error {
	found := find(from, at)
	if len(found) == 0 || found[0] == nil {
		return nil
	}
	if err := decode(found[0], into); err != nil {
		return fmt.Errorf("reading %s: %w", at, err)
	}
	return nil
}

// pod is what the containers of a workload share.
type pod struct {
	annotations map[string]string
	volumes     map[string]corev1.Volume
	secret      lookup
}

func (p pod) container(from any, s shape) (string, container, error) {
	c := container{env: map[string]string{}, dirs: map[string]bool{}, files: map[string]string{}}
	var (
		name   string
		env    []corev1.EnvVar
		mounts []corev1.VolumeMount
	)
	err := errors.Join(decodeFirst(from, s.name, &name), decodeFirst(from, s.env, &env), decodeFirst(from, s.mounts, &mounts))
	if err != nil {
		return "", c, err
	}
	for i := range env {
		if env[i].Name == rootVariable {
			c.root = env[i].Value
			c.roots++
		}
		if err := p.variable(&env[i], c.env); err != nil {
			return "", c, fmt.Errorf("resolving variable %s of container %s: %w", env[i].Name, name, err)
		}
	}
	for i := range mounts {
		if err := p.mount(&mounts[i], &c); err != nil {
			return "", c, fmt.Errorf("resolving mount %s of container %s: %w", mounts[i].Name, name, err)
		}
	}
	return name, c, nil
}

// variable works out the value of an environment variable.
func (p pod) variable(e *corev1.EnvVar, into map[string]string) error {
	switch {
	case e.ValueFrom == nil:
		into[e.Name] = e.Value
	case e.ValueFrom.SecretKeyRef != nil:
		entries, err := p.secret(e.ValueFrom.SecretKeyRef.Name)
		if err != nil {
			return err
		}
		value, ok := entries[e.ValueFrom.SecretKeyRef.Key]
		if !ok {
			return fmt.Errorf("secret %s has no entry %s", e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Key)
		}
		into[e.Name] = value
	case e.ValueFrom.FieldRef != nil:
		if value, ok := p.field(e.ValueFrom.FieldRef); ok {
			into[e.Name] = value
		}
	}
	return nil
}

// field works out a reference to one of the pod's annotations; others are not known before there is a pod.
func (p pod) field(ref *corev1.ObjectFieldSelector) (string, bool) {
	key, found := strings.CutPrefix(ref.FieldPath, "metadata.annotations['")
	if !found {
		return "", false
	}
	value, ok := p.annotations[strings.TrimSuffix(key, "']")]
	return value, ok
}

// mount works out the files that a mount brings.
func (p pod) mount(m *corev1.VolumeMount, c *container) error {
	v, ok := p.volumes[m.Name]
	if !ok {
		return errors.New("there is no such volume")
	}
	files, err := p.content(&v)
	if err != nil {
		return err
	}
	at := path.Clean(m.MountPath)
	c.dirs[at] = true
	for name, content := range files {
		if m.SubPath == "" {
			c.files[path.Join(at, name)] = content
			continue
		}
		rest, below := strings.CutPrefix(path.Clean(name), path.Clean(m.SubPath))
		if below && (rest == "" || rest[0] == '/') {
			c.files[path.Join(at, rest)] = content
		}
	}
	return nil
}

// content works out the files of a volume; those of kinds that bring no Secret are not known.
func (p pod) content(v *corev1.Volume) (map[string]string, error) {
	files := map[string]string{}
	switch {
	case v.Secret != nil:
		return files, p.addSecret(files, v.Secret.SecretName, v.Secret.Items)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				if err := p.addSecret(files, source.Secret.Name, source.Secret.Items); err != nil {
					return nil, err
				}
			}
			if source.DownwardAPI != nil {
				p.addFields(files, source.DownwardAPI.Items)
			}
		}
	}
	return files, nil
}

func (p pod) addSecret(files map[string]string, name string, items []corev1.KeyToPath) error {
	entries, err := p.secret(name)
	if err != nil {
		return err
	}
	if items == nil {
		maps.Copy(files, entries)
	}
	for _, item := range items {
		if value, ok := entries[item.Key]; ok {
			files[item.Path] = value
		}
	}
	return nil
}

func (p pod) addFields(files map[string]string, items []corev1.DownwardAPIVolumeFile) {
	for _, item := range items {
		if item.FieldRef == nil {
			continue
		}
		if value, ok := p.field(item.FieldRef); ok {
			files[item.Path] = value
		}
	}
}
