package projection

import (
	"maps"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// Trim gives the least of a workload that projections by a mapping need, so that thousands of workloads can be kept in
// memory: the patch from a trimmed workload to its projection is the patch of the whole one. The values of a person's
// environment variables are gone. A workload trimmed for one mapping does not fit another.
//
// A workload that bears projections made with another mapping, or whose mapping is not made of plain paths, is kept
// whole but for its managed fields and its status. Where something of a person's lies beside what projections created,
// one field of it remains, emptied, to tell that the place is not empty.
func Trim(w Workload, m *Mapping) Workload {
	if m == nil {
		m = Default()
	}
	if !trimmable(w, m) {
		return trimLittle(w, m)
	}
	kept := newBranch()
	for _, field := range []string{"apiVersion", "kind"} {
		kept.add([]string{field}, keepAll)
	}
	for _, field := range []string{
		"name", "namespace", "uid", "resourceVersion", "generation", "labels", "deletionTimestamp",
	} {
		kept.add([]string{"metadata", field}, keepAll)
	}
	kept.add([]string{"metadata", "annotations"}, trimAnnotations)
	kept.add(m.annotations.Steps(), trimAnnotations)
	kept.add(m.volumes.Steps(), eachOf(trimVolume))
	for _, cm := range m.containers {
		inner := newBranch()
		if cm.name != nil {
			inner.add(cm.name.Steps(), keepAll)
		}
		inner.add(cm.env.Steps(), eachOf(trimVariable))
		inner.add(cm.mounts.Steps(), eachOf(trimMount))
		kept.add(cm.list, eachBelow(inner.trim))
	}
	trimmed, _ := kept.trim(w).(map[string]any)
	return trimmed
}

// trimmable says whether all places of the mapping lie side by side, and no other mapping has been used.
func trimmable(w Workload, m *Mapping) bool {
	for _, other := range marks(w, m) {
		if other.fingerprint != m.fingerprint {
			return false
		}
	}
	places := []string{m.volumes.Pointer()}
	if own := "/metadata/annotations"; m.annotations.Pointer() != own {
		places = append(places, own, m.annotations.Pointer())
	}
	for _, cm := range m.containers {
		if !cm.simple {
			return false
		}
		places = append(places, jsonpath.Pointer(cm.list))
		inner := []string{cm.env.Pointer(), cm.mounts.Pointer()}
		if cm.name != nil {
			inner = append(inner, cm.name.Pointer())
		}
		if !apart(inner) {
			return false
		}
	}
	return apart(places) && !slices.ContainsFunc(places, isHead)
}

// isHead says whether a place is among the fields that every object has.
func isHead(pointer string) bool {
	return pointer != "/metadata/annotations" &&
		(pointer == "/metadata" || pointer == "/apiVersion" || pointer == "/kind" || isBelow(pointer, "/metadata") ||
			isBelow(pointer, "/apiVersion") || isBelow(pointer, "/kind"))
}

func apart(pointers []string) bool {
	for i, a := range pointers {
		for j, b := range pointers {
			if i != j && (a == b || isBelow(a, b)) {
				return false
			}
		}
	}
	return true
}

// trimLittle takes away what no mapping leads to.
func trimLittle(w Workload, m *Mapping) Workload {
	trimmed := maps.Clone(w)
	if metadata, ok := trimmed["metadata"].(map[string]any); ok && !m.reaches("metadata") {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		trimmed["metadata"] = metadata
	}
	if !m.reaches("status") {
		delete(trimmed, "status")
	}
	trimmed, _ = clone(trimmed).(map[string]any)
	return trimmed
}

// reaches says whether a mapping may look for containers, or write, below a field of the root.
func (m *Mapping) reaches(field string) bool {
	if m.volumes.Steps()[0] == field || m.annotations.Steps()[0] == field && m.annotations.Pointer() != "/metadata/annotations" {
		return true
	}
	return slices.ContainsFunc(m.containers, func(cm containerMapping) bool {
		first, ok := cm.path.FirstField()
		return !ok || first == field
	})
}

// branch is a tree of what to keep.
type branch struct {
	below map[string]*branch
	keep  func(any) any // at the end of a path
}

func newBranch() *branch {
	return &branch{below: map[string]*branch{}}
}

func (b *branch) add(steps []string, keep func(any) any) {
	for _, step := range steps {
		if b.below[step] == nil {
			b.below[step] = newBranch()
		}
		b = b.below[step]
	}
	b.keep = keep
}

func (b *branch) trim(value any) any {
	if b.keep != nil {
		return b.keep(value)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return emptied(value)
	}
	trimmed := make(map[string]any, len(b.below))
	witness := ""
	for field, below := range object {
		if next := b.below[field]; next != nil {
			trimmed[field] = next.trim(below)
		} else if witness == "" || field < witness {
			witness = field
		}
	}
	if below, ok := object[witness]; ok && b.below[witness] == nil {
		trimmed[witness] = emptied(below)
	}
	return trimmed
}

func keepAll(value any) any { return clone(value) }

// emptied is a value of the same type that tells nothing.
func emptied(value any) any {
	switch value.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	case string:
		return ""
	case bool:
		return false
	case nil:
		return nil
	default:
		return int64(0)
	}
}

func eachOf(trim func(any) any) func(any) any {
	return func(value any) any {
		items, ok := value.([]any)
		if !ok || items == nil {
			return emptied(value)
		}
		trimmed := make([]any, len(items))
		for i, item := range items {
			trimmed[i] = trim(item)
		}
		return trimmed
	}
}

// eachBelow trims what a wildcard finds: the elements of a list, or the values of an object.
func eachBelow(trim func(any) any) func(any) any {
	return func(value any) any {
		object, ok := value.(map[string]any)
		if !ok {
			return eachOf(trim)(value)
		}
		trimmed := make(map[string]any, len(object))
		for key, below := range object {
			trimmed[key] = trim(below)
		}
		return trimmed
	}
}

func trimAnnotations(value any) any {
	annotations, ok := value.(map[string]any)
	if !ok {
		return emptied(value)
	}
	trimmed := map[string]any{}
	witness, found := "", false
	for key, text := range annotations {
		if isOurAnnotation(key) {
			trimmed[key] = clone(text)
		} else if !found || key < witness {
			witness, found = key, true
		}
	}
	if found {
		trimmed[witness] = ""
	}
	return trimmed
}

func trimVolume(item any) any {
	if strings.HasPrefix(nameOf(item), volumePrefix) {
		return clone(item)
	}
	return trimFields(item, "name")
}

func trimMount(item any) any {
	if strings.HasPrefix(nameOf(item), volumePrefix) {
		return clone(item)
	}
	return trimFields(item, "name", "mountPath")
}

// trimVariable keeps whole what a projection might have written, and what decides where bindings are mounted.
func trimVariable(item any) any {
	if nameOf(item) == RootVariable {
		return clone(item)
	}
	if _, ours := envShapeOf(item); ours {
		return clone(item)
	}
	return trimFields(item, "name")
}

func trimFields(item any, fields ...string) any {
	object, ok := item.(map[string]any)
	if !ok {
		return emptied(item)
	}
	trimmed := make(map[string]any, len(fields))
	for _, field := range fields {
		if value, ok := object[field]; ok {
			trimmed[field] = clone(value)
		}
	}
	return trimmed
}
