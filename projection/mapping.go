package projection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/jsonpath"
)

const (
	anyVersion          = "*"
	defaultAnnotations  = ".spec.template.metadata.annotations"
	defaultVolumes      = ".spec.template.spec.volumes"
	defaultEnv          = ".env"
	defaultVolumeMounts = ".volumeMounts"
)

// Mapping is a compiled mapping template: where in a kind of workload the parts of a pod template are. It is immutable
// and safe for concurrent use.
type Mapping struct {
	encoded string
	// fingerprint is the same for two mappings that lead to the same places.
	fingerprint string
	annotations *jsonpath.Fixed
	volumes     *jsonpath.Fixed
	containers  []containerMapping
}

type containerMapping struct {
	path              *jsonpath.Path
	name, env, mounts *jsonpath.Fixed // name may be nil
	// list is the place of the list of containers, if the path is of that simple kind.
	list   []string
	simple bool
}

// String is the compact JSON of the template with its defaults filled in.
func (m *Mapping) String() string {
	return m.encoded
}

// Template is the mapping as a template, with its defaults filled in.
func (m *Mapping) Template() bindingv1.ClusterWorkloadResourceMappingTemplate {
	var template bindingv1.ClusterWorkloadResourceMappingTemplate
	if err := json.Unmarshal([]byte(m.encoded), &template); err != nil {
		panic("projection: a compiled mapping does not decode: " + err.Error())
	}
	return template
}

// simple says whether every path of containers is a fixed path to a list and nothing more.
func (m *Mapping) simple() bool {
	return !slices.ContainsFunc(m.containers, func(c containerMapping) bool { return !c.simple })
}

// Compile reads the paths of a mapping template and fills in the defaults of the specification. The error names the
// field and the position within it.
func Compile(t bindingv1.ClusterWorkloadResourceMappingTemplate) (*Mapping, error) {
	t = withDefaults(t)
	m := &Mapping{}
	var err error
	if m.annotations, err = jsonpath.ParseFixed(t.Annotations); err != nil {
		return nil, fmt.Errorf("reading field annotations: %w", err)
	}
	if m.volumes, err = jsonpath.ParseFixed(t.Volumes); err != nil {
		return nil, fmt.Errorf("reading field volumes: %w", err)
	}
	for i, c := range t.Containers {
		compiled, err := compileContainer(c)
		if err != nil {
			return nil, fmt.Errorf("reading field containers[%d].%w", i, err)
		}
		m.containers = append(m.containers, compiled)
	}
	encoded, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encoding mapping template: %w", err)
	}
	m.encoded = string(encoded)
	m.fingerprint = m.print()
	return m, nil
}

func compileContainer(c bindingv1.ClusterWorkloadResourceMappingContainer) (containerMapping, error) {
	var compiled containerMapping
	var err error
	if compiled.path, err = jsonpath.Parse(c.Path); err != nil {
		return compiled, fmt.Errorf("path: %w", err)
	}
	compiled.list, compiled.simple = compiled.path.FixedList()
	if c.Name != "" {
		if compiled.name, err = jsonpath.ParseFixed(c.Name); err != nil {
			return compiled, fmt.Errorf("name: %w", err)
		}
	}
	if compiled.env, err = jsonpath.ParseFixed(c.Env); err != nil {
		return compiled, fmt.Errorf("env: %w", err)
	}
	if compiled.mounts, err = jsonpath.ParseFixed(c.VolumeMounts); err != nil {
		return compiled, fmt.Errorf("volumeMounts: %w", err)
	}
	return compiled, nil
}

func (m *Mapping) print() string {
	prints := make([]string, 0, len(m.containers))
	for _, c := range m.containers {
		name := ""
		if c.name != nil {
			name = c.name.String()
		}
		prints = append(prints, strings.Join([]string{c.path.String(), name, c.env.String(), c.mounts.String()}, "\x00"))
	}
	slices.Sort(prints)
	return strings.Join(append(prints, m.annotations.String(), m.volumes.String()), "\x01")
}

func withDefaults(t bindingv1.ClusterWorkloadResourceMappingTemplate) bindingv1.ClusterWorkloadResourceMappingTemplate {
	t.Annotations = either(t.Annotations, defaultAnnotations)
	t.Volumes = either(t.Volumes, defaultVolumes)
	t.Containers = slices.Clone(t.Containers)
	if len(t.Containers) == 0 {
		t.Containers = []bindingv1.ClusterWorkloadResourceMappingContainer{
			{Path: ".spec.template.spec.initContainers[*]", Name: ".name"},
			{Path: ".spec.template.spec.containers[*]", Name: ".name"},
		}
	}
	for i := range t.Containers {
		c := &t.Containers[i]
		c.Env = either(c.Env, defaultEnv)
		c.VolumeMounts = either(c.VolumeMounts, defaultVolumeMounts)
	}
	return t
}

func either(given, otherwise string) string {
	if given != "" {
		return given
	}
	return otherwise
}

// Default is the mapping of whatever embeds a pod template as a Deployment does.
func Default() *Mapping {
	m, err := Compile(bindingv1.ClusterWorkloadResourceMappingTemplate{Version: anyVersion})
	if err != nil {
		panic("projection: the default mapping does not compile: " + err.Error())
	}
	return m
}

// ForVersion compiles the template for one version of a resource: the one of exactly that version, else the one of
// "*", else the default.
func ForVersion(versions []bindingv1.ClusterWorkloadResourceMappingTemplate, version string) (*Mapping, error) {
	for _, wanted := range []string{version, anyVersion} {
		for _, template := range versions {
			if template.Version != wanted {
				continue
			}
			m, err := Compile(template)
			if err != nil {
				return nil, fmt.Errorf("compiling mapping of version %q: %w", wanted, err)
			}
			return m, nil
		}
	}
	return Default(), nil
}

// decodeMapping reads the annotation that tells which mapping a projection was made with.
func decodeMapping(text string) (*Mapping, error) {
	var template bindingv1.ClusterWorkloadResourceMappingTemplate
	if err := json.Unmarshal([]byte(text), &template); err != nil {
		return nil, fmt.Errorf("decoding mapping annotation: %w", err)
	}
	return Compile(template)
}
