package node

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	// defaultMode is what the API server fills in where a volume says nothing.
	defaultMode int32 = 0o644
	// tokenMode is the kubelet's for tokens of pods whose user or group is known.
	tokenMode int32 = 0o600
	// groupReads is what the kubelet adds to each file of a pod with an fsGroup.
	groupReads int32 = 0o440
	// allModes are the bits that a volume can give a file.
	allModes int32 = 0o777
)

// files collects the files of one volume by path.
type files struct {
	mode   int32
	byPath map[string]File
}

// under adds files whose mode, unless they have one of their own, is the given one.
func (w *files) under(mode *int32, where string, add func() error) error {
	w.mode = defaultMode
	if mode != nil {
		w.mode = *mode
	}
	if err := refuseMode(w.mode, where+".defaultMode"); err != nil {
		return err
	}
	return add()
}

func refuseMode(mode int32, where string) error {
	if mode < 0 || mode > allModes {
		return &InvalidError{Where: where, What: fmt.Sprintf("mode %d", mode), Rule: "a mode is between 0 and 0777, which is 511"}
	}
	return nil
}

// add adds a file; of two at one path the later one stays.
func (w *files) add(f File, mode *int32, where string) error {
	f.Mode = w.mode
	if mode != nil {
		f.Mode = *mode
	}
	if err := refuseMode(f.Mode, where+".mode"); err != nil {
		return err
	}
	f.Path = cleaned(f.Path)
	w.byPath[f.Path] = f
	return nil
}

func (w *files) sorted() []File {
	list := make([]File, 0, len(w.byPath))
	for _, f := range w.byPath {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// addProjected adds the files of all sources in their order.
func (r resolver) addProjected(w *files, v *corev1.ProjectedVolumeSource, where string) error {
	for i := range v.Sources {
		if err := r.addSource(w, &v.Sources[i], fmt.Sprintf("%s.sources[%d]", where, i)); err != nil {
			return err
		}
	}
	return nil
}

func (r resolver) addSource(w *files, source *corev1.VolumeProjection, where string) error {
	switch {
	case source.Secret != nil:
		s := source.Secret
		return r.addSecret(w, object{s.Name, s.Items, s.Optional}, where+".secret")
	case source.ConfigMap != nil:
		s := source.ConfigMap
		return r.addConfigMap(w, object{s.Name, s.Items, s.Optional}, where+".configMap")
	case source.DownwardAPI != nil:
		return r.addDownward(w, source.DownwardAPI.Items, where+".downwardAPI")
	case source.ServiceAccountToken != nil:
		return r.addToken(w, source.ServiceAccountToken, where+".serviceAccountToken")
	default:
		return &UnsupportedError{Where: where, What: kindOf(source)}
	}
}

// object is what volumes and sources say of a Secret or ConfigMap.
type object struct {
	name     string
	items    []corev1.KeyToPath
	optional *bool
}

func (r resolver) addSecret(w *files, o object, where string) error {
	entries, err := r.secret(o.name, where, o.optional)
	if err != nil {
		return err
	}
	return w.addEntries(entries, o, where, "Secret")
}

func (r resolver) addConfigMap(w *files, o object, where string) error {
	entries, err := r.configMapFiles(o.name, where, o.optional)
	if err != nil {
		return err
	}
	return w.addEntries(entries, o, where, "ConfigMap")
}

// addEntries adds all entries of an object, or the items asked for.
func (w *files) addEntries(entries Entries, o object, where, kind string) error {
	for i := range o.items {
		item, at := &o.items[i], fmt.Sprintf("%s.items[%d]", where, i)
		value, ok, err := entry(entries, keyOf{kind, o.name, item.Key, o.optional}, at)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := w.add(File{Path: item.Path, Value: value}, item.Mode, at); err != nil {
			return err
		}
	}
	if len(o.items) > 0 {
		return nil
	}
	for key, value := range entries {
		if err := w.add(File{Path: key, Value: value}, nil, where); err != nil {
			return err
		}
	}
	return nil
}

// addDownward adds what items say of the pod itself.
func (r resolver) addDownward(w *files, items []corev1.DownwardAPIVolumeFile, where string) error {
	for i := range items {
		item, at := &items[i], fmt.Sprintf("%s.items[%d]", where, i)
		var text string
		var err error
		switch {
		case item.FieldRef != nil:
			text, err = r.field(item.FieldRef, at+".fieldRef")
		case item.ResourceFieldRef != nil:
			text, err = r.resourceField(item.ResourceFieldRef, forFile, at+".resourceFieldRef")
		default:
			err = &InvalidError{Where: at, What: "it refers to nothing", Rule: "set fieldRef or resourceFieldRef"}
		}
		if err != nil {
			return err
		}
		if err := w.add(File{Path: item.Path, Value: NewValue([]byte(text))}, item.Mode, at); err != nil {
			return err
		}
	}
	return nil
}

// addToken adds a token. The pod's user or group alone can read it where one is known.
func (r resolver) addToken(w *files, source *corev1.ServiceAccountTokenProjection, where string) error {
	value, err := r.token(source, where)
	if err != nil {
		return err
	}
	f, mode := File{Path: source.Path, Value: value, User: r.onlyUser()}, w.mode
	if f.User != nil || r.fsGroup() != nil {
		mode = tokenMode
	}
	return w.add(f, &mode, where)
}
