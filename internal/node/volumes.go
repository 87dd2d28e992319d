package node

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// volumes plans what the container mounts. What it does not mount is not even looked at: nothing of it is needed.
func (r resolver) volumes() ([]Volume, error) {
	mounted := map[string]bool{}
	for i := range r.container.VolumeMounts {
		mounted[r.container.VolumeMounts[i].Name] = true
	}
	var list []Volume
	for i := range r.pod.template.Spec.Volumes {
		v := &r.pod.template.Spec.Volumes[i]
		if !mounted[v.Name] {
			continue
		}
		volume, err := r.volume(v)
		if err != nil {
			return nil, err
		}
		list = append(list, *volume)
	}
	return list, nil
}

// volume plans one volume. One that does not say what it is is an empty directory, as the API server has it.
func (r resolver) volume(v *corev1.Volume) (*Volume, error) {
	where := fmt.Sprintf(".spec.volumes[%s]", v.Name)
	switch {
	case v.EmptyDir != nil:
		return scratch(v, where)
	case v.VolumeSource == corev1.VolumeSource{}:
		return &Volume{Name: v.Name, Scratch: true}, nil
	}
	w := files{byPath: map[string]File{}}
	if err := r.addVolume(&w, v, where); err != nil {
		return nil, err
	}
	list, err := r.finish(&w, where)
	return &Volume{Name: v.Name, Files: list, Sticky: v.ConfigMap == nil}, err
}

// addVolume adds the files of a volume that has some.
func (r resolver) addVolume(w *files, v *corev1.Volume, where string) error {
	switch {
	case v.Secret != nil:
		s := v.Secret
		where += ".secret"
		return w.under(s.DefaultMode, where, func() error { return r.addSecret(w, object{s.SecretName, s.Items, s.Optional}, where) })
	case v.ConfigMap != nil:
		s := v.ConfigMap
		where += ".configMap"
		return w.under(s.DefaultMode, where, func() error { return r.addConfigMap(w, object{s.Name, s.Items, s.Optional}, where) })
	case v.DownwardAPI != nil:
		where += ".downwardAPI"
		return w.under(v.DownwardAPI.DefaultMode, where, func() error { return r.addDownward(w, v.DownwardAPI.Items, where) })
	case v.Projected != nil:
		where += ".projected"
		return w.under(v.Projected.DefaultMode, where, func() error { return r.addProjected(w, v.Projected, where) })
	default:
		return &UnsupportedError{Where: where, What: kindOf(v.VolumeSource)}
	}
}

// scratch plans an empty directory. It is in memory whatever its medium is.
func scratch(v *corev1.Volume, where string) (*Volume, error) {
	switch v.EmptyDir.Medium {
	case corev1.StorageMediumDefault, corev1.StorageMediumMemory:
	default:
		return nil, &UnsupportedError{Where: where + ".emptyDir.medium", What: fmt.Sprintf("medium %q", v.EmptyDir.Medium)}
	}
	volume := &Volume{Name: v.Name, Scratch: true, Sticky: v.EmptyDir.Medium == corev1.StorageMediumMemory}
	if v.EmptyDir.SizeLimit != nil {
		volume.SizeLimit = v.EmptyDir.SizeLimit.Value()
	}
	if volume.SizeLimit < 0 {
		return nil, &InvalidError{Where: where + ".emptyDir.sizeLimit", What: v.EmptyDir.SizeLimit.String(), Rule: "a size is not negative"}
	}
	return volume, nil
}

// kindOf names the kind of a volume or source by its field.
func kindOf(source any) string {
	var fields map[string]json.RawMessage
	encoded, err := json.Marshal(source)
	if err != nil || json.Unmarshal(encoded, &fields) != nil || len(fields) == 0 {
		return "this kind of volume"
	}
	return "a volume of kind " + slices.Min(slices.Collect(maps.Keys(fields)))
}

// finish gives the files their group's bits and sees to it that they can lie together in a directory.
func (r resolver) finish(w *files, where string) ([]File, error) {
	list := w.sorted()
	if err := CheckFiles(list); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if r.fsGroup() == nil {
		return list, nil
	}
	for i := range list {
		list[i].Mode |= groupReads
	}
	return list, nil
}
