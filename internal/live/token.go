package live

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/node"
)

const (
	// fifth of a token's time is left when it is renewed, as the kubelet has it.
	fifth = 5
	// oldest is how old a token becomes at most, as the kubelet has it.
	oldest = 24 * time.Hour
)

// token is one token of a service account that is kept fresh.
type token struct {
	target

	request node.TokenRequest
	create  func(context.Context, *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)
	renew   time.Duration
}

func (c *Client) token(namespace string, request node.TokenRequest) *token {
	accounts := c.core.ServiceAccounts(namespace)
	return &token{
		target: target{
			resource: schema.GroupResource{Resource: "serviceaccounts/token"}, kind: "ServiceAccount",
			name: request.ServiceAccount, namespace: namespace,
		},
		request: request,
		create: func(ctx context.Context, want *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
			return accounts.CreateToken(ctx, request.ServiceAccount, want, metav1.CreateOptions{})
		},
	}
}

// ask gets a token.
func (t *token) ask(ctx context.Context, f *Feed) error {
	want := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &t.request.ExpirationSeconds}}
	if t.request.Audience != "" {
		want.Spec.Audiences = []string{t.request.Audience}
	}
	asked := time.Now()
	got, err := t.create(ctx, want)
	if err != nil {
		return t.explain(err, "create")
	}
	t.renew = renewal(asked, got.Status.ExpirationTimestamp.Time)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects.Tokens[t.request] = node.NewValue([]byte(got.Status.Token))
	return nil
}

// renewal says how long after it was asked for a token is renewed: when a fifth of its time is left, and daily at the least.
func renewal(asked, expires time.Time) time.Duration {
	lifetime := max(expires.Sub(asked), 0)
	return min(lifetime-lifetime/fifth, oldest)
}

// follow renews the token until the context ends.
func (t *token) follow(ctx context.Context, f *Feed, tell func(Event)) {
	backoff, troubled := f.backoff, false
	wait := t.renew
	for ctx.Err() == nil {
		pause(ctx, wait)
		if ctx.Err() != nil {
			return
		}
		err := t.ask(ctx, f)
		switch {
		case err == nil:
			backoff, troubled = f.backoff, false
			wait = max(t.renew, f.backoff.Duration)
			tell(Event{What: quoted(t.kind, t.name), Kind: Changed})
			continue
		case !troubled && ctx.Err() == nil:
			troubled = true
			tell(Event{What: quoted(t.kind, t.name), Kind: Troubled, Err: err})
		}
		wait = backoff.Step()
	}
}
