package node

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// defaultMode is what the API server fills in where a volume says nothing.
const defaultMode int32 = 0o644

// volume lists the files of one volume, sorted by path.
func (r resolver) volume(v *corev1.Volume) ([]File, error) {
	where := fmt.Sprintf(".spec.volumes[%s]", v.Name)
	switch {
	case v.EmptyDir != nil:
		return nil, nil
	case v.Secret != nil:
		s := v.Secret
		w := files{mode: modeOr(s.DefaultMode, defaultMode)}
		err := r.addSecret(&w, secretSource{s.SecretName, s.Items, s.Optional}, where+".secret")
		return w.sorted(), err
	case v.DownwardAPI != nil:
		w := files{mode: modeOr(v.DownwardAPI.DefaultMode, defaultMode)}
		err := r.addDownward(&w, v.DownwardAPI.Items, where+".downwardAPI")
		return w.sorted(), err
	case v.Projected != nil:
		return r.projected(v.Projected, where+".projected")
	default:
		return nil, &UnsupportedError{Where: where, What: "this kind of volume"}
	}
}

// projected lists the files of a projected volume: of two sources with one path the later one wins.
func (r resolver) projected(v *corev1.ProjectedVolumeSource, where string) ([]File, error) {
	w := files{mode: modeOr(v.DefaultMode, defaultMode)}
	for i := range v.Sources {
		source, at := &v.Sources[i], fmt.Sprintf("%s.sources[%d]", where, i)
		var err error
		switch {
		case source.Secret != nil:
			s := source.Secret
			err = r.addSecret(&w, secretSource{s.Name, s.Items, s.Optional}, at+".secret")
		case source.DownwardAPI != nil:
			err = r.addDownward(&w, source.DownwardAPI.Items, at+".downwardAPI")
		default:
			err = &UnsupportedError{Where: at, What: "this kind of source"}
		}
		if err != nil {
			return nil, err
		}
	}
	return w.sorted(), nil
}

// secretSource is what a secret volume and a secret source of a projected volume have in common.
type secretSource struct {
	name     string
	items    []corev1.KeyToPath
	optional *bool
}

// addSecret adds all entries of a Secret, or the items asked for.
func (r resolver) addSecret(w *files, s secretSource, where string) error {
	data, err := r.secret(s.name, where, s.optional)
	if err != nil {
		return err
	}
	if len(s.items) == 0 {
		for key, value := range data {
			w.add(key, value, nil)
		}
		return nil
	}
	for i := range s.items {
		item := &s.items[i]
		value, ok := data[item.Key]
		if ok {
			w.add(item.Path, value, item.Mode)
		} else if !isTrue(s.optional) {
			return &MissingError{Where: where, What: fmt.Sprintf("entry %q of Secret %q", item.Key, s.name)}
		}
	}
	return nil
}

// addDownward adds what items say of the pod itself.
func (r resolver) addDownward(w *files, items []corev1.DownwardAPIVolumeFile, where string) error {
	for i := range items {
		at := fmt.Sprintf("%s.items[%d]", where, i)
		if items[i].FieldRef == nil {
			return &UnsupportedError{Where: at, What: "anything but a fieldRef"}
		}
		text, err := r.field(items[i].FieldRef.FieldPath, at)
		if err != nil {
			return err
		}
		w.add(items[i].Path, NewValue([]byte(text)), items[i].Mode)
	}
	return nil
}

// files collects the files of one volume by path.
type files struct {
	mode   int32
	byPath map[string]File
}

func (w *files) add(path string, value Value, mode *int32) {
	if w.byPath == nil {
		w.byPath = map[string]File{}
	}
	w.byPath[path] = File{Path: path, Value: value, Mode: modeOr(mode, w.mode)}
}

func (w *files) sorted() []File {
	list := make([]File, 0, len(w.byPath))
	for _, f := range w.byPath {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

func modeOr(mode *int32, otherwise int32) int32 {
	if mode == nil {
		return otherwise
	}
	return *mode
}
