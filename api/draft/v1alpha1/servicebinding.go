package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
)

// ServiceBindingSpec names a service, an application and how the one's credentials reach the other (early draft, sections
// Service Binding, Mapping Existing Values to New Values, Binding Values as Environment Variables and Multi-Application
// Bindings).
type ServiceBindingSpec struct {
	// name is the directory below $SERVICE_BINDING_ROOT that holds the entries. It MUST match [a-z0-9\-\.]{1,253} and
	// MUST NOT be "." or ".."; anything else is refused at admission. Defaults to .metadata.name.
	// +optional
	Name string `json:"name,omitempty"`
	// type replaces the Secret's entry "type" in the application. Defaults to the Secret's own entry.
	// +optional
	Type string `json:"type,omitempty"`
	// kind is an older spelling of type, which the draft's examples still have. It counts where type is not set.
	// +optional
	Kind string `json:"kind,omitempty"`
	// provider replaces the Secret's entry "provider" in the application. Defaults to the Secret's own entry.
	// +optional
	Provider string `json:"provider,omitempty"`
	// application refers to what receives the entries, in the binding's own namespace.
	Application ApplicationReference `json:"application"`
	// service refers to a Provisioned Service, to a described service, or to a Secret directly (apiVersion v1, kind
	// Secret), in the binding's own namespace.
	Service ObjectReference `json:"service"`
	// mappings add entries that are made from others. They are made before env.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	Mappings []Mapping `json:"mappings,omitempty"`
	// env sets environment variables in the application's containers. Each variable MUST be named once.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	Env []EnvVar `json:"env,omitempty"`
}

// ApplicationReference refers to one application by name or to any number by label.
type ApplicationReference struct {
	// apiVersion of the application, such as apps/v1.
	APIVersion string `json:"apiVersion"`
	// kind of the application, such as Deployment.
	Kind string `json:"kind"`
	// name of the application. Exactly one of name and selector MUST be set; anything else is refused at admission.
	// +optional
	Name string `json:"name,omitempty"`
	// selector matches the labels of the applications. Each that matches is bound as if it were named. One that matches
	// nothing is no error.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// containers limits the binding to some containers: a text is the name of a container or init container, a number the
	// position of a container, counted from 0 without the init containers. What no container answers to is ignored.
	// Defaults to all.
	// +optional
	// +listType=atomic
	Containers []intstr.IntOrString `json:"containers,omitempty"`
}

// ObjectReference refers to an object in the namespace of what refers to it.
type ObjectReference struct {
	// apiVersion of the object.
	APIVersion string `json:"apiVersion"`
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object.
	Name string `json:"name"`
}

// Mapping makes one entry.
type Mapping struct {
	// name of the entry. It MUST be a key that a Secret can hold.
	Name string `json:"name"`
	// value of the entry, in which each ((token)) stands for another value; \(( stands for (( itself. In a ServiceBinding a
	// token is the key of an entry, in a SyntheticProvisionedService it is a service and a JSONPath within it.
	Value string `json:"value"`
}

// EnvVar sets one environment variable.
type EnvVar struct {
	// name of the environment variable.
	Name string `json:"name"`
	// value of the variable, in which each ((token)) stands for the entry of that key, those of mappings included; \((
	// stands for (( itself. It reaches the containers through a Secret, never through the pod template.
	Value string `json:"value"`
}

// ServiceBinding ties an application to a service: the entries of the service's Secret appear in the application's
// containers as files, and as environment variables where asked.
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
	// status is what was observed: conditions, and the Secret that is projected.
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
