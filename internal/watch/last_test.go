package watch

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/internal/binding"
)

// TestLastSelectorOfAKindGoes sees a kind through the moment in which no binding names it any more and its objects are
// still in memory.
func TestLastSelectorOfAKindGoes(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	hub := New(logr.Discard(), Clients{}, nil)
	hub.feeds[kind] = &feed{kind: kind, cancel: func() {}, indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, uidIndex: projectedUIDs,
	})}
	b := &binding.Binding{Key: binding.KeyOf(binding.Specification, "shop", "b")}
	b.Workload.GroupVersionKind, b.Workload.Selector = kind, labels.Everything()
	hub.sink = deaf{}
	hub.index.put(b)
	hub.dropBinding(b.Key)
	if len(hub.feeds) != 0 {
		t.Errorf("%d feeds are left", len(hub.feeds))
	}
}

// deaf is a sink that does nothing.
type deaf struct{}

func (deaf) WorkloadChanged(WorkloadKey, bool) {}
func (deaf) BindingChanged(binding.Key)        {}
func (deaf) KindsChanged()                     {}
