package node

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mounts plans each volume mount of the container.
func (r resolver) mounts(env *environment) ([]Mount, error) {
	if len(r.container.VolumeDevices) > 0 {
		return nil, &UnsupportedError{Where: ".volumeDevices[0]", What: "a block device"}
	}
	list := make([]Mount, 0, len(r.container.VolumeMounts))
	taken := map[string]bool{}
	for i := range r.container.VolumeMounts {
		m, where := &r.container.VolumeMounts[i], fmt.Sprintf(".volumeMounts[%d]", i)
		mount, err := r.mount(m, env, where)
		if err != nil {
			return nil, err
		}
		if taken[mount.Path] {
			return nil, &InvalidError{Where: where + ".mountPath", What: fmt.Sprintf("path %q", m.MountPath),
				Rule: "something else is mounted there: choose another path"}
		}
		taken[mount.Path] = true
		list = append(list, *mount)
	}
	return list, nil
}

func (r resolver) mount(m *corev1.VolumeMount, env *environment, where string) (*Mount, error) {
	v, ok := r.pod.volume(m.Name)
	if !ok {
		return nil, &MissingError{Where: where, What: fmt.Sprintf("volume %q", m.Name)}
	}
	at := path.Clean("/" + m.MountPath)
	if m.MountPath == "" || at == "/" {
		return nil, &InvalidError{Where: where + ".mountPath", What: fmt.Sprintf("path %q", m.MountPath), Rule: "it has to name a directory below /"}
	}
	sub, err := subPath(m, env, where)
	if err != nil {
		return nil, err
	}
	scratch := v.EmptyDir != nil || v.VolumeSource == corev1.VolumeSource{}
	return &Mount{Volume: m.Name, Path: at, SubPath: sub, ReadOnly: m.ReadOnly || !scratch}, nil
}

// subPath is the part of the volume that is mounted. An expression refers to variables that have a value only.
func subPath(m *corev1.VolumeMount, env *environment, where string) (string, error) {
	sub := m.SubPath
	if m.SubPathExpr != "" {
		where += ".subPathExpr"
		var missing []string
		sub = expand(m.SubPathExpr, func(name string) (string, bool) {
			value, _ := env.lookup(name)
			if value == "" {
				missing = append(missing, name)
			}
			return value, true
		})
		if len(missing) > 0 {
			return "", &MissingError{Where: where, What: fmt.Sprintf("a value of variable %q", missing[0])}
		}
	} else {
		where += ".subPath"
	}
	// The path may hold a secret value by now, so what the field says is shown.
	shown := fmt.Sprintf("path %q", first(m.SubPathExpr, m.SubPath))
	switch {
	case sub == "":
		return "", nil
	case path.IsAbs(sub):
		return "", &InvalidError{Where: where, What: shown, Rule: "it has to be relative to the volume"}
	case slices.Contains(strings.Split(sub, "/"), ".."):
		return "", &InvalidError{Where: where, What: shown, Rule: "it must not lead upwards"}
	default:
		return path.Clean(sub), nil
	}
}
