// Package v1alpha1 holds the types of service.binding/v1alpha1, the API of the specification's early draft, and of its
// extensions: mappings, environment values and synthetic services. They are types only: what is done with them is decided
// elsewhere.
//
// Where the draft's own examples hold a field that its schema lacks, the field is accepted, so that the examples apply.
//
// +kubebuilder:object:generate=true
// +groupName=service.binding
package v1alpha1
