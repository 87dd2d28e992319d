package projection

import (
	"slices"
	"strings"
)

// Shapes are what entries of lists mean, whatever the API server or another runtime adds or leaves out in writing them.
// Two entries of one shape are the same entry. What has no shape was not written by a projection.

type envShape struct {
	name string
	// field is an annotation of the pod; where it is empty, secret and key are set.
	field, secret, key string
}

func (s envShape) item() map[string]any {
	source := map[string]any{"secretKeyRef": map[string]any{"name": s.secret, "key": s.key}}
	if s.field != "" {
		source = map[string]any{"fieldRef": fieldRef(s.field)}
	}
	return map[string]any{"name": s.name, "valueFrom": source}
}

// origin is where the value comes from, as the record puts it.
func (s envShape) origin(uid string) string {
	switch s.field {
	case "":
		return s.key
	case annotationField(typeMark, uid):
		return "@" + typeMark
	default:
		return "@" + providerMark
	}
}

func fieldRef(field string) map[string]any {
	return map[string]any{"apiVersion": "v1", "fieldPath": field}
}

func envShapeOf(item any) (envShape, bool) {
	entry, _ := item.(map[string]any)
	source, ok := entry["valueFrom"].(map[string]any)
	if !ok || !just(entry, "name", "valueFrom") {
		return envShape{}, false
	}
	shape := envShape{name: text(entry, "name")}
	if secret, isSecret := source["secretKeyRef"].(map[string]any); isSecret {
		shape.secret, shape.key = text(secret, "name"), text(secret, "key")
		return shape, just(source, "secretKeyRef") && just(secret, "name", "key")
	}
	field, ok := source["fieldRef"].(map[string]any)
	shape.field = text(field, "fieldPath")
	return shape, ok && just(source, "fieldRef") && isFieldRef(field)
}

func isFieldRef(field map[string]any) bool {
	version := text(field, "apiVersion")
	return just(field, "apiVersion", "fieldPath") && (version == "" || version == "v1") && text(field, "fieldPath") != ""
}

type mountShape struct {
	name, path string
}

func (s mountShape) item() map[string]any {
	return map[string]any{"name": s.name, "mountPath": s.path, "readOnly": true}
}

func mountShapeOf(item any) (mountShape, bool) {
	mount, ok := item.(map[string]any)
	readOnly, _ := mount["readOnly"].(bool)
	return mountShape{name: text(mount, "name"), path: text(mount, "mountPath")},
		ok && readOnly && just(mount, "name", "mountPath", "readOnly")
}

type volumeShape struct {
	name, secret string
	// fields are the overridden entries, each as entry=field path, sorted.
	fields string
}

const defaultMode = 0o644

func volumeOf(b Binding) (volumeShape, map[string]any) {
	shape := volumeShape{name: volumeName(b.UID), secret: b.Secret}
	sources := []any{map[string]any{"secret": map[string]any{"name": b.Secret}}}
	var fields []string
	for _, override := range []struct{ mark, value string }{{typeMark, b.Type}, {providerMark, b.Provider}} {
		if override.value == "" {
			continue
		}
		field := annotationField(override.mark, b.UID)
		fields = append(fields, override.mark+"="+field)
		item := map[string]any{"path": override.mark, "fieldRef": fieldRef(field)}
		sources = append(sources, map[string]any{"downwardAPI": map[string]any{"items": []any{item}}})
	}
	slices.Sort(fields)
	shape.fields = strings.Join(fields, ",")
	projected := map[string]any{"defaultMode": int64(defaultMode), "sources": sources}
	return shape, map[string]any{"name": shape.name, "projected": projected}
}

func volumeShapeOf(item any) (volumeShape, bool) {
	volume, _ := item.(map[string]any)
	projected, ok := volume["projected"].(map[string]any)
	if !ok || !just(volume, "name", "projected") || !just(projected, "defaultMode", "sources") {
		return volumeShape{}, false
	}
	sources, _ := projected["sources"].([]any)
	if len(sources) == 0 || !isDefaultMode(projected["defaultMode"]) {
		return volumeShape{}, false
	}
	first, _ := sources[0].(map[string]any)
	secret, ok := first["secret"].(map[string]any)
	if !ok || !just(first, "secret") || !just(secret, "name") {
		return volumeShape{}, false
	}
	fields, ok := overriddenFields(sources[1:])
	return volumeShape{name: text(volume, "name"), secret: text(secret, "name"), fields: fields}, ok
}

func overriddenFields(sources []any) (string, bool) {
	var fields []string
	for _, source := range sources {
		more, ok := downwardFields(source)
		if !ok {
			return "", false
		}
		fields = append(fields, more...)
	}
	slices.Sort(fields)
	return strings.Join(fields, ","), true
}

func downwardFields(source any) ([]string, bool) {
	object, _ := source.(map[string]any)
	downward, ok := object["downwardAPI"].(map[string]any)
	if !ok || !just(object, "downwardAPI") || !just(downward, "items") {
		return nil, false
	}
	items, _ := downward["items"].([]any)
	var fields []string
	for _, item := range items {
		file, _ := item.(map[string]any)
		field, ok := file["fieldRef"].(map[string]any)
		if !ok || !just(file, "path", "fieldRef") || !isFieldRef(field) {
			return nil, false
		}
		fields = append(fields, text(file, "path")+"="+text(field, "fieldPath"))
	}
	return fields, true
}

func isDefaultMode(mode any) bool {
	switch n := mode.(type) {
	case nil:
		return true
	case int64:
		return n == defaultMode
	case float64:
		return n == defaultMode
	default:
		return false
	}
}

// projectedSecret is the Secret behind a volume that is like one of ours, even where someone has edited it.
func projectedSecret(volume any) (string, bool) {
	object, _ := volume.(map[string]any)
	projected, _ := object["projected"].(map[string]any)
	sources, _ := projected["sources"].([]any)
	if len(sources) == 0 {
		return "", false
	}
	first, _ := sources[0].(map[string]any)
	secret, _ := first["secret"].(map[string]any)
	name := text(secret, "name")
	return name, name != ""
}

func isDefaultRoot(item any) bool {
	entry, _ := item.(map[string]any)
	return text(entry, "name") == RootVariable && text(entry, "value") == DefaultRoot && just(entry, "name", "value")
}

// just says whether an object has no other fields than these, but for such as mean nothing: null, false and "".
func just(object map[string]any, fields ...string) bool {
	for field, value := range object {
		switch value {
		case nil, false, "":
			continue
		}
		if !slices.Contains(fields, field) {
			return false
		}
	}
	return true
}

func text(object map[string]any, field string) string {
	value, _ := object[field].(string)
	return value
}
