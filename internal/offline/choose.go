package offline

import (
	"fmt"
	"slices"
	"strings"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// NoWorkloadError says that the manifests hold no workload, or none of that name.
type NoWorkloadError struct {
	// Name is what was asked for; empty for any.
	Name string
	// Known are the workloads that there are, as KIND/NAME.
	Known []string
}

// Error names the workload.
func (e *NoWorkloadError) Error() string {
	if e.Name == "" {
		return "the manifests hold no workload"
	}
	return fmt.Sprintf("the manifests hold no workload %q", e.Name)
}

// SeveralWorkloadsError says that more than one workload could be meant.
type SeveralWorkloadsError struct {
	// Known are the workloads that could be meant, as KIND/NAME, with the namespace where only that tells them apart.
	Known []string
}

// Error names them.
func (e *SeveralWorkloadsError) Error() string {
	return "the manifests hold several workloads: " + strings.Join(e.Known, ", ")
}

// choose returns the workload that is meant.
func (w *World) choose(c Choice) (object, error) {
	var all, meant []object
	for _, o := range w.others {
		if !w.isWorkload(o, c.Mappings) || !inNamespace(o, c.Namespace) {
			continue
		}
		all = append(all, o)
		if c.Workload == "" || named(o, c.Workload) {
			meant = append(meant, o)
		}
	}
	meant = slices.DeleteFunc(meant, func(o object) bool { return hidden(o, meant, c.Namespace) })
	switch len(meant) {
	case 0:
		return object{}, &NoWorkloadError{Name: c.Workload, Known: describe(all)}
	case 1:
		return meant[0], nil
	}
	return object{}, &SeveralWorkloadsError{Known: describe(meant)}
}

// hidden says whether an object that names no namespace is the same one as another that does: as with Secrets, that one wins.
func hidden(o object, all []object, namespace string) bool {
	return o.namespace == "" && slices.ContainsFunc(all, func(other object) bool {
		return other.namespace == spaceOf(o, namespace).name && other.name == o.name && other.kind.GroupKind() == o.kind.GroupKind()
	})
}

// inNamespace lets any object pass where no namespace is asked for, or that has none of its own.
func inNamespace(o object, namespace string) bool {
	return namespace == "" || o.namespace == "" || o.namespace == namespace
}

// named says whether NAME or KIND/NAME means the object; case is free in the kind.
func named(o object, want string) bool {
	kind, name, found := strings.Cut(want, "/")
	if !found {
		return o.name == want
	}
	kind, group, grouped := strings.Cut(kind, ".")
	return o.name == name && strings.EqualFold(kind, o.kind.Kind) && (!grouped || group == o.kind.Group)
}

func describe(objects []object) []string {
	list := make([]string, 0, len(objects))
	for _, o := range objects {
		list = append(list, strings.ToLower(o.kind.Kind)+"/"+o.name)
	}
	slices.Sort(list)
	if unique := slices.Compact(slices.Clone(list)); len(unique) == len(list) {
		return list
	}
	list = list[:0]
	for _, o := range objects {
		list = append(list, fmt.Sprintf("%s/%s (namespace %q)", strings.ToLower(o.kind.Kind), o.name, o.namespace))
	}
	slices.Sort(list)
	return list
}

// isWorkload says whether an object holds containers where its mapping has them, or a binding takes it for a workload.
func (w *World) isWorkload(o object, shipped []*bindingv1.ClusterWorkloadResourceMapping) bool {
	for _, b := range w.bindings {
		if model, _ := b.in(""); model.Workload.GroupKind() == o.kind.GroupKind() && model.Workload.Name == o.name {
			return true
		}
	}
	mapping, err := w.mapping(o.kind, shipped)
	if err != nil {
		return false
	}
	for _, c := range mapping.Template().Containers {
		path, err := jsonpath.Parse(c.Path)
		if err != nil {
			continue
		}
		if found, err := path.Find(o.source.object); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
