package produce

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/bowline-dev/bowline/internal/authority"
)

const (
	// remembered is how long an answer about what a person may do is taken to hold, so that a source that changes often
	// costs no question each time.
	remembered = 30 * time.Second
	// maxRemembered bounds how many answers are remembered.
	maxRemembered = 10_000
)

// Clock tells the time.
type Clock func() time.Time

// Authority finds out what stands against a person's following references in a namespace.
type Authority interface {
	May(ctx context.Context, user authenticationv1.UserInfo, namespace string, refs []authority.Reference) (authority.Findings, error)
}

// permits answers whether who asked for something may read what it is made from.
type permits struct {
	authority Authority
	now       Clock

	mu      sync.Mutex
	answers map[question]answer
}

// question is what was asked. A record may be long, so it stands for its digest.
type question struct {
	record               [sha256.Size]byte
	namespace, reference string
}

type answer struct {
	err error
	at  time.Time
}

func newPermits(of Authority, now Clock) *permits {
	return &permits{authority: of, now: now, answers: map[question]answer{}}
}

// refusal says that who asked may not read what a Secret is made from.
type refusal struct{ message string }

func (r *refusal) Error() string { return r.message }

// check returns nil when the person recorded may follow each reference, a *refusal when not, and else a passing error.
func (p *permits) check(ctx context.Context, record, namespace string, refs []authority.Reference) error {
	user, err := authority.Requester(record)
	if err != nil {
		return &refusal{"nobody's authority stands behind it: " + err.Error()}
	}
	var refused []error
	for _, ref := range refs {
		err := p.ask(ctx, question{sha256.Sum256([]byte(record)), namespace, ref.Verb + " " + ref.Kind.String() + " " + ref.Name}, func() error {
			return p.review(ctx, user, namespace, ref)
		})
		if _, is := errors.AsType[*refusal](err); err != nil && !is {
			return err
		}
		if err != nil {
			refused = append(refused, err)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	texts := make([]string, 0, len(refused))
	for _, err := range refused {
		texts = append(texts, err.Error())
	}
	return &refusal{strings.Join(texts, "; ")}
}

// ask answers from memory, or asks. What passes is not remembered.
func (p *permits) ask(ctx context.Context, q question, review func() error) error {
	p.mu.Lock()
	known, ok := p.answers[q]
	p.mu.Unlock()
	if ok && p.now().Sub(known.at) < remembered {
		return known.err
	}
	err := review()
	if _, is := errors.AsType[*refusal](err); err != nil && !is || ctx.Err() != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) >= maxRemembered {
		clear(p.answers)
	}
	p.answers[q] = answer{err: err, at: p.now()}
	return err
}

func (p *permits) review(ctx context.Context, user authenticationv1.UserInfo, namespace string, ref authority.Reference) error {
	findings, err := p.authority.May(ctx, user, namespace, []authority.Reference{ref})
	switch {
	case err != nil:
		return fmt.Errorf("asking what user %q may do: %w", user.Username, err)
	case len(findings.Unfit) > 0:
		return &refusal{findings.Unfit.ToAggregate().Error()}
	case len(findings.Lacking) > 0:
		return &refusal{fmt.Sprintf("user %q, who asked for it, may not %s", user.Username, findings.Lacking[0])}
	}
	return nil
}
