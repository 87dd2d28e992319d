package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceBindingSpec names a service, a workload and how the one's credentials reach the other (specification,
// section Service Binding).
type ServiceBindingSpec struct {
	// name is the directory below $SERVICE_BINDING_ROOT that holds the entries. It MUST match [a-z0-9\-\.]{1,253} and
	// MUST NOT be "." or ".."; anything else is refused at admission. Defaults to .metadata.name.
	// +optional
	Name string `json:"name,omitempty"`
	// type replaces the Secret's entry "type" in the workload. Defaults to the Secret's own entry.
	// +optional
	Type string `json:"type,omitempty"`
	// provider replaces the Secret's entry "provider" in the workload. Defaults to the Secret's own entry.
	// +optional
	Provider string `json:"provider,omitempty"`
	// workload refers to what receives the entries, in the binding's own namespace.
	Workload ServiceBindingWorkloadReference `json:"workload"`
	// service refers to a Provisioned Service, or to a Secret directly (apiVersion v1, kind Secret), in the binding's own
	// namespace.
	Service ServiceBindingServiceReference `json:"service"`
	// env lists entries that the containers also receive as environment variables. Each variable MUST be named once.
	// +optional
	Env []EnvMapping `json:"env,omitempty"`
}

// ServiceBindingWorkloadReference refers to one workload by name or to any number by label.
type ServiceBindingWorkloadReference struct {
	// apiVersion of the workload, such as apps/v1.
	APIVersion string `json:"apiVersion"`
	// kind of the workload, such as Deployment.
	Kind string `json:"kind"`
	// name of the workload. Exactly one of name and selector MUST be set; anything else is refused at admission.
	// +optional
	Name string `json:"name,omitempty"`
	// selector matches the labels of the workloads. Each that matches is bound as if it were named. One that matches
	// nothing is no error.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// containers limits the binding to the containers and init containers of these names; a name that no container bears
	// is ignored. Defaults to all.
	// +optional
	Containers []string `json:"containers,omitempty"`
}

// ServiceBindingServiceReference refers to a service.
type ServiceBindingServiceReference struct {
	// apiVersion of the service.
	APIVersion string `json:"apiVersion"`
	// kind of the service. Any kind whose .status.binding.name names a Secret is a service.
	Kind string `json:"kind"`
	// name of the service.
	Name string `json:"name"`
}

// EnvMapping projects one entry of the Secret as an environment variable.
type EnvMapping struct {
	// name of the environment variable.
	Name string `json:"name"`
	// key of the entry in the Secret.
	Key string `json:"key"`
}

// ServiceBindingStatus is what was observed of a binding.
type ServiceBindingStatus struct {
	// observedGeneration is the .metadata.generation that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready, ServiceAvailable and WorkloadProjected.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// binding names the Secret that is projected.
	// +optional
	Binding *ServiceBindingSecretReference `json:"binding,omitempty"`
}

// ServiceBindingSecretReference names a Secret in the binding's namespace.
type ServiceBindingSecretReference struct {
	// name of the Secret.
	Name string `json:"name"`
}

// ServiceBinding ties a workload to a service: the entries of the service's Secret appear in the workload's containers
// as files, and as environment variables where asked.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ServiceBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	Spec ServiceBindingSpec `json:"spec,omitempty"`
	// status is what was observed.
	Status ServiceBindingStatus `json:"status,omitempty"`
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
