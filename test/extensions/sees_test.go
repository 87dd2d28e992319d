package extensions_test

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// calm is how long what is seen must not change before it is written down.
const calm = 2 * time.Second

// templateOf finds the pod template of a workload; nil where there is none.
func templateOf(object *unstructured.Unstructured) map[string]any {
	if object.GetKind() == "Pod" {
		return object.Object
	}
	for _, at := range [][]string{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
		if template, ok, _ := unstructured.NestedMap(object.Object, at...); ok {
			return template
		}
	}
	return nil
}

func isWorkload(object *unstructured.Unstructured) bool { return templateOf(object) != nil }

// sees waits until the containers that a section names see what it says.
func (p *player) sees(i int, text string) error {
	var got string
	look := func() (err error) {
		got, err = p.view(text)
		return err
	}
	if *update {
		last, since := "", time.Now()
		err := eventually(p.t.Context(), patience, func() error {
			if err := look(); err != nil {
				return err
			}
			if got != last {
				last, since = got, time.Now()
			}
			if time.Since(since) < calm {
				return errors.New("it changes")
			}
			return nil
		})
		p.scenario.rewrite(i, got)
		return err
	}
	err := eventually(p.t.Context(), patience, func() error {
		if err := look(); err != nil {
			return err
		}
		if diff := gocmp.Diff(text, got); diff != "" {
			return fmt.Errorf("containers see something else (-want +got):\n%s", diff)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.quiet()
}

// view writes the section anew: headers as they are, and below each what its container sees.
func (p *player) view(text string) (string, error) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		workload, container, header := strings.Cut(strings.TrimSpace(line), " ")
		kind, name, isName := strings.Cut(workload, "/")
		if !header || !isName || kind == "" || strings.HasPrefix(kind, "$") {
			continue
		}
		seen, err := p.containerSees(kind, name, container)
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
		if out.Len() > 0 {
			out.WriteString("\n")
		}
		out.WriteString(strings.TrimSpace(line) + "\n")
		for _, one := range seen {
			out.WriteString(one + "\n")
		}
	}
	return out.String(), nil
}

// containerSees lists files and variables of a container.
func (p *player) containerSees(kind, name, container string) ([]string, error) {
	before := p.workloads[kind+"/"+name]
	if before == nil {
		return nil, errors.New("there is no such workload")
	}
	resource, err := p.of(p.admin, before)
	if err != nil {
		return nil, err
	}
	object, err := resource.Get(p.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var template corev1.PodTemplateSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(templateOf(object), &template); err != nil {
		return nil, err
	}
	secrets, err := p.secrets()
	if err != nil {
		return nil, err
	}
	eye := &kubelet{template: &template, secrets: secrets}
	for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
		if c.Name == container {
			return eye.look(&c)
		}
	}
	return nil, errors.New("there is no such container")
}

// secrets gives the entries of all Secrets of the namespace.
func (p *player) secrets() (map[string]map[string]string, error) {
	list, err := p.list(secretKind)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]string{}
	for _, secret := range list {
		entries := map[string]string{}
		data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
		for key, value := range data {
			raw, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return nil, err
			}
			entries[key] = string(raw)
		}
		all[secret.GetName()] = entries
	}
	return all, nil
}

// kubelet computes what a container sees.
type kubelet struct {
	template *corev1.PodTemplateSpec
	secrets  map[string]map[string]string
}

func (k *kubelet) look(c *corev1.Container) ([]string, error) {
	var lines []string
	for _, mount := range c.VolumeMounts {
		files, err := k.files(mount.Name)
		if err != nil {
			return nil, err
		}
		for name, value := range files {
			lines = append(lines, path.Join(mount.MountPath, name)+" = "+readable(value))
		}
	}
	for _, variable := range c.Env {
		value, err := k.value(variable)
		if err != nil {
			return nil, err
		}
		lines = append(lines, "$"+variable.Name+" = "+readable(value))
	}
	slices.SortFunc(lines, func(a, b string) int {
		return cmp.Or(-cmp.Compare(a[:1], b[:1]), cmp.Compare(a, b)) // files first
	})
	return lines, nil
}

// files gives those of a volume.
func (k *kubelet) files(volume string) (map[string]string, error) {
	files := map[string]string{}
	for _, v := range k.template.Spec.Volumes {
		if v.Name != volume || v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if err := k.add(files, source); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

func (k *kubelet) add(files map[string]string, source corev1.VolumeProjection) error {
	if source.DownwardAPI != nil {
		for _, item := range source.DownwardAPI.Items {
			value, err := k.field(item.FieldRef)
			if err != nil {
				return err
			}
			files[item.Path] = value
		}
	}
	if source.Secret == nil {
		return nil
	}
	entries, ok := k.secrets[source.Secret.Name]
	if !ok {
		return fmt.Errorf("Secret %q is not there", source.Secret.Name)
	}
	if len(source.Secret.Items) == 0 {
		maps.Copy(files, entries)
	}
	for _, item := range source.Secret.Items {
		files[item.Path] = entries[item.Key]
	}
	return nil
}

func (k *kubelet) value(variable corev1.EnvVar) (string, error) {
	switch from := variable.ValueFrom; {
	case from == nil:
		return variable.Value, nil
	case from.FieldRef != nil:
		return k.field(from.FieldRef)
	case from.SecretKeyRef != nil:
		value, ok := k.secrets[from.SecretKeyRef.Name][from.SecretKeyRef.Key]
		if !ok {
			return "", fmt.Errorf("Secret %q has no %q, which $%s wants", from.SecretKeyRef.Name, from.SecretKeyRef.Key, variable.Name)
		}
		return value, nil
	}
	return "", fmt.Errorf("$%s is from a place unknown here", variable.Name)
}

// field gives an annotation of the pod; Bowline uses no other.
func (k *kubelet) field(of *corev1.ObjectFieldSelector) (string, error) {
	key, ok := strings.CutPrefix(of.FieldPath, "metadata.annotations['")
	value, there := k.template.Annotations[strings.TrimSuffix(key, "']")]
	if !ok || !there {
		return "", fmt.Errorf("there is no %s", of.FieldPath)
	}
	return value, nil
}

// readable quotes what is not one line of plain text.
func readable(value string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if value == "" || strings.ContainsFunc(value, odd) || strings.TrimSpace(value) != value {
		return strconv.Quote(value)
	}
	return value
}
