package node

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// envField resolves a field for a variable: what volumes know, and what is known once a pod runs.
func (r resolver) envField(ref *corev1.ObjectFieldSelector, where string) (string, error) {
	m := r.machine
	switch ref.FieldPath {
	case "spec.nodeName", "spec.host":
		return first(r.pod.template.Spec.NodeName, m.NodeName, m.Hostname), nil
	case "spec.serviceAccountName":
		return r.pod.serviceAccount(), nil
	case "status.hostIP", "status.hostIPs":
		return m.HostIP, nil
	case "status.podIP", "status.podIPs":
		return m.PodIP, nil
	case "metadata.labels", "metadata.annotations":
		return "", &InvalidError{Where: where, What: fmt.Sprintf("field %q", ref.FieldPath),
			Rule: "a variable can hold one of them only, such as " + ref.FieldPath + "['key']; all of them fit a volume"}
	default:
		return r.field(ref, where)
	}
}

// field resolves a field for a file of a volume. An absent annotation or label is empty, as it is for the kubelet.
func (r resolver) field(ref *corev1.ObjectFieldSelector, where string) (string, error) {
	if ref.APIVersion != "" && ref.APIVersion != "v1" {
		return "", &UnsupportedError{Where: where + ".apiVersion", What: fmt.Sprintf("version %q of the fields of a pod", ref.APIVersion)}
	}
	meta := r.pod.template.ObjectMeta
	switch ref.FieldPath {
	case "metadata.name":
		return meta.Name, nil
	case "metadata.namespace":
		return meta.Namespace, nil
	case "metadata.uid":
		return string(meta.UID), nil
	case "metadata.labels":
		return lines(meta.Labels), nil
	case "metadata.annotations":
		return lines(meta.Annotations), nil
	}
	if key, ok := subscript(ref.FieldPath, "metadata.annotations"); ok {
		return meta.Annotations[key], nil
	}
	if key, ok := subscript(ref.FieldPath, "metadata.labels"); ok {
		return meta.Labels[key], nil
	}
	return "", &UnsupportedError{Where: where, What: fmt.Sprintf("field %q", ref.FieldPath)}
}

// subscript returns k of a path such as prefix['k'].
func subscript(path, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(path, prefix+"['")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "']")
}

// lines is the kubelet's form of labels and annotations: a sorted line for each, its value quoted as Go does, and no
// newline at the end.
func lines(all map[string]string) string {
	list := make([]string, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list = append(list, key+"="+strconv.Quote(all[key]))
	}
	return strings.Join(list, "\n")
}

// first is the first text that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
