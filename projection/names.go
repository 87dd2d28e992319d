package projection

import (
	"slices"
	"strings"
)

// The names under which projections are written. They are those of the specification's reference runtime, so that
// either understands what the other wrote.
const (
	// RootVariable is the environment variable that names the directory of all bindings.
	RootVariable = "SERVICE_BINDING_ROOT"
	// DefaultRoot is its value where a container has none of its own.
	DefaultRoot = "/bindings"

	volumePrefix     = "servicebinding-"
	annotationPrefix = "projector.servicebinding.io/"
	ownPrefix        = "bowline.dev/"
	recordAnnotation = ownPrefix + "projection"

	mappingMark  = "mapping"
	secretMark   = "secret"
	typeMark     = "type"
	providerMark = "provider"
)

func volumeName(uid string) string {
	return volumePrefix + uid
}

func annotationKey(mark, uid string) string {
	return annotationPrefix + mark + "-" + uid
}

func annotationField(mark, uid string) string {
	return "metadata.annotations['" + annotationKey(mark, uid) + "']"
}

// markedUID is the binding that an annotation with one of these marks belongs to.
func markedUID(key string, marks ...string) (string, bool) {
	rest, ok := strings.CutPrefix(key, annotationPrefix)
	if !ok {
		return "", false
	}
	mark, uid, ok := strings.Cut(rest, "-")
	return uid, ok && uid != "" && slices.Contains(marks, mark)
}

func isOurAnnotation(key string) bool {
	return strings.HasPrefix(key, annotationPrefix) || strings.HasPrefix(key, ownPrefix)
}

func nameOf(item any) string {
	object, _ := item.(map[string]any)
	name, _ := object["name"].(string)
	return name
}
