package produce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/generate"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/internal/watch"
)

// MadeFromAnnotation lists, on a Secret that was made for a described service, the Secrets and ConfigMaps that it was made
// from: who has it projected was allowed to read those.
const MadeFromAnnotation = "bowline.dev/made-from"

// settling is how long a refusal has to be known before what was refused is written: a projection that was decided upon
// before may be under way.
const settling = time.Second

// errSettling says that a refusal is not known for long enough.
var errSettling = errors.New("it was refused a moment ago")

// verdict is what came of asking who may have what a service points to.
type verdict struct {
	// refused are the bindings that may not, each with why.
	refused map[binding.Key]*service.Unavailable
	// judged are all bindings that were asked about, each with the record of who asked for it.
	judged map[binding.Key]string
	// allowed is how many may.
	allowed int
}

// with puts a verdict into what was made.
func (v *verdict) with(made watch.Made) watch.Made {
	made.Refused, made.Judged = v.refused, v.judged
	return made
}

// authorize finds out which bindings may have what the service points to: those whose requesters may read it themselves. A
// binding that is being deleted stands for nobody.
func (g *Generator) authorize(ctx context.Context, s *subject) (*verdict, error) {
	s.needs, _ = s.recipe.References(s.object.Object) // what is wrong with others is said when the entries are made
	refs := make([]authority.Reference, 0, len(s.needs))
	for _, need := range s.needs {
		kind := configMapKind
		if need.Kind == binding.SecretKind.Kind {
			kind = binding.SecretKind
		}
		refs = append(refs, authority.Reference{
			Field: field.NewPath("spec", "service"), Kind: kind, Name: need.Name, Verb: authority.VerbRead,
		})
		g.need(s, objectRef(kind, s.key.Namespace, need.Name))
	}
	v := &verdict{refused: map[binding.Key]*service.Unavailable{}, judged: map[binding.Key]string{}}
	for _, b := range s.bound {
		if !b.Deleting.IsZero() {
			continue
		}
		v.judged[b.Key] = b.Requester
		refused, err := g.judge(ctx, s, b, refs)
		if err != nil {
			return nil, err
		}
		if refused == nil {
			v.allowed++
			continue
		}
		v.refused[b.Key] = refused
	}
	return v, nil
}

// judge says why a binding may not have what the service points to; nil when it may.
func (g *Generator) judge(
	ctx context.Context, s *subject, b *binding.Binding, refs []authority.Reference,
) (*service.Unavailable, error) {
	if len(refs) == 0 {
		return nil, nil //nolint:nilnil // nothing is pointed to
	}
	err := g.permits.check(ctx, b.Requester, s.key.Namespace, refs)
	no, is := errors.AsType[*refusal](err)
	if !is {
		return nil, err
	}
	return &service.Unavailable{Reason: ReasonRequester, Message: fmt.Sprintf(
		"%s %q is described by what this binding may not use: %s; grant it, or bind another service",
		s.kind.Kind, s.key.Name, no.message)}, nil
}

// guard sees to it that nobody gets what they may not have through a Secret that they have already. A binding may have been
// projected while the service pointed elsewhere: then the Secret that it has is not made from what it may not read. It says
// what stands in the way; the error is watch.ErrStarting or errSettling.
func (g *Generator) guard(s *subject, v *verdict) (*trouble, error) {
	if len(v.refused) == 0 || !g.pointsElsewhere(s) {
		return nil, nil //nolint:nilnil // nothing is in the way
	}
	if g.hub.SetJudged(s.key, v.with(watch.Made{})) {
		return nil, errSettling
	}
	for _, b := range s.bound {
		if v.refused[b.Key] == nil {
			continue
		}
		bearing, forbidden, err := g.hub.Bearing(b)
		if err != nil {
			return nil, watch.ErrStarting
		}
		if len(bearing)+len(forbidden) > 0 {
			return &trouble{ReasonSecretShared, fmt.Sprintf(
				"%s %q points to other Secrets or ConfigMaps than before, and binding %q, whose requester may not read them, is projected; "+
					"delete that binding, or grant its requester to read them", s.kind.Kind, s.key.Name, b.Key.Name)}, nil
		}
	}
	return nil, nil //nolint:nilnil // nothing is in the way
}

// pointsElsewhere says whether a service points to anything that the Secret made before was not made from.
func (g *Generator) pointsElsewhere(s *subject) bool {
	before := strings.Fields(g.keeper.From(generatedName(s.key)))
	return slices.ContainsFunc(madeFrom(s.needs), func(ref string) bool { return !slices.Contains(before, ref) })
}

// madeFrom names what is needed, sorted.
func madeFrom(needs []generate.Need) []string {
	names := make([]string, 0, len(needs))
	for _, need := range needs {
		names = append(names, need.Kind+"/"+need.Name)
	}
	slices.Sort(names)
	return names
}
