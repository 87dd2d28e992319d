package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SyntheticProvisionedServiceSpec says what a service is made of (early draft, section Synthetic Provisioned Service).
type SyntheticProvisionedServiceSpec struct {
	// name begins the name of the Secret that is made. Defaults to .metadata.name.
	// +optional
	Name string `json:"name,omitempty"`
	// type is the Secret's entry "type". It MUST be set here or by a mapping of that name.
	// +optional
	Type string `json:"type,omitempty"`
	// provider is the Secret's entry "provider".
	// +optional
	Provider string `json:"provider,omitempty"`
	// services are the resources that mappings read, of any namespaced kinds, in the namespace of this one. Who creates or
	// changes this object MUST be allowed to get each of them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Services []SourceReference `json:"services"`
	// mappings are the entries of the Secret. In a value ((name.path)) stands for what the JSONPath finds in the service of
	// that name, or of that id.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	Mappings []Mapping `json:"mappings,omitempty"`
}

// SourceReference refers to a resource that mappings read.
type SourceReference struct {
	// apiVersion of the resource.
	APIVersion string `json:"apiVersion"`
	// kind of the resource.
	Kind string `json:"kind"`
	// name of the resource.
	Name string `json:"name"`
	// id is what mappings call the resource, in letters, digits, '-' and '_'. It is needed where two resources have one
	// name. Defaults to name.
	// +optional
	ID string `json:"id,omitempty"`
}

// SyntheticProvisionedServiceStatus is what was observed.
type SyntheticProvisionedServiceStatus struct {
	// observedGeneration is the .metadata.generation that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready and SourcesAvailable.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// binding names the Secret, which makes this resource a Provisioned Service.
	// +optional
	Binding *SecretReference `json:"binding,omitempty"`
}

// SecretReference names a Secret in the same namespace.
type SecretReference struct {
	// name of the Secret.
	Name string `json:"name"`
}

// SyntheticProvisionedService is a service that is made of other resources: its Secret holds what mappings take from them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.status.binding.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SyntheticProvisionedService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	Spec SyntheticProvisionedServiceSpec `json:"spec,omitempty"`
	// status is what was observed.
	Status SyntheticProvisionedServiceStatus `json:"status,omitempty"`
}

// SyntheticProvisionedServiceList is a list of synthetic services.
//
// +kubebuilder:object:root=true
type SyntheticProvisionedServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the synthetic services.
	Items []SyntheticProvisionedService `json:"items"`
}
