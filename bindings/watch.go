package bindings

import (
	"context"
	"iter"
	"os"
	"time"
)

// DefaultInterval is how often a watcher looks for changes. A look at a binding that did not change costs one system call or
// two; the kubelet itself brings a changed Secret to a pod within a minute or so.
const DefaultInterval = time.Second

// Watcher says where to look for changes, and how often. The zero value watches $SERVICE_BINDING_ROOT.
//
// It looks at the links that a kubelet moves instead of asking the system for notifications: these are limited for each user
// of a node, stay out for some file systems, and do not survive that what they were asked for is replaced.
type Watcher struct {
	// Root is the directory of bindings; $SERVICE_BINDING_ROOT when it is "".
	Root string
	// Interval is how often to look; DefaultInterval when it is not positive.
	Interval time.Duration
}

// Watch gives the bindings below $SERVICE_BINDING_ROOT as they are, and again whenever one has come, gone or changed, until
// ctx ends or the loop is left:
//
//	for set, err := range bindings.Watch(ctx) {
//		…
//	}
//
// Each set is whole: no binding in it is a mix of what was before a change and after it. A slow loop misses what came and went
// meanwhile, and never the last state. An error is given once, and watching goes on; it ends when the bindings can be read
// again. A binding mounted by sub-path never changes: such a mount is not refreshed.
func Watch(ctx context.Context) iter.Seq2[Set, error] { return Watcher{}.Watch(ctx) }

// Watch is as the function Watch.
func (w Watcher) Watch(ctx context.Context) iter.Seq2[Set, error] {
	return func(yield func(Set, error) bool) {
		root, interval := w.Root, w.Interval
		if root == "" {
			root = os.Getenv(RootVariable)
		}
		if interval <= 0 {
			interval = DefaultInterval
		}
		tick := time.NewTicker(interval)
		defer tick.Stop()
		var s sight
		for ctx.Err() == nil {
			if s.look(root) && !yield(s.set, s.err) {
				return
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}
}

// sight is what a watcher has seen and given.
type sight struct {
	reader reader
	given  bool
	set    Set
	err    error
}

// look reads anew and says whether what it saw is news.
func (s *sight) look(root string) bool {
	set, err := s.reader.read(root)
	news := !s.given || (err == nil) != (s.err == nil)
	switch {
	case news:
	case err != nil:
		news = err.Error() != s.err.Error()
	default:
		news = !set.Equal(s.set)
	}
	s.given, s.set, s.err = true, set, err
	return news
}
