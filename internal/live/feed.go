package live

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/bowline-dev/bowline/internal/node"
)

// Feed holds the objects that one container names, as they were last seen.
type Feed struct {
	subjects []*subject
	tokens   []*token
	backoff  wait.Backoff
	poll     time.Duration

	mu      sync.Mutex
	objects node.Objects
}

// Event is news of what a feed follows.
type Event struct {
	// What names the object, such as Secret "db".
	What string
	// Kind says what happened to it.
	Kind EventKind
	// Err says why, where something went wrong. It holds no value.
	Err error
}

// EventKind says what happened to an object.
type EventKind int

const (
	// Changed means that the object is another now, or has come.
	Changed EventKind = iota
	// Gone means that the object was deleted. Its last state stays.
	Gone
	// Troubled means that changes are not seen in the meantime, or later than they should be.
	Troubled
)

const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
	retries    = 1000
	// poll is how often to look where watching is forbidden.
	poll = 10 * time.Second
)

// Open reads what is named, all at once. What does not exist is not part of the objects, which is no error. The error may be
// a *PermissionError, or a *MissingError for a service account.
func (c *Client) Open(ctx context.Context, namespace string, needs node.Needs) (*Feed, error) {
	f := &Feed{
		backoff: wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: 0.2, Steps: retries, Cap: lastRetry},
		poll:    poll,
		objects: node.Objects{
			Secrets: map[string]node.Entries{}, ConfigMaps: map[string]node.Entries{}, BinaryData: map[string]node.Entries{},
			Tokens: map[node.TokenRequest]node.Value{},
		},
	}
	for _, need := range needs.Secrets {
		f.subjects = append(f.subjects, c.secret(namespace, need.Name))
	}
	for _, need := range needs.ConfigMaps {
		f.subjects = append(f.subjects, c.configMap(namespace, need.Name))
	}
	for _, request := range needs.Tokens {
		f.tokens = append(f.tokens, c.token(namespace, request))
	}
	return f, f.first(ctx)
}

// first reads everything for the first time and returns the first error in the order of the needs.
func (f *Feed) first(ctx context.Context) error {
	errs := make([]error, len(f.subjects)+len(f.tokens))
	var group sync.WaitGroup
	for i, s := range f.subjects {
		group.Go(func() { _, errs[i] = s.look(ctx, f) })
	}
	for i, t := range f.tokens {
		group.Go(func() { errs[len(f.subjects)+i] = t.ask(ctx, f) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return silent(ctx, err)
		}
	}
	return nil
}

// Objects returns what there is now.
func (f *Feed) Objects() node.Objects {
	f.mu.Lock()
	defer f.mu.Unlock()
	return node.Objects{
		Secrets: maps.Clone(f.objects.Secrets), ConfigMaps: maps.Clone(f.objects.ConfigMaps),
		BinaryData: maps.Clone(f.objects.BinaryData), Tokens: maps.Clone(f.objects.Tokens),
	}
}

// Follow tells of changes until the context ends, one at a time. It returns when nothing of it runs any more.
func (f *Feed) Follow(ctx context.Context, tell func(Event)) {
	var telling sync.Mutex
	one := func(e Event) {
		telling.Lock()
		defer telling.Unlock()
		if ctx.Err() == nil {
			tell(e)
		}
	}
	var group sync.WaitGroup
	for _, s := range f.subjects {
		group.Go(func() { s.follow(ctx, f, one) })
	}
	for _, t := range f.tokens {
		group.Go(func() { t.follow(ctx, f, one) })
	}
	group.Wait()
}

// pause waits, but not longer than the context.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func hide(data map[string][]byte) node.Entries {
	entries := make(node.Entries, len(data))
	for key, value := range data {
		entries[key] = node.NewValue(value)
	}
	return entries
}

func hideText(data map[string]string) node.Entries {
	entries := make(node.Entries, len(data))
	for key, value := range data {
		entries[key] = node.NewValue([]byte(value))
	}
	return entries
}

func quoted(kind, name string) string { return fmt.Sprintf("%s %q", kind, name) }
