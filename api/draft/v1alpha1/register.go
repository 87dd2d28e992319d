package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is service.binding/v1alpha1.
var GroupVersion = schema.GroupVersion{Group: "service.binding", Version: "v1alpha1"}

// AddToScheme registers the kinds of this version with a scheme.
var AddToScheme = (&schemeBuilder).AddToScheme

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ServiceBinding{}, &ServiceBindingList{},
		&SyntheticProvisionedService{}, &SyntheticProvisionedServiceList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
