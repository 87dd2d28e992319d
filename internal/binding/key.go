package binding

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"
)

// API names the API group that declares a binding.
type API string

// The APIs that declare bindings.
const (
	// Specification is servicebinding.io, the API of the specification. It is the zero value.
	Specification API = ""
	// Draft is service.binding, the API of the specification's early draft.
	Draft API = "service.binding"
)

// WorkloadField is the field in which a binding of the API says where to.
func (a API) WorkloadField() string {
	if a == Draft {
		return "spec.application"
	}
	return "spec.workload"
}

// Key names a binding among those of all APIs.
type Key struct {
	types.NamespacedName
	// API declares the binding.
	API API
}

// KeyOf is the key of a binding.
func KeyOf(api API, namespace, name string) Key {
	return Key{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}, API: api}
}

// String is namespace/name, with the API in front where it is not that of the specification.
func (k Key) String() string {
	if k.API == Specification {
		return k.NamespacedName.String()
	}
	return string(k.API) + "/" + k.NamespacedName.String()
}

// MarshalLog is what a log shows.
func (k Key) MarshalLog() any { return k.String() }

// Compare orders keys by namespace, name and API.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name), cmp.Compare(k.API, other.API))
}
