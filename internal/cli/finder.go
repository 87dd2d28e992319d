package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// unreachable is the advice where the cluster does not answer as it should.
const unreachable = "see whether the cluster of the kubeconfig is reachable"

// finder gets objects from a cluster, by what people call them.
type finder struct {
	client    dynamic.Interface
	mapper    meta.RESTMapper
	namespace string
}

// finder asks the cluster for its kinds. The errors carry advice.
func (c *cluster) finder(namespace string) (*finder, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		if namespace, err = c.namespace(); err != nil {
			return nil, err
		}
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, &hinted{err: fmt.Errorf("making a client: %w", err), hint: "correct the kubeconfig"}
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, &hinted{err: fmt.Errorf("making a client: %w", err), hint: "correct the kubeconfig"}
	}
	groups, err := restmapper.GetAPIGroupResources(served) // the deferred one writes to standard error by itself
	if err != nil {
		return nil, &hinted{err: fmt.Errorf("asking the cluster for its kinds: %w", err), hint: unreachable}
	}
	return &finder{client: client, mapper: restmapper.NewDiscoveryRESTMapper(groups), namespace: namespace}, nil
}

// notFound is the error for an object that the cluster does not have, with advice.
func notFound(err error, arg string) error {
	if apierrors.IsNotFound(err) {
		return &hinted{err: fmt.Errorf("there is no %s in this namespace", arg), hint: "correct the name, or choose another with --namespace"}
	}
	return &hinted{err: fmt.Errorf("the cluster serves no kind as in %s", arg), hint: "try KIND.GROUP/NAME, as in databases.example.com/orders"}
}

// mapping finds the kind for a word as in kubectl: a plural or a singular, with or without version and group.
func (f *finder) mapping(word string) (*meta.RESTMapping, error) {
	versioned, group := schema.ParseResourceArg(strings.ToLower(word))
	if versioned != nil {
		if kind, err := f.mapper.KindFor(*versioned); err == nil {
			return f.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		}
	}
	kind, err := f.mapper.KindFor(group.WithVersion(""))
	if err != nil {
		return nil, err
	}
	return f.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

func (f *finder) get(ctx context.Context, mapping *meta.RESTMapping, name string) (*unstructured.Unstructured, error) {
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return nil, errors.New("the kind has no namespace, so nothing of it can be bound")
	}
	return f.client.Resource(mapping.Resource).Namespace(f.namespace).Get(ctx, name, metav1.GetOptions{})
}
