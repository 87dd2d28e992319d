package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/explain"
	"github.com/bowline-dev/bowline/internal/generate"
)

// What is read beside the service.
var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	versions    = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "clusterserviceversions"}
	sources     = map[string]schema.GroupVersionResource{
		string(generate.ObjectSecret):    {Version: "v1", Resource: "secrets"},
		string(generate.ObjectConfigMap): {Version: "v1", Resource: "configmaps"},
	}
)

// bindingGroups are those that have a kind ServiceBinding.
var bindingGroups = []string{"servicebinding.io", "service.binding"}

// explainer gets what there is to know of a service.
type explainer struct {
	*finder

	unread []string
}

// explain reads a service and what describes it. The error carries advice.
func (e *explainer) explain(ctx context.Context, arg string) (*explain.Report, error) {
	word, name, _ := strings.Cut(arg, "/")
	mapping, err := e.mapping(word)
	if err != nil {
		return nil, advised(err, arg)
	}
	if mapping.GroupVersionKind.Kind == "ServiceBinding" && slices.Contains(bindingGroups, mapping.GroupVersionKind.Group) {
		if mapping, name, err = e.serviceOf(ctx, mapping, name); err != nil {
			return nil, advised(err, arg)
		}
		arg = mapping.Resource.GroupResource().String() + "/" + name
	}
	service, err := e.service(ctx, mapping, name)
	if err != nil {
		return nil, advised(err, arg)
	}
	report, err := explain.Explain(*service, func(ref generate.Reference) (explain.Seen, error) { return e.look(ctx, ref) })
	if err != nil {
		return nil, advised(err, arg)
	}
	return report, nil
}

// advised turns what the API server said into what to do.
func advised(err error, arg string) error {
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return notFound(err, arg)
	case apierrors.IsForbidden(err):
		return &hinted{err: fmt.Errorf("explaining %s: %w", arg, err), hint: "get the permission that it names; explain only reads"}
	default:
		return &hinted{err: fmt.Errorf("explaining %s: %w", arg, err), hint: unreachable}
	}
}

// serviceOf follows the reference of a binding.
func (e *explainer) serviceOf(ctx context.Context, of *meta.RESTMapping, name string) (*meta.RESTMapping, string, error) {
	object, err := e.get(ctx, of, name)
	if err != nil {
		return nil, "", err
	}
	ref, _, _ := unstructured.NestedMap(object.Object, "spec", "service")
	text := func(field string) string { value, _ := ref[field].(string); return value }
	version, err := schema.ParseGroupVersion(text("apiVersion"))
	if err != nil || text("kind") == "" || text("name") == "" {
		return nil, "", errors.New("its spec.service names no service")
	}
	mapping, err := e.mapper.RESTMapping(version.WithKind(text("kind")).GroupKind(), version.Version)
	return mapping, text("name"), err
}

// service reads a service and what may describe it. Of a Secret nothing is read here.
func (e *explainer) service(ctx context.Context, mapping *meta.RESTMapping, name string) (*explain.Service, error) {
	s := &explain.Service{
		Sources:   generate.Sources{Kind: mapping.GroupVersionKind, Name: name, Definition: explain.Definition(mapping.Resource.GroupResource())},
		Namespace: e.namespace,
	}
	if mapping.Resource.GroupResource() == sources[string(generate.ObjectSecret)].GroupResource() {
		return s, nil
	}
	object, err := e.get(ctx, mapping, name)
	if err != nil {
		return nil, err
	}
	known, err := generate.Known(nil)
	if err != nil {
		return nil, wrap(err, "reading what is known of operators")
	}
	s.Object, s.Resource, s.Known = object.Object, object.GetAnnotations(), known.Describe(s.Kind, object.Object)
	if s.Definition != "" {
		if s.CRD, err = e.annotationsOf(ctx, s.Definition); err != nil {
			return nil, err
		}
		if s.Versions, err = e.versionsHere(ctx); err != nil {
			return nil, err
		}
	}
	s.Unread = e.unread
	return s, nil
}

// annotationsOf reads those of a CustomResourceDefinition; none where the kind has none.
func (e *explainer) annotationsOf(ctx context.Context, definition string) (map[string]string, error) {
	found, err := e.client.Resource(definitions).Get(ctx, definition, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return map[string]string{}, nil
	case apierrors.IsForbidden(err):
		e.unread = append(e.unread, fmt.Sprintf("CustomResourceDefinition %q", definition))
		return map[string]string{}, nil
	case err != nil:
		return nil, wrap(err, "reading the definition of the kind")
	}
	return found.GetAnnotations(), nil
}

// versionsHere reads the ClusterServiceVersions of the namespace; none where OLM is not installed.
func (e *explainer) versionsHere(ctx context.Context) ([]map[string]any, error) {
	if _, err := e.mapper.KindFor(versions); err != nil {
		return []map[string]any{}, nil //nolint:nilerr // OLM is not installed
	}
	found, err := e.client.Resource(versions).Namespace(e.namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		e.unread = append(e.unread, "the ClusterServiceVersions of the namespace")
		return []map[string]any{}, nil
	case err != nil:
		return nil, wrap(err, "reading the ClusterServiceVersions")
	}
	all := make([]map[string]any, 0, len(found.Items))
	for i := range found.Items {
		all = append(all, found.Items[i].Object)
	}
	return all, nil
}

// look tells the names of the entries of a Secret or ConfigMap.
func (e *explainer) look(ctx context.Context, ref generate.Reference) (explain.Seen, error) {
	object, err := e.client.Resource(sources[ref.Kind]).Namespace(e.namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return explain.Seen{State: explain.Absent}, nil
	case apierrors.IsForbidden(err):
		return explain.Seen{State: explain.Forbidden}, nil
	case err != nil:
		return explain.Seen{}, wrap(err, "reading "+ref.String())
	}
	seen := explain.Seen{State: explain.Found}
	seen.Type, _, _ = unstructured.NestedString(object.Object, "type")
	for _, field := range []string{"data", "binaryData"} {
		entries, _, _ := unstructured.NestedMap(object.Object, field)
		for name := range entries {
			seen.Entries = append(seen.Entries, name)
		}
	}
	slices.Sort(seen.Entries)
	return seen, nil
}
