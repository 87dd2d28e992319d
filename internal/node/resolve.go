package node

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// maxObject is how many bytes the values of a Secret or ConfigMap may hold, as the API server counts.
const maxObject = 1 << 20

// resolver answers what one container refers to.
type resolver struct {
	pod       *Pod
	container *corev1.Container
	objects   Objects
	machine   Machine
}

// secret finds a Secret; a missing one that is optional counts as empty.
func (r resolver) secret(name, where string, optional *bool) (Entries, error) {
	entries, ok := r.objects.Secrets[name]
	if !ok && !isTrue(optional) {
		return nil, &MissingError{Where: where, What: fmt.Sprintf("Secret %q", name)}
	}
	return entries, refuseLarge("Secret", name, sizeOf(entries))
}

// configMap finds the text of a ConfigMap; a missing one that is optional counts as empty.
func (r resolver) configMap(name, where string, optional *bool) (Entries, error) {
	entries, ok := r.objects.ConfigMaps[name]
	binary, has := r.objects.BinaryData[name]
	if !ok && !has && !isTrue(optional) {
		return nil, &MissingError{Where: where, What: fmt.Sprintf("ConfigMap %q", name)}
	}
	return entries, refuseLarge("ConfigMap", name, sizeOf(entries)+sizeOf(binary))
}

// configMapFiles finds all of a ConfigMap. No key is in both its parts.
func (r resolver) configMapFiles(name, where string, optional *bool) (Entries, error) {
	text, err := r.configMap(name, where, optional)
	binary := r.objects.BinaryData[name]
	if err != nil || len(binary) == 0 {
		return text, err
	}
	all := make(Entries, len(text)+len(binary))
	maps.Copy(all, binary)
	maps.Copy(all, text)
	return all, nil
}

// token finds a token of the pod's service account.
func (r resolver) token(source *corev1.ServiceAccountTokenProjection, where string) (Value, error) {
	request := tokenRequest(source, r.pod.serviceAccount())
	value, ok := r.objects.Tokens[request]
	if !ok {
		return Value{}, &MissingError{Where: where, What: fmt.Sprintf("a token of service account %q", request.ServiceAccount)}
	}
	return value, nil
}

func sizeOf(entries Entries) int64 {
	var size int64
	for _, value := range entries {
		size += int64(len(value.Reveal()))
	}
	return size
}

func refuseLarge(kind, name string, size int64) error {
	if size > maxObject {
		return &TooLargeError{Kind: kind, Name: name, Size: size, Limit: maxObject}
	}
	return nil
}
