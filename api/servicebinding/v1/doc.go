// Package v1 holds the types of servicebinding.io/v1, the storage version of the Service Binding Specification's API.
// They are types only: what is done with them is decided elsewhere.
//
// The served schemas equal the exemplars of the specification field by field; the versions v1beta1 and v1alpha3
// reuse the specs and statuses defined here.
//
// +kubebuilder:object:generate=true
// +groupName=servicebinding.io
package v1
