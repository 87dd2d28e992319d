package watch

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// servedFor is how long what the API server serves is taken to stay as it is, unless something says otherwise.
const servedFor = 30 * time.Second

// servedKinds remembers what the API server serves, so that many objects of one kind cost one question. What is missing is
// asked for each time.
type servedKinds struct {
	lister Lister

	mu    sync.Mutex
	lists map[string]servedList
}

type servedList struct {
	list *metav1.APIResourceList
	at   time.Time
}

func newServedKinds(lister Lister) *servedKinds {
	return &servedKinds{lister: lister, lists: map[string]servedList{}}
}

// ServerResourcesForGroupVersion answers from memory or asks.
func (s *servedKinds) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	s.mu.Lock()
	defer s.mu.Unlock() // held while asking: the others want the same answer
	if known, ok := s.lists[groupVersion]; ok && time.Since(known.at) < servedFor {
		return known.list, nil
	}
	list, err := s.lister.ServerResourcesForGroupVersion(groupVersion)
	if err != nil {
		return nil, err //nolint:wrapcheck // it stands in for the real one
	}
	s.lists[groupVersion] = servedList{list: list, at: time.Now()}
	return list, nil
}

// forget has a group's kinds asked for again.
func (s *servedKinds) forget(group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for groupVersion := range s.lists {
		if gv, err := schema.ParseGroupVersion(groupVersion); err == nil && gv.Group == group {
			delete(s.lists, groupVersion)
		}
	}
}
