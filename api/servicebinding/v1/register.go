package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is servicebinding.io/v1.
var GroupVersion = schema.GroupVersion{Group: "servicebinding.io", Version: "v1"}

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
