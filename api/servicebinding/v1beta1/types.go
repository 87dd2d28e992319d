// Package v1beta1 holds the kinds of servicebinding.io/v1beta1, the version of the specification's 1.0 text.
// Specs and statuses are those of v1: the versions differ in name only, so that no conversion is needed.
//
// +kubebuilder:object:generate=true
// +groupName=servicebinding.io
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
)

// GroupVersion is servicebinding.io/v1beta1.
var GroupVersion = schema.GroupVersion{Group: bindingv1.GroupVersion.Group, Version: "v1beta1"}

// AddToScheme registers the kinds of this version with a scheme.
var AddToScheme = (&schemeBuilder).AddToScheme

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ServiceBinding{}, &ServiceBindingList{},
		&ClusterWorkloadResourceMapping{}, &ClusterWorkloadResourceMappingList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// ServiceBinding is v1's ServiceBinding.
//
// +kubebuilder:object:root=true
type ServiceBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	Spec bindingv1.ServiceBindingSpec `json:"spec,omitempty"`
	// status is what was observed.
	Status bindingv1.ServiceBindingStatus `json:"status,omitempty"`
}

// ServiceBindingList is a list of bindings.
//
// +kubebuilder:object:root=true
type ServiceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the bindings.
	Items []ServiceBinding `json:"items"`
}

// ClusterWorkloadResourceMapping is v1's ClusterWorkloadResourceMapping.
//
// +kubebuilder:object:root=true
type ClusterWorkloadResourceMapping struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the mapping.
	Spec bindingv1.ClusterWorkloadResourceMappingSpec `json:"spec,omitempty"`
}

// ClusterWorkloadResourceMappingList is a list of mappings.
//
// +kubebuilder:object:root=true
type ClusterWorkloadResourceMappingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the mappings.
	Items []ClusterWorkloadResourceMapping `json:"items"`
}
