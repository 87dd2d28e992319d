package extensions_test

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// leastTelling is how long a value must be to be looked for: shorter ones stand anywhere by chance.
const leastTelling = 6

// speaking are the kinds in which Bowline says something.
var speaking = []schema.GroupVersionKind{
	eventKind,
	{Group: "service.binding", Version: "v1alpha1", Kind: "ServiceBinding"},
	{Group: "service.binding", Version: "v1alpha1", Kind: "SyntheticProvisionedService"},
	{Group: "servicebinding.io", Version: "v1", Kind: "ServiceBinding"},
}

// quiet sees that no value of a Secret stands where it must not.
func (p *player) quiet() error {
	secrets, err := p.secrets()
	if err != nil {
		return err
	}
	places, err := p.places()
	if err != nil {
		return err
	}
	for secret, entries := range secrets {
		for key, value := range entries {
			if place := betrayed(places, key, value); place != "" {
				return fmt.Errorf("the value of the entry %q of Secret %q stands in %s", key, secret, place)
			}
		}
	}
	return nil
}

// betrayed finds the place where a value of a Secret stands; empty where it stands nowhere. What an entry called type or
// provider says is no secret: a binding may have it in its spec.
func betrayed(places map[string]string, key, value string) string {
	if len(value) < leastTelling || key == "type" || key == "provider" {
		return ""
	}
	for place, text := range places {
		if strings.Contains(text, value) {
			return place
		}
	}
	if strings.Contains(key, "password") && len(logged.lines(value)) > 0 {
		return "the log"
	}
	return ""
}

// places gives the texts in which no value may stand: workloads, statuses and events.
func (p *player) places() (map[string]string, error) {
	places := map[string]string{}
	add := func(object *unstructured.Unstructured, part any) error {
		text, err := (&unstructured.Unstructured{Object: map[string]any{"kind": "Place", "part": part}}).MarshalJSON()
		places[object.GetKind()+" "+object.GetName()] = string(text)
		return err
	}
	for _, before := range p.workloads {
		resource, err := p.of(p.admin, before)
		if err != nil {
			return nil, err
		}
		object, err := resource.Get(p.t.Context(), before.GetName(), metav1.GetOptions{})
		if err == nil {
			err = add(object, templateOf(object))
		}
		if err != nil {
			return nil, err
		}
	}
	for _, kind := range speaking {
		list, err := p.list(kind)
		if err != nil {
			return nil, err
		}
		for _, object := range list {
			part := object.Object["status"]
			if kind == eventKind {
				part = object.Object
			}
			if err := add(&object, part); err != nil {
				return nil, err
			}
		}
	}
	return places, nil
}
