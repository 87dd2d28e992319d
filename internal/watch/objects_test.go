package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// bench is a memory of single objects at work.
type bench struct {
	*scene

	objects *Objects[string]
	mu      sync.Mutex
	changes map[string]int
}

// newBench runs a memory of single objects as a user, "" for the administrator.
func newBench(t *testing.T, user string) *bench {
	t.Helper()
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{scene: &scene{t: t, client: client, tap: &wiretap{watches: map[string]int{}}}, changes: map[string]int{}}
	b.ns = b.create(`{apiVersion: v1, kind: Namespace, metadata: {generateName: test-}}`)
	config := rest.CopyConfig(admin)
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	config.Wrap(b.tap.wrap)
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	b.objects = NewObjects(Clients{Dynamic: dynamic.NewForConfigOrDie(config), Discovery: clients.Discovery()},
		func(_ ObjectRef, object *unstructured.Unstructured) { delete(object.Object, "binaryData") },
		func(key string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.changes[key]++
		})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := b.objects.Start(ctx); err != nil {
			t.Errorf("running: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		b.watching(nil)
	})
	return b
}

func (b *bench) ref(kind schema.GroupVersionKind, name string) ObjectRef {
	return ObjectRef{kind, types.NamespacedName{Namespace: b.ns, Name: name}}
}

func (b *bench) told(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes[key]
}

// holds waits until what a reference names is there with a text under data.a; "" for not there.
func (b *bench) holds(ref ObjectRef, want string) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("%s holds %q", ref, want), func() string {
		object, err := b.objects.Get(ref)
		if err != nil {
			return err.Error()
		}
		got := ""
		if object != nil {
			got, _, _ = unstructured.NestedString(object.Object, "data", "a")
		}
		if got != want {
			return fmt.Sprintf("it holds %q", got)
		}
		return ""
	})
}

func configMap(name, value string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %q}, data: {a: %q}, binaryData: {b: AAAA}}`, name, value)
}

// TestObjectsFollowOnlyWhatIsNeeded: one watch for each object that is needed, however many others there are and however
// many need it, and none afterwards.
func TestObjectsFollowOnlyWhatIsNeeded(t *testing.T) {
	b := newBench(t, "")
	for i := range 20 {
		b.create(configMap(fmt.Sprintf("m%d", i), "x"))
	}
	first, second := b.ref(configMapKind, "m1"), b.ref(configMapKind, "m2")
	b.objects.Need("a", first)
	b.objects.Need("b", first, second)
	b.holds(first, "x")
	b.holds(second, "x")
	b.watching(map[string]int{"configmaps": 2})
	if object, _ := b.objects.Get(first); object.Object["binaryData"] != nil || object.GetManagedFields() != nil {
		t.Errorf("what nobody needs is kept: %v", object.Object)
	}

	told := b.told("b")
	b.merge(configMapKind, "m1", `{"data": {"a": "y"}}`)
	b.holds(first, "y")
	b.eventually("both are told", func() string {
		if b.told("a") < 2 || b.told("b") <= told {
			return fmt.Sprintf("a was told %d times, b %d", b.told("a"), b.told("b"))
		}
		return ""
	})
	b.objects.Also("a", second)
	b.objects.Need("b")
	b.watching(map[string]int{"configmaps": 2})
	b.objects.Need("a", second)
	b.watching(map[string]int{"configmaps": 1})
	if _, err := b.objects.Get(first); !errors.Is(err, ErrStarting) {
		t.Errorf("what nobody needs is answered with %v", err)
	}
	b.objects.Need("a")
	b.watching(nil)
}

// TestObjectsComeAndGo: absence is an answer, and its end is told.
func TestObjectsComeAndGo(t *testing.T) {
	b := newBench(t, "")
	ref := b.ref(configMapKind, "m")
	b.objects.Need("a", ref)
	b.holds(ref, "")
	b.create(configMap("m", "x"))
	b.holds(ref, "x")
	b.remove(configMapKind, "m")
	b.holds(ref, "")
}

// TestObjectsListANamespace: a reference without a name stands for all objects of a kind in a namespace.
func TestObjectsListANamespace(t *testing.T) {
	b := newBench(t, "")
	ref := b.ref(configMapKind, "")
	b.objects.Need("a", ref)
	b.create(configMap("m2", "x"))
	b.create(configMap("m1", "x"))
	b.eventually("both are listed", func() string {
		found, err := b.objects.List(ref)
		var names []string
		for _, object := range found {
			if object.GetName() != "kube-root-ca.crt" {
				names = append(names, object.GetName())
			}
		}
		if err != nil || fmt.Sprint(names) != "[m1 m2]" {
			return fmt.Sprint(names, err)
		}
		return ""
	})
}

// TestObjectsSayWhatIsInTheWay: a kind that is not there, one without namespaces, a permission that is missing; and a kind
// that comes later is found.
func TestObjectsSayWhatIsInTheWay(t *testing.T) {
	b := newBench(t, "nobody")
	parrot := schema.GroupVersionKind{Group: "objects.example.com", Version: "v1", Kind: "Parrot"}
	faults := map[Fault]ObjectRef{
		NoSuchKind:    b.ref(parrot, "p"),
		NotNamespaced: b.ref(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "n"),
		Forbidden:     b.ref(configMapKind, "m"),
	}
	for want, ref := range faults {
		b.objects.Need(fmt.Sprint(want), ref)
	}
	for want, ref := range faults {
		b.eventually(fmt.Sprintf("%s has fault %d", ref, want), func() string {
			_, err := b.objects.Get(ref)
			var fault *KindError
			if errors.As(err, &fault) && fault.Fault == want && b.told(fmt.Sprint(want)) == 1 {
				return ""
			}
			return fmt.Sprintf("%v, told %d times", err, b.told(fmt.Sprint(want)))
		})
	}
	b.create(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: parrots.objects.example.com}
spec:
  group: objects.example.com
  names: {kind: Parrot, plural: parrots}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]`)
	b.eventually("the kind is found", func() string {
		b.objects.Look(parrot.Group)
		_, err := b.objects.Get(faults[NoSuchKind])
		var fault *KindError
		if errors.As(err, &fault) && fault.Fault == Forbidden {
			return "" // found, and nobody may read it
		}
		return fmt.Sprint(err)
	})
}

// TestFailuresInARow: what fails again and again is tried ever more slowly, up to a bound; after a success it begins anew.
func TestFailuresInARow(t *testing.T) {
	var row failures
	for i, step := range []struct {
		success bool
		count   int
		wait    time.Duration
	}{
		{false, 1, firstRetry}, {false, 2, 2 * firstRetry}, {false, 3, 4 * firstRetry}, {true, 1, firstRetry}, {false, 2, 2 * firstRetry},
	} {
		if count, wait := row.another(step.success); count != step.count || wait != step.wait {
			t.Errorf("step %d: %d in a row, wait %s", i, count, wait)
		}
	}
	for range 100 {
		if _, wait := row.another(false); wait > lastRetry {
			t.Fatalf("wait %s", wait)
		}
	}
	if _, wait := row.another(false); wait != lastRetry {
		t.Errorf("wait %s in the end", wait)
	}
}

// TestServedKindsAsksOnce: many objects of one kind cost one question, until it is known that the answer changed.
func TestServedKindsAsksOnce(t *testing.T) {
	asked := 0
	s := newServedKinds(lister(func(string) error { asked++; return nil }))
	for range 3 {
		if _, err := s.ServerResourcesForGroupVersion("apps/v1"); err != nil {
			t.Fatal(err)
		}
	}
	s.forget("batch")
	_, _ = s.ServerResourcesForGroupVersion("apps/v1")
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	s.forget("apps")
	_, _ = s.ServerResourcesForGroupVersion("apps/v1")
	if asked != 2 {
		t.Errorf("asked %d times after the answer changed", asked)
	}
	s.lists["apps/v1"] = servedList{at: time.Now().Add(-2 * servedFor)}
	_, _ = s.ServerResourcesForGroupVersion("apps/v1")
	if asked != 3 {
		t.Errorf("asked %d times after a while", asked)
	}
}

// TestServedKindsAsksOnceForWhatIsMissing: many objects of a kind that is not there cost one question now and then, and none
// once it is known that the answer changed.
func TestServedKindsAsksOnceForWhatIsMissing(t *testing.T) {
	asked, missing := 0, true
	s := newServedKinds(lister(func(string) error {
		asked++
		if missing {
			return apierrors.NewNotFound(schema.GroupResource{}, "x")
		}
		return nil
	}))
	ask := func(want int, wantErr bool) {
		t.Helper()
		_, err := s.ServerResourcesForGroupVersion("olm.example.com/v1")
		if asked != want || apierrors.IsNotFound(err) != wantErr {
			t.Errorf("asked %d times, want %d; the error is %v", asked, want, err)
		}
	}
	ask(1, true)
	s.doubt("olm.example.com")
	ask(1, true)
	s.lists["olm.example.com/v1"] = servedList{err: s.lists["olm.example.com/v1"].err, at: time.Now().Add(-missingFor)}
	ask(2, true)
	missing = false
	ask(2, true)
	s.forget("olm.example.com")
	ask(3, false)
	s.doubt("olm.example.com")
	ask(3, false)
	s.lists["olm.example.com/v1"] = servedList{at: time.Now().Add(-missingFor)}
	s.doubt("olm.example.com") // the kind is not among those of the group
	ask(4, false)
}

// lister answers each question with an empty list, or an error.
type lister func(groupVersion string) error

func (l lister) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	return &metav1.APIResourceList{GroupVersion: groupVersion}, l(groupVersion)
}
