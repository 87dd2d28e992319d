package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reference is a workload as people name it.
type Reference struct {
	// Kind is a kind, a plural or a short name, with .GROUP or .VERSION.GROUP behind it where Kubernetes itself does not
	// have the kind.
	Kind string
	// Name of the object.
	Name string
}

// ReferenceError says that a text names no workload.
type ReferenceError struct {
	// Text is what was given.
	Text string
}

// Error shows the form.
func (e *ReferenceError) Error() string {
	return fmt.Sprintf("%q is not of the form KIND/NAME", e.Text)
}

// ParseReference reads KIND/NAME. The error is a *ReferenceError.
func ParseReference(text string) (Reference, error) {
	kind, name, found := strings.Cut(text, "/")
	if !found || kind == "" || name == "" || strings.Contains(name, "/") {
		return Reference{}, &ReferenceError{Text: text}
	}
	return Reference{Kind: strings.ToLower(kind), Name: name}, nil
}

// KindError says that a kind is not known.
type KindError struct {
	// Kind is as it was given.
	Kind string
	// Group was searched for it; empty when the kind named none and Kubernetes itself has no such kind.
	Group string
}

// Error names the kind.
func (e *KindError) Error() string {
	if e.Group == "" {
		return fmt.Sprintf("kind %q is none that Kubernetes itself has", e.Kind)
	}
	return fmt.Sprintf("the cluster serves no kind %q in group %q", e.Kind, e.Group)
}

// kind is where objects of a kind are read.
type kind struct {
	schema.GroupVersionResource

	// name is that of the kind, such as Deployment.
	name string
}

// entry is one line of the table of workloads that Kubernetes itself has.
type entry struct {
	names []string
	kind  kind
}

func table() []entry {
	of := func(group, plural, kindName string, short ...string) entry {
		resource := schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
		return entry{append(short, plural, strings.ToLower(kindName)), kind{resource, kindName}}
	}
	return []entry{
		of("apps", "deployments", "Deployment", "deploy"),
		of("apps", "statefulsets", "StatefulSet", "sts"),
		of("apps", "daemonsets", "DaemonSet", "ds"),
		of("apps", "replicasets", "ReplicaSet", "rs"),
		of("batch", "jobs", "Job"),
		of("batch", "cronjobs", "CronJob", "cj"),
		of("", "pods", "Pod", "po"),
		of("", "podtemplates", "PodTemplate"),
		of("", "replicationcontrollers", "ReplicationController", "rc"),
	}
}

// known looks a kind up among those that Kubernetes itself has.
func known(name, group string, grouped bool) (kind, bool) {
	for _, e := range table() {
		if slices.Contains(e.names, name) && (!grouped || e.kind.Group == withoutVersion(group)) {
			return e.kind, true
		}
	}
	return kind{}, false
}

// withoutVersion takes v1 off v1.apps, which names the version, too.
func withoutVersion(group string) string {
	if version, rest, found := strings.Cut(group, "."); found && looksLikeVersion(version) {
		return rest
	}
	return group
}

func looksLikeVersion(text string) bool {
	return len(text) > 1 && text[0] == 'v' && text[1] >= '0' && text[1] <= '9'
}

// find says where objects of a kind are read. Only the group that the kind names is asked about it.
func (c *Client) find(ctx context.Context, text string) (kind, error) {
	name, group, grouped := strings.Cut(text, ".")
	if k, ok := known(name, group, grouped); ok {
		return k, nil
	}
	if !grouped {
		return kind{}, &KindError{Kind: name}
	}
	version := ""
	if rest := withoutVersion(group); rest != group {
		version, group = strings.TrimSuffix(strings.TrimSuffix(group, rest), "."), rest
	}
	if version == "" {
		var err error
		if version, err = c.preferred(ctx, name, group); err != nil {
			return kind{}, err
		}
	}
	return c.search(ctx, name, schema.GroupVersion{Group: group, Version: version})
}

// preferred returns the version that the cluster prefers of a group.
func (c *Client) preferred(ctx context.Context, name, group string) (string, error) {
	found := &metav1.APIGroup{}
	err := c.discovery.RESTClient().Get().AbsPath("/apis/" + group).Do(ctx).Into(found)
	if apierrors.IsNotFound(err) {
		return "", &KindError{Kind: name, Group: group}
	}
	if err != nil {
		return "", fmt.Errorf("asking for the versions of group %q: %w", group, silent(ctx, err))
	}
	return found.PreferredVersion.Version, nil
}

// search looks for a kind in one version of a group.
func (c *Client) search(ctx context.Context, name string, gv schema.GroupVersion) (kind, error) {
	list, err := c.discovery.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if apierrors.IsNotFound(err) {
		return kind{}, &KindError{Kind: name, Group: gv.String()}
	}
	if err != nil {
		return kind{}, fmt.Errorf("asking for the kinds of %s: %w", gv, silent(ctx, err))
	}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		names := append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...)
		if slices.Contains(names, name) && !strings.Contains(r.Name, "/") {
			return kind{gv.WithResource(r.Name), r.Kind}, nil
		}
	}
	return kind{}, &KindError{Kind: name, Group: gv.Group}
}
