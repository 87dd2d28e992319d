package watch

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// servedFor is how long what the API server serves is taken to stay as it is, unless something says otherwise.
const servedFor = 30 * time.Second

// missingFor is how long what the API server does not serve is taken to stay so, unless something says otherwise: however
// many objects of a kind are waited for, they ask this often.
const missingFor = time.Second

// servedKinds remembers what the API server serves, so that many objects of one kind cost one question. What is missing is
// asked for again soon.
type servedKinds struct {
	lister Lister

	mu    sync.Mutex
	lists map[string]servedList
}

type servedList struct {
	list *metav1.APIResourceList
	err  error // that there is no such group and version
	at   time.Time
}

// holds says whether an answer still counts.
func (l servedList) holds() bool {
	if l.err != nil {
		return time.Since(l.at) < missingFor
	}
	return time.Since(l.at) < servedFor
}

func newServedKinds(lister Lister) *servedKinds {
	return &servedKinds{lister: lister, lists: map[string]servedList{}}
}

// ServerResourcesForGroupVersion answers from memory or asks.
func (s *servedKinds) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	s.mu.Lock()
	defer s.mu.Unlock() // held while asking: the others want the same answer
	if known, ok := s.lists[groupVersion]; ok && known.holds() {
		return known.list, known.err
	}
	list, err := s.lister.ServerResourcesForGroupVersion(groupVersion)
	if err == nil || apierrors.IsNotFound(err) {
		s.lists[groupVersion] = servedList{list: list, err: err, at: time.Now()}
	}
	return list, err //nolint:wrapcheck // it stands in for the real one
}

// forget has a group's kinds asked for again.
func (s *servedKinds) forget(group string) { s.forgetOlder(group, 0) }

// doubt does so where the answer is not quite new.
func (s *servedKinds) doubt(group string) { s.forgetOlder(group, missingFor) }

func (s *servedKinds) forgetOlder(group string, than time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for groupVersion, known := range s.lists {
		gv, err := schema.ParseGroupVersion(groupVersion)
		if err == nil && gv.Group == group && time.Since(known.at) >= than {
			delete(s.lists, groupVersion)
		}
	}
}
