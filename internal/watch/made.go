package watch

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/projection"
)

// Made is what Bowline itself made of a service that names no Secret.
type Made struct {
	// Secret is the name of the generated Secret; empty for none, as where nothing describes the service.
	Secret string
	// Problem is why the service cannot be bound; nil when it can. A Secret that was made before stays in place.
	Problem *service.Unavailable
	// Refused are the bindings that may not have the Secret, each with why.
	Refused map[binding.Key]*service.Unavailable
	// Judged are the bindings that were looked at, each with the record of who asked for it. Any other one has to wait: what
	// was made may be more than they may have.
	Judged map[binding.Key]string

	// pending says that no more than who may have it is known yet.
	pending bool
}

// sameFor says whether two states come to the same for a binding.
func (m Made) sameFor(key binding.Key, other Made) bool {
	same := func(a, b *service.Unavailable) bool { return a == b || a != nil && b != nil && *a == *b }
	return m.Secret == other.Secret && same(m.Problem, other.Problem) && same(m.Refused[key], other.Refused[key]) &&
		m.Judged[key] == other.Judged[key] && m.pending == other.pending
}

// Prepared is what Bowline itself made for one binding, beyond its service's Secret.
type Prepared struct {
	// For is the binding that this was made for; what was made for an older state of it does not count.
	For *binding.Binding
	// Source is the name of the service's Secret.
	Source string
	// Secret is the Secret that was composed of it; empty where the service's own is projected.
	Secret string
	// Env are the variables that the binding comes to have.
	Env []projection.Env
	// Problem is why the binding cannot be projected; nil when it can.
	Problem *service.Unavailable
}

// SetMakers has the makers told of all that changes from now on, beginning with everything there is.
func (h *Hub) SetMakers(makers Makers) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.makers = makers
	for _, b := range h.index.bindings {
		h.tellMakers(b)
	}
}

// tellMakers reports a binding, nil for none, and its service. A lock is held.
func (h *Hub) tellMakers(b *binding.Binding) {
	if h.makers == nil || b == nil || b.Service.Empty() {
		return
	}
	h.makers.ServiceConcerned(serviceKey(b))
	h.makers.BindingConcerned(b.Key)
}

// SetMade notes what was made of a service; nil when nothing is to be known of it any more.
func (h *Hub) SetMade(key ServiceKey, made *Made) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if made == nil {
		delete(h.made, key)
		return
	}
	h.putMade(key, *made)
}

// SetJudged notes which bindings were looked at and which were refused, and leaves all else that was made of a service as it
// is known. It says whether that is news for any binding.
func (h *Hub) SetJudged(key ServiceKey, judged Made) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	made, known := h.made[key]
	made.pending = made.pending || !known
	made.Refused, made.Judged = judged.Refused, judged.Judged
	return h.putMade(key, made)
}

// putMade takes in what was made of a service, and tells those for whom that is news. The lock is held.
func (h *Hub) putMade(key ServiceKey, made Made) (news bool) {
	before, known := h.made[key]
	h.made[key] = made
	for _, name := range h.index.services[key].sorted() {
		if known && before.sameFor(name, made) {
			continue
		}
		news = true
		b := h.index.bindings[name]
		h.index.setSecret(name, h.secretName(b))
		h.tell(b, false)
		if h.makers != nil {
			h.makers.BindingConcerned(name)
		}
	}
	return news
}

// SetPrepared notes what was made for a binding.
func (h *Hub) SetPrepared(prepared Prepared) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.index.bindings[prepared.For.Key]
	if b == nil {
		return
	}
	h.prepared[b.Key] = prepared
	h.tell(b, false)
}

// BoundTo returns the bindings of a service, the oldest first, those included that are being deleted.
func (h *Hub) BoundTo(key ServiceKey) []*binding.Binding {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var found []*binding.Binding
	for name := range h.index.services[key] {
		found = append(found, h.index.bindings[name])
	}
	slices.SortFunc(found, (*binding.Binding).Before)
	return found
}

// ServiceKind returns nil when the kind of a binding's service is in memory, and else ErrStarting or a *KindError.
func (h *Hub) ServiceKind(b *binding.Binding) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	_, err := h.objects(b.Service.GroupVersionKind)
	return err
}

// Secret returns the name of the binding Secret of a binding's service. The error is ErrStarting, a *KindError about the
// service's kind, or a *service.Unavailable.
func (h *Hub) Secret(b *binding.Binding) (string, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.secret(b)
}

// Resolve returns a binding as it is projected, with the Secret and all variables. The error is that of Secret; the name of
// the Secret comes with it where it is known.
func (h *Hub) Resolve(b *binding.Binding) (projection.Binding, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	p := b.Projection
	secret, err := h.secret(b)
	p.Secret = secret
	if err != nil || !NeedsPreparation(b) {
		return p, err
	}
	if err := h.unprepared(b); err != nil {
		return p, err
	}
	prepared, ok := h.prepared[b.Key]
	if !ok || prepared.Source != secret || !sameOrders(prepared.For, b) {
		return p, ErrStarting
	}
	p.Env = prepared.Env
	if prepared.Secret != "" {
		p.Secret, p.Type, p.Provider = prepared.Secret, "", "" // it holds what overrides
	}
	if prepared.Problem != nil {
		return p, prepared.Problem
	}
	return p, nil
}

// unprepared says which feature a binding wants that is switched off; nil for none.
func (h *Hub) unprepared(b *binding.Binding) error {
	if b.Composition != nil && !h.clients.Features.Has(feature.Templates) {
		return &service.Unavailable{Reason: service.ReasonFeatureOff, Message: "spec.mappings and spec.env need the feature " +
			string(feature.Templates) + ", which is switched off; ask an administrator to switch it on, or take them out"}
	}
	if len(b.Options) > 0 && !h.clients.Features.Has(feature.EntriesAsEnv) {
		return &service.Unavailable{Reason: service.ReasonFeatureOff, Message: "the annotation " + binding.EnvAnnotation +
			" needs the feature " + string(feature.EntriesAsEnv) + ", which is switched off; ask an administrator to switch it on, " +
			"or take it out"}
	}
	return nil
}

// NeedsPreparation says whether a binding asks for more than its service's Secret as it is.
func NeedsPreparation(b *binding.Binding) bool { return b.Composition != nil || len(b.Options) > 0 }

// madeFor returns the Secret that was made of a binding's service; ok is false where nothing describes the service.
func (h *Hub) madeFor(b *binding.Binding) (secret string, ok bool, err error) {
	made, known := h.made[serviceKey(b)]
	requester, is := made.Judged[b.Key]
	judged := is && requester == b.Requester
	switch refused := made.Refused[b.Key]; {
	case !known, made.pending:
		return "", false, ErrStarting
	case made.Problem != nil && (refused == nil || !judged):
		return made.Secret, true, made.Problem // nothing is projected anew
	case made.Secret != "" && !judged:
		return "", false, ErrStarting
	case refused != nil:
		return "", true, refused
	}
	return made.Secret, made.Secret != "", nil
}

func isProvisioned(object map[string]any) bool { return provisionedSecret(object) != "" }

// provisionedSecret is the name of the Secret that a service names (specification, section Provisioned Service).
func provisionedSecret(object map[string]any) string {
	name, _, _ := unstructured.NestedString(object, "status", "binding", "name")
	return name
}

// DefinitionKind is the kind of definitions of custom resources.
var DefinitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
