package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/check"
)

// objectName is how an object is named.
var objectName = regexp.MustCompile(`^[^/]+/[^/]+$`)

// fromCluster gets the objects that are named, and those that they refer to.
func (f *checkFlags) fromCluster(ctx context.Context, args []string) ([]check.Subject, error) {
	for _, arg := range args {
		if !objectName.MatchString(arg) {
			return nil, f.refuse(fmt.Errorf("%q is not of the form KIND/NAME", arg), "for files: bowline check -f FILE; for a directory: --dir")
		}
	}
	from, err := f.finder()
	if err != nil {
		return nil, err
	}
	g := gatherer{finder: from, have: map[string]bool{}}
	for _, arg := range args {
		kind, name, _ := strings.Cut(arg, "/")
		if err := g.named(ctx, kind, name); err != nil {
			return nil, f.explain(err, arg)
		}
	}
	subjects, err := check.Subjects(g.objects, check.Cluster)
	if err == nil && len(subjects) == 0 {
		err = fmt.Errorf("there is nothing to check in %s", strings.Join(args, ", "))
	}
	if err != nil {
		return nil, f.refuse(err, "")
	}
	return subjects, nil
}

func (f *checkFlags) finder() (*finder, error) {
	found, err := f.cluster.finder(f.namespace)
	if err != nil {
		return nil, f.refuse(err, "")
	}
	return found, nil
}

// explain turns what the API server said into what to do.
func (f *checkFlags) explain(err error, arg string) error {
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return f.refuse(notFound(err, arg), "")
	case apierrors.IsForbidden(err):
		return f.refuse(fmt.Errorf("checking %s: %w", arg, err), "get the permission that it names; check only reads")
	default:
		return f.refuse(fmt.Errorf("checking %s: %w", arg, err), unreachable)
	}
}

// gatherer collects objects, each once.
type gatherer struct {
	*finder

	objects []check.Object
	have    map[string]bool
}

func (g *gatherer) add(object *unstructured.Unstructured, asked bool) {
	key := object.GroupVersionKind().GroupKind().String() + "/" + object.GetName()
	if !g.have[key] {
		g.have[key] = true
		g.objects = append(g.objects, check.Object{Unstructured: *object, Asked: asked})
	}
}

// named gets an object and what it refers to.
func (g *gatherer) named(ctx context.Context, kind, name string) error {
	mapping, err := g.mapping(kind)
	if err != nil {
		return err
	}
	object, err := g.get(ctx, mapping, name)
	if err != nil {
		return err
	}
	g.add(object, true)
	if !check.IsBinding(object.GroupVersionKind().GroupKind()) {
		return g.secretOf(ctx, object)
	}
	service, _, _ := unstructured.NestedStringMap(object.Object, "spec", "service")
	return g.service(ctx, service)
}

// service gets what a ServiceBinding refers to. What is not there is left for the check to say.
func (g *gatherer) service(ctx context.Context, ref map[string]string) error {
	version, err := schema.ParseGroupVersion(ref["apiVersion"])
	if err != nil {
		return nil //nolint:nilerr // the check says what is wrong with the reference
	}
	mapping, err := g.mapper.RESTMapping(version.WithKind(ref["kind"]).GroupKind(), version.Version)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	object, err := g.get(ctx, mapping, ref["name"])
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	g.add(object, false)
	return g.secretOf(ctx, object)
}

// secretOf gets the Secret that a service names.
func (g *gatherer) secretOf(ctx context.Context, service *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(service.Object, "status", "binding", "name")
	if name == "" {
		return nil
	}
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	object, err := g.client.Resource(secrets).Namespace(g.namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	g.add(object, false)
	return nil
}
