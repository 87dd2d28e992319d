package controller

import (
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/binding"
)

// writes remembers, by binding, the resource version that a write was made upon and since when something is under way.
type writes struct {
	mu      sync.Mutex
	written map[binding.Key]string
	waiting map[binding.Key]time.Time
}

func newWrites() *writes {
	return &writes{written: map[binding.Key]string{}, waiting: map[binding.Key]time.Time{}}
}

func (w *writes) wrote(key binding.Key, resourceVersion string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written[key] = resourceVersion
	delete(w.waiting, key)
}

func (w *writes) stale(key binding.Key, resourceVersion string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.written[key] == resourceVersion {
		return true
	}
	delete(w.written, key)
	return false
}

func (w *writes) forget(key binding.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.written, key)
	delete(w.waiting, key)
}

// rest returns how much of a time of grace is left since something came to be under way.
func (w *writes) rest(key binding.Key, grace time.Duration, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, ok := w.waiting[key]
	if !ok {
		since = now
		w.waiting[key] = now
	}
	return grace - now.Sub(since)
}

// done notes that nothing is under way any more.
func (w *writes) done(key binding.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, key)
}
