package watch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/projection"
)

// mappings holds the ClusterWorkloadResourceMappings and what has been compiled of them.
type mappings struct {
	byName   map[string]*bindingv1.ClusterWorkloadResourceMapping
	compiled map[versionedName]compiled
}

type versionedName struct{ name, version string }

type compiled struct {
	mapping *projection.Mapping
	err     error
}

func newMappings() *mappings {
	return &mappings{byName: map[string]*bindingv1.ClusterWorkloadResourceMapping{}, compiled: map[versionedName]compiled{}}
}

// compile returns the mapping of a resource in one version: that of the ClusterWorkloadResourceMapping named
// <plural>.<group>, or the default for anything with a pod template (specification, section Runtime Behavior).
func (m *mappings) compile(resource schema.GroupVersionResource, version string) (*projection.Mapping, error) {
	key := versionedName{resource.GroupResource().String(), version}
	if found, ok := m.compiled[key]; ok {
		return found.mapping, found.err
	}
	object := m.byName[key.name]
	if object == nil {
		return projection.Default(), nil
	}
	mapping, err := projection.ForVersion(object.Spec.Versions, version)
	if err != nil {
		return nil, fmt.Errorf("compiling ClusterWorkloadResourceMapping %q: %w", key.name, err)
	}
	return mapping, nil
}

// put takes in a mapping, nil for one that is gone, compiled for each version that it lists and for each that was asked
// for.
func (m *mappings) put(name string, object *bindingv1.ClusterWorkloadResourceMapping) {
	delete(m.byName, name)
	for key := range m.compiled {
		if key.name == name {
			delete(m.compiled, key)
		}
	}
	if object != nil {
		m.byName[name] = object
	}
}

// remember compiles the mapping of a resource once for all further questions.
func (m *mappings) remember(resource schema.GroupVersionResource, version string) {
	mapping, err := m.compile(resource, version)
	m.compiled[versionedName{resource.GroupResource().String(), version}] = compiled{mapping, err}
}

// mappingChanged takes in a mapping and has the kind it maps read anew, since another mapping may need more of each
// object.
func (h *Hub) mappingChanged(name string, object *bindingv1.ClusterWorkloadResourceMapping) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old := h.mappings.byName[name]; old != nil && object != nil && old.Generation == object.Generation && old.UID == object.UID {
		return
	}
	h.mappings.put(name, object)
	for _, f := range h.feeds {
		resource, ok := f.located()
		if !ok {
			continue
		}
		h.mappings.remember(resource, f.kind.Version)
		if resource.GroupResource().String() == name {
			f.again()
		}
	}
}
