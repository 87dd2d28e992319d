package conformance

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// API is a text that an implementation may keep, with the API group that it declares.
type API string

// The texts.
const (
	// Specification is the Service Binding Specification for Kubernetes, servicebinding.io.
	Specification API = "specification"
	// EarlyDraft is its early draft, service.binding, with the extensions that make entries.
	EarlyDraft API = "draft"
)

// UnknownAPIError says that the suite knows no text of a name.
type UnknownAPIError struct {
	// Name is what was asked for.
	Name API
}

// Error lists the texts there are.
func (e *UnknownAPIError) Error() string {
	return fmt.Sprintf("the suite knows no text %q; it knows: %s, %s", string(e.Name), Specification, EarlyDraft)
}

// declared is what a text declares.
type declared struct {
	group string
	// versions of the group, the one to be tested first.
	versions []string
	// kinds that are served in a version that can be tested.
	kinds     []string
	clauses   func() []Clause
	inventory func() []Requirement
}

func (a API) declared() (declared, error) {
	switch a {
	case Specification:
		return declared{
			group: group, versions: []string{"v1", "v1beta1"}, kinds: []string{"ServiceBinding", "ClusterWorkloadResourceMapping"},
			clauses: Clauses, inventory: Inventory,
		}, nil
	case EarlyDraft:
		return declared{
			group: draftGroup, versions: []string{draftVersion}, kinds: []string{"ServiceBinding"},
			clauses: draftClauses, inventory: draftInventory,
		}, nil
	default:
		return declared{}, &UnknownAPIError{Name: a}
	}
}

// ClausesOf returns all clauses of a text, in its order.
func ClausesOf(api API) ([]Clause, error) {
	d, err := api.declared()
	if err != nil {
		return nil, err
	}
	return d.clauses(), nil
}

// InventoryOf returns every normative word of a text, in its order.
func InventoryOf(api API) ([]Requirement, error) {
	d, err := api.declared()
	if err != nil {
		return nil, err
	}
	return d.inventory(), nil
}

// servedVersion chooses the first version of the text that is served.
func (s *suite) servedVersion() (string, error) {
	for _, version := range s.api.versions {
		served, err := s.serves(version, s.api.kinds...)
		if err != nil {
			return "", err
		}
		if served {
			return version, nil
		}
	}
	return "", fmt.Errorf("%w: there is none of %s with all of %v in %v", ErrNotServed, s.api.group, s.api.kinds, s.api.versions)
}

// serves says whether kinds of the text's group are served in a version.
func (s *suite) serves(version string, wanted ...string) (bool, error) {
	resources, err := s.discovery.ServerResourcesForGroupVersion(s.api.group + "/" + version)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for the resources of %s/%s: %w", s.api.group, version, err)
	}
	var kinds []string
	for i := range resources.APIResources {
		kinds = append(kinds, resources.APIResources[i].Kind)
	}
	return !slices.ContainsFunc(wanted, func(kind string) bool { return !slices.Contains(kinds, kind) }), nil
}

// Extension is a part of a text that an implementation may leave out altogether.
type Extension string

// The extensions of the early draft that have clauses.
const (
	// Mappings are .spec.mappings of a ServiceBinding.
	Mappings Extension = "mappings"
	// EnvironmentVariables are .spec.env of a ServiceBinding.
	EnvironmentVariables Extension = "env"
	// SyntheticServices are SyntheticProvisionedServices.
	SyntheticServices Extension = "synthetic services"
	// Selectors are label selectors in the reference to an application.
	Selectors Extension = "selectors"
)

var errNoSchema = errors.New("it has no such version")

// offers says whether an implementation has an extension: whether the API server serves the kind, or the field.
func (s *suite) offers(t *T, extension Extension) (bool, error) {
	switch extension {
	case "":
		return true, nil
	case SyntheticServices:
		return s.serves(s.version, "SyntheticProvisionedService")
	case Mappings:
		return t.hasField("spec", "mappings")
	case EnvironmentVariables:
		return t.hasField("spec", "env")
	case Selectors:
		return t.hasField("spec", "application", "selector")
	default:
		return false, fmt.Errorf("the suite knows no extension %q", extension) //nolint:err113 // a slip of the suite's own
	}
}

// hasField says whether the schema of the bindings under test has a field.
func (t *T) hasField(path ...string) (bool, error) {
	name := t.bindings().GroupResource().String()
	object, err := t.Client().Resource(definitions).Get(t.ctx, name, getNow)
	var crd definition
	if err == nil {
		err = decode(object.Object, &crd)
	}
	if err != nil {
		return false, fmt.Errorf("reading the CustomResourceDefinition %s: %w", name, err)
	}
	at := slices.IndexFunc(crd.Spec.Versions, func(v definedVersion) bool { return v.Name == t.suite.version })
	if at < 0 {
		return false, fmt.Errorf("reading the schema of %s: %w", name, errNoSchema)
	}
	schema := crd.Spec.Versions[at].Schema.OpenAPIV3Schema
	for _, step := range path {
		below, ok := schema.Properties[step]
		if !ok {
			return false, nil
		}
		schema = below
	}
	return true, nil
}

// resource is one of the text's own.
func (t *T) resource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.suite.api.group, Version: t.suite.version, Resource: plural}
}

// label opts a kind in, on a ClusterRole.
func (s *suite) label() string { return s.api.group + "/controller" }
