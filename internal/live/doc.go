// Package live reads one workload of a cluster and the objects that its container names, and follows their changes.
//
// It promises to ask for what is named and nothing else: no list of Secrets, no discovery of kinds that Kubernetes itself
// has, and to say which verb on what is missing where it may not. It refuses to write, but for asking for tokens of the
// workload's service account.
package live

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// Client asks one cluster.
type Client struct {
	core      corev1client.CoreV1Interface
	objects   dynamic.Interface
	discovery *discovery.DiscoveryClient
}

// New prepares a client; nothing is asked yet. Secrets do not cross a network in the clear: the error is an *OpenWireError.
func New(config *rest.Config) (*Client, error) {
	if err := checkWire(config); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // a few requests at once, each of which a person waits for
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	return newClient(config, shared)
}

// newClient makes clients that share a connection.
func newClient(config *rest.Config, shared *http.Client) (*Client, error) {
	compact := rest.CopyConfig(config)
	compact.ContentType = "application/vnd.kubernetes.protobuf"
	core, err := corev1client.NewForConfigAndClient(compact, shared)
	if err != nil {
		return nil, fmt.Errorf("preparing a client: %w", err)
	}
	objects, err := dynamic.NewForConfigAndClient(config, shared)
	if err != nil {
		return nil, fmt.Errorf("preparing a client: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(config, shared)
	if err != nil {
		return nil, fmt.Errorf("preparing a client: %w", err)
	}
	return &Client{core: core, objects: objects, discovery: kinds}, nil
}

// PermissionError says that the cluster forbids something that is needed.
type PermissionError struct {
	// Verbs are those that are needed on the resource, the first of them being the one that was refused.
	Verbs []string
	// Resource is what they are needed on, with its subresource if it has one, such as serviceaccounts/token.
	Resource schema.GroupResource
	// Kind is what people call it.
	Kind string
	// Name of the object.
	Name string
	// Namespace of the object; empty for one of the whole cluster.
	Namespace string
}

// Error names the verb, the object and the namespace.
func (e *PermissionError) Error() string {
	where := ""
	if e.Namespace != "" {
		where = fmt.Sprintf(" in namespace %q", e.Namespace)
	}
	return fmt.Sprintf("you may not %s %s %q%s", e.Verbs[0], e.Resource, e.Name, where)
}

// Command is the kubectl command with which an administrator can make the role that is missing.
func (e *PermissionError) Command() string {
	role := "role bowline-run"
	if e.Namespace == "" {
		role = "clusterrole bowline-run"
	}
	command := fmt.Sprintf("kubectl create %s --verb=%s --resource=%s --resource-name=%s",
		role, strings.Join(e.Verbs, ","), e.resource(), e.Name)
	if e.Namespace != "" {
		command += " -n " + e.Namespace
	}
	return command
}

// resource writes the resource as kubectl takes it: resource.group/subresource.
func (e *PermissionError) resource() string {
	name, sub, found := strings.Cut(e.Resource.Resource, "/")
	if e.Resource.Group != "" {
		name += "." + e.Resource.Group
	}
	if found {
		name += "/" + sub
	}
	return name
}

// MissingError says that the cluster has no such object.
type MissingError struct {
	// Kind is what people call it.
	Kind string
	// Name of the object.
	Name string
	// Namespace of the object.
	Namespace string
}

// Error names the object.
func (e *MissingError) Error() string {
	return fmt.Sprintf("there is no %s %q in namespace %q", e.Kind, e.Name, e.Namespace)
}

// target is an object that is asked for.
type target struct {
	resource  schema.GroupResource
	kind      string
	name      string
	namespace string
}

// explain makes of the API server's answer an error that says what to do.
func (t target) explain(err error, verbs ...string) error {
	switch {
	case apierrors.IsForbidden(err):
		return &PermissionError{Verbs: verbs, Resource: t.resource, Kind: t.kind, Name: t.name, Namespace: t.namespace}
	case apierrors.IsNotFound(err):
		return &MissingError{Kind: t.kind, Name: t.name, Namespace: t.namespace}
	}
	return fmt.Errorf("reading %s %q: %w", t.kind, t.name, err)
}

// silent ends an error that came only of its context's end.
func silent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
