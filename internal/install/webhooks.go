package install

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Webhooks returns the two webhook configurations as they are written in package config, also where the options leave
// their contents out: a controller outside the cluster takes them from here, puts its own URL in place of each Service,
// and adds what is only known while it runs.
func Webhooks(opts Options) (*admissionregistrationv1.MutatingWebhookConfiguration,
	*admissionregistrationv1.ValidatingWebhookConfiguration, error,
) {
	opts, err := opts.complete()
	if err != nil {
		return nil, nil, err
	}
	opts.External = false
	objects, err := objectsOf(partWebhook, opts)
	if err != nil {
		return nil, nil, err
	}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	for _, object := range objects {
		var into any = mutating
		if object.GetKind() == "ValidatingWebhookConfiguration" {
			into = validating
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
			return nil, nil, fmt.Errorf("decoding %s: %w", describe(object), err)
		}
	}
	return mutating, validating, nil
}

// reachedBy tells how the API server reaches the webhooks of a configuration: "service", "url", or "" where it holds none.
func reachedBy(configuration *unstructured.Unstructured) string {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil || len(webhooks) == 0 {
		return ""
	}
	webhook, _ := webhooks[0].(map[string]any)
	if _, found, _ := unstructured.NestedString(webhook, "clientConfig", "url"); found {
		return "url"
	}
	return "service"
}
