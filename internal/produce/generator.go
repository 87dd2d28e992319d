package produce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/generate"
	"github.com/bowline-dev/bowline/internal/watch"
)

// versionKind is the kind of the descriptions that operators installed by OLM bring.
var versionKind = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion"}

// Definitions tells of the definitions of custom resources.
type Definitions interface {
	// Annotations returns those of the definition of a name; none where there is no such definition.
	Annotations(ctx context.Context, name string) (map[string]string, error)
}

// Generator makes a Secret for each service that is bound, names none itself, and is described by annotations or
// descriptors.
type Generator struct {
	hub         *watch.Hub
	objects     *watch.Objects[watch.ServiceKey]
	keeper      *Keeper
	definitions Definitions
	known       *generate.Operators
	permits     *permits
	platform    platform
}

// GeneratorConfig is what a generator works with.
type GeneratorConfig struct {
	Options

	// Hub knows what is bound.
	Hub *watch.Hub
	// Objects MUST tell the generator of changes, by the service's key.
	Objects *watch.Objects[watch.ServiceKey]
	// Keeper writes the Secrets.
	Keeper *Keeper
	// Definitions tells of the definitions of the services' kinds.
	Definitions Definitions
	// Known describes services whose operators do not.
	Known *generate.Operators
	// Authority says who may read what.
	Authority Authority
	// Clock tells the time.
	Clock Clock
}

// NewGenerator returns a generator.
func NewGenerator(c GeneratorConfig) *Generator {
	return &Generator{
		hub: c.Hub, objects: c.Objects, keeper: c.Keeper, definitions: c.Definitions, known: c.Known,
		permits: newPermits(c.Authority, c.Clock), platform: platform{c.AllowedSecretTypes},
	}
}

// KeepVersion takes out of a ClusterServiceVersion all but its descriptors and what it replaces.
func KeepVersion(ref watch.ObjectRef, object *unstructured.Unstructured) {
	if ref.GroupVersionKind != versionKind {
		return
	}
	owned, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "customresourcedefinitions", "owned")
	replaces, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "replaces")
	object.Object["spec"] = map[string]any{"customresourcedefinitions": map[string]any{"owned": owned}, "replaces": replaces}
	delete(object.Object, "status")
	object.SetAnnotations(nil)
}

// Reconcile looks at one service.
func (g *Generator) Reconcile(ctx context.Context, key watch.ServiceKey) (ctrl.Result, error) {
	if begun, t := g.keeper.begun(); !begun {
		if t != nil {
			g.hub.SetMade(key, &watch.Made{Problem: t.unavailable()})
		}
		return ctrl.Result{RequeueAfter: soonOr(t)}, nil
	}
	bound := g.hub.BoundTo(key)
	if len(bound) == 0 {
		g.objects.Need(key)
		g.hub.SetMade(key, nil)
		return settled(g.keeper.Remove(ctx, generatedName(key), ForService))
	}
	if key.Kind == binding.SecretKind.GroupKind() {
		return ctrl.Result{}, nil
	}
	s := &subject{key: key, kind: g.version(bound), bound: bound}
	made, err := g.generate(ctx, s)
	if waiting(err) {
		return ctrl.Result{}, nil
	}
	if errors.Is(err, errSettling) {
		return ctrl.Result{RequeueAfter: settling}, nil
	}
	if err != nil {
		return again(err)
	}
	g.hub.SetMade(key, &made)
	if s.troubled {
		return ctrl.Result{RequeueAfter: lookAgain}, nil // a permission may be granted, or a Secret that is not ours go
	}
	return ctrl.Result{}, nil
}

// version is the version in which a service is read: the most stable of those that bindings name and the API server serves.
// That one binding names a version that is not served is no matter to the others.
func (g *Generator) version(bound []*binding.Binding) schema.GroupVersionKind {
	best := bound[0].Service.GroupVersionKind
	served := false
	for _, b := range bound {
		kind := b.Service.GroupVersionKind
		if _, unavailable := errors.AsType[*watch.KindError](g.hub.ServiceKind(b)); unavailable {
			continue
		}
		if !served || version.CompareKubeAwareVersionStrings(kind.Version, best.Version) > 0 {
			best, served = kind, true
		}
	}
	return best
}

// subject is a service that is looked at.
type subject struct {
	key    watch.ServiceKey
	kind   schema.GroupVersionKind
	bound  []*binding.Binding
	object *unstructured.Unstructured
	recipe *generate.Recipe
	needs  []generate.Need
	refs   []watch.ObjectRef // what is needed in memory
	// troubled says that something is wrong of whose end nobody may tell.
	troubled bool
}

// need has an object kept in memory for a service.
func (g *Generator) need(s *subject, ref watch.ObjectRef) {
	s.refs = append(s.refs, ref)
	g.objects.Also(s.key, ref)
}

// generate makes the Secret of a service and lets go of what it needs no more. The error is watch.ErrStarting, ErrNotLeading
// or passing.
func (g *Generator) generate(ctx context.Context, s *subject) (watch.Made, error) {
	made, err := g.attempt(ctx, s)
	if err == nil {
		g.objects.Need(s.key, s.refs...)
	}
	return made, err
}

func (g *Generator) attempt(ctx context.Context, s *subject) (watch.Made, error) {
	if err := g.load(s); err != nil || s.object == nil {
		return watch.Made{}, err // the hub says what stands in the way of the service itself
	}
	if name, _, _ := unstructured.NestedString(s.object.Object, "status", "binding", "name"); name != "" {
		return watch.Made{}, nil
	}
	err := g.describe(ctx, s)
	if description, is := errors.AsType[generate.Faults](err); is {
		return g.failed(s, ReasonDescription, description.Error()), nil
	}
	if err != nil || s.recipe == nil {
		return watch.Made{}, err
	}
	return g.serve(ctx, s)
}

// serve makes the Secret for those who may have it.
func (g *Generator) serve(ctx context.Context, s *subject) (watch.Made, error) {
	v, err := g.authorize(ctx, s)
	if err != nil {
		return watch.Made{}, err
	}
	s.troubled = s.troubled || len(v.refused) > 0
	if v.allowed == 0 {
		return v.with(watch.Made{Secret: g.before(s)}), nil
	}
	t, err := g.guard(s, v)
	if err != nil {
		return watch.Made{}, err
	}
	if t != nil {
		return v.with(g.failed(s, t.reason, t.message)), nil
	}
	made, err := g.write(ctx, s)
	return v.with(made), err
}

// load gets the service. It is nil where there is none, or where the hub says what stands in the way.
func (g *Generator) load(s *subject) error {
	ref := objectRef(s.kind, s.key.Namespace, s.key.Name)
	g.need(s, ref)
	object, err := g.objects.Get(ref)
	s.object = object
	if errors.Is(err, watch.ErrStarting) {
		return watch.ErrStarting
	}
	return nil
}

// describe finds the recipe of a service; nil where nothing describes it.
func (g *Generator) describe(ctx context.Context, s *subject) error {
	sources := generate.Sources{
		Kind: s.kind, Name: s.key.Name, Resource: s.object.GetAnnotations(), Known: g.known.Describe(s.kind, s.object.Object),
	}
	resource, ok := g.hub.Resource(s.kind)
	if !ok {
		return watch.ErrStarting
	}
	sources.Definition = resource.GroupResource().String()
	var err error
	if sources.CRD, err = g.definitions.Annotations(ctx, sources.Definition); err != nil {
		return fmt.Errorf("reading the definition of %s: %w", s.kind.Kind, err)
	}
	if sources.Versions, err = g.versions(s); err != nil {
		return err
	}
	s.recipe, err = generate.Describe(sources)
	return err //nolint:wrapcheck // its faults say all
}

// versions returns the ClusterServiceVersions of the service's own namespace: those of another one are not heard, since
// whoever may write there would decide what is made here.
func (g *Generator) versions(s *subject) ([]map[string]any, error) {
	ref := objectRef(versionKind, s.key.Namespace, "")
	g.need(s, ref)
	found, err := g.objects.List(ref)
	if errors.Is(err, watch.ErrStarting) {
		return nil, watch.ErrStarting
	}
	versions := make([]map[string]any, 0, len(found))
	for _, object := range found {
		versions = append(versions, object.Object)
	}
	return versions, nil // none where OLM is not there, or may not be asked
}

// write makes the Secret.
func (g *Generator) write(ctx context.Context, s *subject) (watch.Made, error) {
	contents := map[generate.Reference]map[string][]byte{}
	for _, need := range s.needs {
		entries, t, err := g.read(s, need)
		if err != nil {
			return watch.Made{}, err
		}
		if t != nil {
			return g.failed(s, t.reason, t.message), nil
		}
		if entries != nil {
			contents[need.Reference] = entries
		}
	}
	made, err := s.recipe.Make(s.object.Object, func(ref generate.Reference) (map[string][]byte, bool) {
		entries, ok := contents[ref]
		return entries, ok
	})
	if err != nil {
		return g.failed(s, reasonOf(err), err.Error()), nil
	}
	name := generatedName(s.key)
	err = g.keeper.Ensure(ctx, Wanted{
		NamespacedName: name, Purpose: ForService, Type: made.SecretType, Data: made.Data,
		Owner: owner(s.kind.GroupVersion().String(), s.kind.Kind, s.key.Name, s.object.GetUID()),
		From:  strings.Join(madeFrom(s.needs), " "),
	})
	if t := unwritten(err); t != nil {
		return g.failed(s, t.reason, t.message), nil
	}
	if err != nil {
		return watch.Made{}, err
	}
	return watch.Made{Secret: name.Name}, nil
}

// reasonOf tells what is missing from what is wrong.
func reasonOf(err error) string {
	faults, is := errors.AsType[generate.Faults](err)
	if !is {
		return ReasonDescription
	}
	missing := func(err error) bool {
		_, is := errors.AsType[*generate.Missing](err)
		return is
	}
	if !slices.ContainsFunc(faults, func(err error) bool { return !missing(err) }) {
		return ReasonSourceMissing
	}
	return ReasonDescription
}

// read returns the entries of a Secret or ConfigMap; nil where it does not exist, or may not be read by anybody. The error
// is watch.ErrStarting.
func (g *Generator) read(s *subject, need generate.Need) (map[string][]byte, *trouble, error) {
	kind := configMapKind
	if need.Kind == binding.SecretKind.Kind {
		kind = binding.SecretKind
	}
	object, err := g.objects.Get(objectRef(kind, s.key.Namespace, need.Name))
	object, t, err := g.platform.usable(object, err, ForService)
	if object == nil || t != nil || err != nil {
		return nil, t, err
	}
	entries, err := entriesOf(object)
	if err != nil {
		return nil, &trouble{ReasonDescription, err.Error()}, nil //nolint:nilerr // it is the answer
	}
	return entries, nil, nil
}

// failed is what was made of a service for which nothing can be made now. What was made before stays.
func (g *Generator) failed(s *subject, reason, message string) watch.Made {
	s.troubled = true
	before := g.before(s)
	t := &trouble{reason, message}
	return watch.Made{Secret: before, Problem: t.keeping(before).unavailable()}
}

// before is the name of the Secret that was made before; empty for none.
func (g *Generator) before(s *subject) string {
	name := generatedName(s.key)
	if g.keeper.Has(name, s.object.GetUID()) {
		return name.Name
	}
	return ""
}

// generatedName is the name of the Secret that is made for a described service.
func generatedName(key watch.ServiceKey) types.NamespacedName {
	return types.NamespacedName{
		Namespace: key.Namespace, Name: SecretName(key.Name, string(ForService), key.Kind.Group, key.Kind.Kind),
	}
}

// ServiceOf is the key of the service that owns a Secret.
func ServiceOf(namespace string, owner metav1.OwnerReference) watch.ServiceKey {
	return watch.ServiceKey{
		Kind:           schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind(),
		NamespacedName: types.NamespacedName{Namespace: namespace, Name: owner.Name},
	}
}
