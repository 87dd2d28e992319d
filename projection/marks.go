package projection

import (
	"maps"
	"slices"
	"strings"
)

// Projected gives the UIDs of the bindings that have any mark on the workload, sorted: an annotation with the mapping
// they were projected with or, where that is gone, a volume or an annotation of the pod template at the default places.
func Projected(w Workload) []string {
	found := marks(w, nil)
	if len(found) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(found))
}

// maxMappings bounds how many mappings one workload can make its projections be looked up by: whoever may write the
// annotations must not be able to keep a controller busy. One mapping for each kind, and one before it, is usual.
const maxMappings = 16

// marks gives the projected bindings and the mapping that each was projected with. The default stands in where the
// annotation is missing or has been spoiled; m, which may be nil, need not be compiled again.
func marks(w Workload, m *Mapping) map[string]*Mapping {
	found := map[string]*Mapping{}
	compiled := map[string]*Mapping{}
	if m != nil {
		compiled[m.encoded] = m
	}
	var standard *Mapping
	fallback := func() *Mapping {
		if standard == nil {
			standard = Default()
		}
		return standard
	}
	annotations := workloadAnnotations(w)
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		uid, ok := markedUID(key, mappingMark)
		if !ok {
			continue
		}
		encoded, _ := annotations[key].(string)
		if compiled[encoded] == nil {
			m, err := decodeMapping(encoded)
			if err != nil || len(compiled) >= maxMappings {
				m = fallback()
			}
			compiled[encoded] = m
		}
		found[uid] = compiled[encoded]
	}
	for _, uid := range unmapped(w) {
		if found[uid] == nil {
			found[uid] = fallback()
		}
	}
	return found
}

func workloadAnnotations(w Workload) map[string]any {
	metadata, _ := w["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}

// unmapped gives the bindings with a mark in the pod template at its default place.
func unmapped(w Workload) []string {
	spec, _ := w["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	metadata, _ := template["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	var found []string
	for key := range annotations {
		if uid, ok := markedUID(key, secretMark, typeMark, providerMark); ok {
			found = append(found, uid)
		}
	}
	podSpec, _ := template["spec"].(map[string]any)
	volumes, _ := podSpec["volumes"].([]any)
	for _, volume := range volumes {
		uid, ok := volumeUID(nameOf(volume))
		if _, projects := projectedSecret(volume); ok && projects {
			found = append(found, uid)
		}
	}
	return found
}

// volumeUID is the binding that a volume or a mount of this name belongs to.
func volumeUID(name string) (string, bool) {
	uid, ok := strings.CutPrefix(name, volumePrefix)
	return uid, ok && uid != ""
}
