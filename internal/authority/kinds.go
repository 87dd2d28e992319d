package authority

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/watch"
)

// remembered is how long what the API server serves is taken to stay as it is.
const remembered = 30 * time.Second

// Resources tells what the API server serves.
type Resources interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// kinds finds the resource of a kind. It remembers only what is there: what is missing is looked for each time, since it
// may just have been installed, and since a person may invent any number of names.
type kinds struct {
	resources Resources
	now       func() time.Time

	mu    sync.Mutex
	lists map[string]listed
}

type listed struct {
	list *metav1.APIResourceList
	at   time.Time
}

// ServerResourcesForGroupVersion asks the API server, or memory.
func (k *kinds) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	k.mu.Lock()
	known, ok := k.lists[groupVersion]
	k.mu.Unlock()
	if ok && k.now().Sub(known.at) < remembered {
		return known.list, nil
	}
	list, err := k.resources.ServerResourcesForGroupVersion(groupVersion)
	if err != nil {
		return nil, err //nolint:wrapcheck // it stands in for the real one
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lists[groupVersion] = listed{list: list, at: k.now()}
	return list, nil
}

// locate returns the resource of a kind, and whether it is known to have no namespace. A kind that is not served may be
// some day, and nobody is asked again then: the permission that is asked for now is the one for the plural that such a
// kind has by custom.
func (k *kinds) locate(kind schema.GroupVersionKind) (resource schema.GroupVersionResource, clusterScoped bool, err error) {
	resource, namespaced, err := watch.Locate(k, kind)
	if unknown(err) {
		k.forget(kind.GroupVersion())
		resource, namespaced, err = watch.Locate(k, kind)
	}
	if unknown(err) {
		guess, _ := meta.UnsafeGuessKindToResource(kind)
		return guess, false, nil
	}
	if err != nil {
		return resource, false, fmt.Errorf("finding the resource of kind %s: %w", kind.Kind, err)
	}
	return resource, !namespaced, nil
}

func unknown(err error) bool {
	fault := (*watch.KindError)(nil)
	return errors.As(err, &fault)
}

func (k *kinds) forget(gv schema.GroupVersion) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.lists, gv.String())
}
