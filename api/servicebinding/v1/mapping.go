package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterWorkloadResourceMappingSpec says where a kind of workload keeps what a pod template would hold (specification,
// section Workload Resource Mapping).
type ClusterWorkloadResourceMappingSpec struct {
	// versions holds one template for each version of the mapped resource. A version MUST NOT be listed twice.
	// +optional
	Versions []ClusterWorkloadResourceMappingTemplate `json:"versions,omitempty"`
}

// ClusterWorkloadResourceMappingTemplate maps one version of a resource onto the parts of a pod template.
type ClusterWorkloadResourceMappingTemplate struct {
	// version of the mapped resource, or "*" for each version that has no template of its own.
	Version string `json:"version"`
	// annotations is the Fixed JSONPath of the annotations that the pods will bear. Defaults to
	// .spec.template.metadata.annotations.
	// +optional
	Annotations string `json:"annotations,omitempty"`
	// containers finds what is like a container. Defaults to the containers and init containers of .spec.template.spec.
	// +optional
	Containers []ClusterWorkloadResourceMappingContainer `json:"containers,omitempty"`
	// volumes is the Fixed JSONPath of the list of volumes. Defaults to .spec.template.spec.volumes.
	// +optional
	Volumes string `json:"volumes,omitempty"`
}

// ClusterWorkloadResourceMappingContainer maps what a path matches onto the parts of a container.
type ClusterWorkloadResourceMappingContainer struct {
	// path is the JSONPath of the containers. It may match any number of them.
	Path string `json:"path"`
	// name is the Fixed JSONPath, within the container, of its name. Without it .spec.workload.containers of a binding
	// does not limit these containers.
	// +optional
	Name string `json:"name,omitempty"`
	// env is the Fixed JSONPath, within the container, of its list of environment variables; created where it is missing.
	// Defaults to .env.
	// +optional
	Env string `json:"env,omitempty"`
	// volumeMounts is the Fixed JSONPath, within the container, of its list of volume mounts; created where it is missing.
	// Defaults to .volumeMounts.
	// +optional
	VolumeMounts string `json:"volumeMounts,omitempty"`
}

// ClusterWorkloadResourceMapping tells how to project into a kind of workload. Its name is <plural>.<group> of that
// kind.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterWorkloadResourceMapping struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the mapping.
	Spec ClusterWorkloadResourceMappingSpec `json:"spec,omitempty"`
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
