package offline

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/projection"
)

// defaultNamespace is where objects are that name no namespace, where nothing else says so.
const defaultNamespace = "default"

// Choice says which workload is meant.
type Choice struct {
	// Workload is its NAME or KIND/NAME. It may be empty where there is one only.
	Workload string
	// Namespace is where objects are that name none. It may be empty: they are then where the workload is.
	Namespace string
	// Mappings are those that every cluster with Bowline has. One of the same name in the manifests wins.
	Mappings []*bindingv1.ClusterWorkloadResourceMapping
}

// Scene is a workload with all that it may need.
type Scene struct {
	// Workload is the workload with its bindings projected into it.
	Workload projection.Workload
	// Kind is what it is.
	Kind schema.GroupVersionKind
	// Namespace and Name are the workload's.
	Namespace, Name string
	// Template is the mapping of its kind.
	Template bindingv1.ClusterWorkloadResourceMappingTemplate
	// Objects are the Secrets and ConfigMaps of its namespace.
	Objects node.Objects
	// Bindings are the names of the bindings that were projected, sorted.
	Bindings []string

	source document
}

// Fault says where in the manifests the workload is, or that field of it which an error is about.
func (s *Scene) Fault(err error) error {
	var path []string
	if wrong, ok := errors.AsType[*node.TypeError](err); ok {
		path = wrong.Path
	}
	return s.source.fault(fmt.Errorf("%s %q: %w", s.Kind.Kind, s.Name, err), path...)
}

// Project returns the workload that is meant, with its bindings projected. The error is a *NoWorkloadError, a
// *SeveralWorkloadsError or a *Fault: a binding that the controller would report in its status, too.
func (w *World) Project(c Choice) (*Scene, error) {
	chosen, err := w.choose(c)
	if err != nil {
		return nil, err
	}
	space := spaceOf(chosen, c.Namespace)
	mapping, err := w.mapping(chosen.kind, c.Mappings)
	if err != nil {
		return nil, chosen.source.fault(err)
	}
	s := &Scene{
		Workload: runtime.DeepCopyJSON(chosen.source.object), Kind: chosen.kind, Namespace: space.name, Name: chosen.name,
		Template: mapping.Template(), Objects: w.objects(space), source: chosen.source,
	}
	metadata, _ := s.Workload["metadata"].(map[string]any)
	metadata["namespace"] = space.name // as the API server fills it in
	matched := w.matching(chosen, space)
	if s.Workload, err = fresh(s.Workload, matched); err != nil {
		return nil, chosen.source.fault(err)
	}
	for _, b := range matched {
		if s.Workload, err = w.project(s, mapping, b); err != nil {
			return nil, err
		}
		s.Bindings = append(s.Bindings, b.model.Key.Name)
	}
	slices.Sort(s.Bindings)
	return s, nil
}

// fresh takes the projections of unknown bindings off a workload that was read from a cluster, where a binding is projected
// that has no UID of that cluster: they may be that binding's own, and would be in its way.
func fresh(workload projection.Workload, matched []match) (projection.Workload, error) {
	var known []string
	strangers := false
	for _, m := range matched {
		known = append(known, m.model.Projection.UID)
		strangers = strangers || m.made
	}
	unknown := slices.DeleteFunc(projection.Projected(workload), func(uid string) bool { return slices.Contains(known, uid) })
	if !strangers || len(unknown) == 0 {
		return workload, nil
	}
	after, err := projection.Unproject(workload, unknown...)
	if err != nil {
		return nil, fmt.Errorf("removing projections of other bindings: %w", err)
	}
	return after, nil
}

// space is a namespace; objects that name none are in it.
type space struct{ name string }

func spaceOf(o object, wanted string) space {
	for _, name := range []string{o.namespace, wanted} {
		if name != "" {
			return space{name}
		}
	}
	return space{defaultNamespace}
}

func (s space) holds(id identity) bool { return id.namespace == "" || id.namespace == s.name }

// match is a binding of a workload.
type match struct {
	model  *binding.Binding
	source document
	// made says that its UID was made here.
	made bool
}

// matching returns the bindings that name or select a workload, in the order in which they win collisions.
func (w *World) matching(o object, s space) []match {
	metadata := unstructured.Unstructured{Object: o.source.object}
	var found []match
	for id, b := range w.bindings {
		if !s.holds(id.identity) {
			continue
		}
		model, made := b.in(s.name)
		if model.Workload.Matches(o.kind.GroupKind(), o.name, labels.Set(metadata.GetLabels())) {
			found = append(found, match{model: model, source: b.source, made: made})
		}
	}
	slices.SortFunc(found, func(a, b match) int { return a.model.Before(b.model) })
	return found
}

// uidOf makes the UID of a binding that no API server has given one: the same for the same key.
func uidOf(key binding.Key) types.UID {
	const length = 16
	sum := sha256.Sum256([]byte("ServiceBinding " + key.String()))
	id := sum[:length]
	id[6] = id[6]&0x0f | 0x80 // version 8: made by a rule of our own
	id[8] = id[8]&0x3f | 0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]))
}

// project projects one more binding into the workload of a scene.
func (w *World) project(s *Scene, mapping *projection.Mapping, m match) (projection.Workload, error) {
	secret, err := w.secretOf(s, m.model.Service)
	if err != nil {
		return nil, m.source.fault(fmt.Errorf("ServiceBinding %q: %w", m.model.Key.Name, err), "spec", "service")
	}
	p, err := s.compose(m.model, secret)
	if err != nil {
		return nil, m.source.fault(fmt.Errorf("ServiceBinding %q: %w", m.model.Key.Name, err))
	}
	after, err := projection.Project(s.Workload, mapping, []projection.Binding{p})
	if err != nil {
		if refusal, ok := errors.AsType[*projection.Refusal](err); ok {
			err = errors.New(refusal.Message)
		}
		return nil, m.source.fault(fmt.Errorf("ServiceBinding %q: %w", m.model.Key.Name, err))
	}
	return after, nil
}

// resolve returns the name of the Secret of a service.
func (w *World) resolve(ref binding.Reference, s space) (string, error) {
	var found map[string]any
	for _, o := range w.others {
		if s.holds(o.identity) && o.kind.GroupKind() == ref.GroupKind() && o.name == ref.Name {
			found = o.source.object
		}
	}
	return service.Resolve(ref, found, func(name string) service.Presence {
		for id, secret := range w.secrets {
			if id.name == name && s.holds(id) && !slices.Contains(service.PlatformSecretTypes(), secret.kind) {
				return service.Present
			}
		}
		return service.Missing
	})
}

// objects returns the Secrets and ConfigMaps of a namespace. One that names the namespace wins over one that names none.
func (w *World) objects(s space) node.Objects {
	objects := node.Objects{
		Secrets: map[string]node.Entries{}, ConfigMaps: map[string]node.Entries{}, BinaryData: map[string]node.Entries{},
	}
	for _, namespace := range []string{"", s.name} {
		for id, secret := range w.secrets {
			if id.namespace == namespace {
				objects.Secrets[id.name] = secret.entries
			}
		}
		for id, c := range w.configMaps {
			if id.namespace == namespace {
				objects.ConfigMaps[id.name], objects.BinaryData[id.name] = c.data, c.binary
			}
		}
	}
	return objects
}

// mapping returns how to project into a kind: that of the manifests, else the shipped one, else the default.
func (w *World) mapping(kind schema.GroupVersionKind, shipped []*bindingv1.ClusterWorkloadResourceMapping) (*projection.Mapping, error) {
	name := w.plural(kind).String()
	found := w.mappings[name]
	for _, m := range shipped {
		if found == nil && m.Name == name {
			found = m
		}
	}
	if found == nil {
		return projection.Default(), nil
	}
	mapping, err := projection.ForVersion(found.Spec.Versions, kind.Version)
	if err != nil {
		return nil, fmt.Errorf("compiling ClusterWorkloadResourceMapping %q: %w", name, err)
	}
	return mapping, nil
}
