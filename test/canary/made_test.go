package canary_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	drafts     = schema.GroupVersionResource{Group: "service.binding", Version: "v1alpha1", Resource: "servicebindings"}              //nolint:gochecknoglobals
	synthetics = schema.GroupVersionResource{Group: "service.binding", Version: "v1alpha1", Resource: "syntheticprovisionedservices"} //nolint:gochecknoglobals
	databases  = schema.GroupVersionResource{Group: "services.example.com", Version: "v1", Resource: "databases"}                     //nolint:gochecknoglobals
)

// describedText is a Database that an annotation describes, with further annotations as YAML.
func describedText(name string, more ...string) string {
	return fmt.Sprintf(`
apiVersion: services.example.com/v1
kind: Database
metadata:
  name: %s
  namespace: shop
  annotations:
    service.binding: path={.status.credentials},objectType=Secret
%s`, name, strings.Join(more, "\n"))
}

// draftText is a binding of the early draft, with further lines of its spec.
func draftText(name, service string, more ...string) string {
	return fmt.Sprintf(`
apiVersion: service.binding/v1alpha1
kind: ServiceBinding
metadata: {name: %s, namespace: shop}
spec:
  service: {%s}
  application: {%s}
%s`, name, service, deployment(name), strings.Join(more, "\n"))
}

// syntheticText is a synthetic service of the Secret db, with one entry.
func syntheticText(name, template string) string {
	return fmt.Sprintf(`
apiVersion: service.binding/v1alpha1
kind: SyntheticProvisionedService
metadata: {name: %s, namespace: shop}
spec:
  type: composite
  services: [{apiVersion: v1, kind: Secret, name: db, id: db}]
  mappings: [{name: password, value: "((db.password))"}, {name: url, value: %q}]
`, name, template)
}

// told waits until the status of an object tells a reason.
func (k *cluster) told(resource schema.GroupVersionResource, name, want string) {
	k.t.Helper()
	eventually(k.t, resource.Resource+" "+name+" is "+want, func() error {
		object, err := k.of(resource, space).Get(k.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		text, _ := json.Marshal(object.Object["status"])
		if observed != object.GetGeneration() || !bytes.Contains(text, []byte(fmt.Sprintf("%q", want))) {
			return fmt.Errorf("its status is %s", text)
		}
		return nil
	})
}

// point lets a Database point to a Secret.
func (k *cluster) point(name, secret string) {
	k.t.Helper()
	k.merge(databases, name, fmt.Sprintf(`{"status":{"credentials":%q}}`, secret), "status")
}

// compose goes through all that makes Secrets, while it succeeds.
func compose(k *cluster, v values) {
	for _, name := range []string{"described", "composed", "synthetic", "everything"} {
		k.create(deploymentText(name, v.private))
	}
	k.create(describedText("made"))
	k.point("made", "db")
	k.create(bindingText("described", database("made"), deployment("described"), variables))
	k.create(draftText("composed", database("made"), `  mappings: [{name: url, value: "x://((username)):((password))@((host))"}]`,
		`  env: [{name: URL, value: "((url))"}, {name: PLAIN, value: "((password))"}]`))
	k.create(syntheticText("mixed", "x://((db.username)):((db.password))@((db.host))"))
	k.create(bindingText("synthetic", "apiVersion: service.binding/v1alpha1, kind: SyntheticProvisionedService, name: mixed",
		deployment("synthetic"), variables))
	k.create(strings.Replace(bindingText("everything", database("made"), deployment("everything")),
		"metadata: {", "metadata: {annotations: {bowline.dev/env: all, bowline.dev/env-prefix: DB_}, ", 1))
	for _, name := range []string{"described", "synthetic", "everything"} {
		k.reason(name, "Projected")
	}
	k.told(drafts, "composed", "Projected")
	k.told(synthetics, "mixed", "SecretMade")
}

// recompose sees that what was made follows a change of the values.
func recompose(k *cluster, v values) {
	eventually(k.t, "all that was made has the new value", func() error {
		list, err := k.of(secrets, space).List(k.t.Context(), metav1.ListOptions{LabelSelector: "bowline.dev/made-for"})
		if err != nil {
			return err
		}
		if len(list.Items) != 3 {
			return fmt.Errorf("%d Secrets were made", len(list.Items))
		}
		for i := range list.Items {
			text, err := list.Items[i].MarshalJSON()
			if err != nil {
				return err
			}
			if search(text, v.second) == "" {
				return fmt.Errorf("Secret %s has not", list.Items[i].GetName())
			}
		}
		return nil
	})
}

// spoil goes through what fails while Secrets are made: nothing that is said of it holds a value.
func spoil(k *cluster, v values) {
	k.create(describedText("wrong", "    service.binding/password: path={.status.credentials},objectType=Secret,sourceKey=nothing"))
	k.point("wrong", "db")
	k.create(bindingText("wrong", database("wrong"), deployment("described")))
	k.reason("wrong", "DescriptionInvalid")
	k.create(describedText("lost"))
	k.point("lost", "nothing")
	k.create(bindingText("lost", database("lost"), deployment("described")))
	k.reason("lost", "SourceNotFound")
	k.create(describedText("forbidden"))
	k.point("forbidden", "token")
	k.create(bindingText("forbidden", database("forbidden"), deployment("described")))
	k.reason("forbidden", "SourceNotFound")

	k.create(deploymentText("unfilled", v.private))
	k.create(draftText("unfilled", secret("db"), `  mappings: [{name: url, value: "((password))((nothing))"}]`))
	k.told(drafts, "unfilled", "TemplateInvalid")
	k.create(strings.Replace(bindingText("twice", database("made"), deployment("described"), "  env: [{name: DB_HOST, key: password}]"),
		"metadata: {", "metadata: {annotations: {bowline.dev/env: all, bowline.dev/env-prefix: DB_}, ", 1))
	k.reason("twice", "OptionsInvalid")
	for name, template := range map[string]string{
		"deeper": "((db.password.more))", "filtered": `((db.data[?(@.password=="x")].y))`, "whole": "((db.data))((db.password[0]))",
	} {
		k.create(syntheticText(name, template))
		k.told(synthetics, name, "TemplateInvalid")
	}
	for _, text := range []string{
		draftText("malformed", secret("db"), `  mappings: [{name: url, value: "((password"}]`),
		syntheticText("malformed", "((db.password"),
		strings.Replace(bindingText("malformed", secret("db"), deployment("orders")), "metadata: {", "metadata: {annotations: {bowline.dev/env: x}, ", 1),
	} {
		if err := k.try(text); !apierrors.IsInvalid(err) {
			k.t.Errorf("it is answered with %v:\n%s", err, text)
		} else {
			v.sought(k.t, "what is said of what is malformed", []byte(err.Error()))
		}
	}
	v.sought(k.t, "the statuses of what fails", k.everything()[synthetics])
}

// uncompose ends all that made Secrets.
func uncompose(k *cluster) {
	k.remove("described", "synthetic", "everything", "wrong", "lost", "forbidden", "twice")
	for _, name := range []string{"composed", "unfilled"} {
		if err := k.of(drafts, space).Delete(k.t.Context(), name, metav1.DeleteOptions{}); err != nil {
			k.t.Fatal(err)
		}
	}
	for _, name := range []string{"mixed", "deeper", "filtered", "whole"} {
		if err := k.of(synthetics, space).Delete(k.t.Context(), name, metav1.DeleteOptions{}); err != nil {
			k.t.Fatal(err)
		}
	}
	eventually(k.t, "nothing is left that was made", func() error {
		list, err := k.of(secrets, space).List(k.t.Context(), metav1.ListOptions{LabelSelector: "bowline.dev/made-for"})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("Secret %s is there", list.Items[0].GetName())
		}
		return err
	})
}
