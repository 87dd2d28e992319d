package produce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// desk is a keeper at work, in a namespace of its own.
type desk struct {
	t       *testing.T
	admin   kubernetes.Interface
	ns      string
	wire    *wire
	keeper  *Keeper
	stop    func()
	follows atomic.Bool // another replica leads
	mu      sync.Mutex
	told    []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, admin: client, ns: namespaceOf(t, client)}
	d.start()
	return d
}

// start starts a keeper that knows nothing yet, and returns once it knows all.
func (d *desk) start() {
	d.t.Helper()
	config := rest.CopyConfig(admin)
	config.QPS = -1
	d.wire = &wire{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		d.wire.next = next
		return d.wire
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		d.t.Fatal(err)
	}
	d.keeper, err = NewKeeper(client, func() bool { return !d.follows.Load() })
	if err != nil {
		d.t.Fatal(err)
	}
	d.keeper.Tell(ForService, func(namespace string, owner metav1.OwnerReference) {
		if namespace == d.ns {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.told = append(d.told, owner.Name)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.keeper.Start(ctx) })
	d.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	d.t.Cleanup(d.stop)
	d.synced()
}

func (d *desk) synced() {
	d.t.Helper()
	eventually(d.t, "the keeper knows all", func() string {
		if !d.keeper.Synced() {
			return "it does not"
		}
		return ""
	})
}

func (d *desk) secrets() typedcorev1.SecretInterface {
	return d.admin.CoreV1().Secrets(d.ns)
}

// wanted is a Secret named db for a service of that name, with a password.
func (d *desk) wanted(password string) Wanted {
	return Wanted{
		NamespacedName: types.NamespacedName{Namespace: d.ns, Name: "db"}, Purpose: ForService, Type: "servicebinding.io/x",
		Owner: owner("example.com/v1", "Database", "db", "uid-db"),
		Data:  map[string][]byte{"type": []byte("x"), "password": []byte(password)},
	}
}

func (d *desk) ensure(w Wanted) {
	d.t.Helper()
	if err := d.keeper.Ensure(d.t.Context(), w); err != nil {
		d.t.Fatalf("making Secret %s: %v", w.Name, err)
	}
}

// holds sees that the Secret is as wanted.
func (d *desk) holds(w Wanted) *corev1.Secret {
	d.t.Helper()
	got, err := d.secrets().Get(d.t.Context(), w.Name, metav1.GetOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	if diff := cmp.Diff(w.Data, got.Data); diff != "" || string(got.Type) != w.Type {
		d.t.Errorf("the Secret is of type %s (-want +got):\n%s", got.Type, diff)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{w.Owner}, got.OwnerReferences); diff != "" {
		d.t.Errorf("the Secret's owners (-want +got):\n%s", diff)
	}
	if got.Labels[MadeForLabel] != string(w.Purpose) {
		d.t.Errorf("the Secret's labels are %v", got.Labels)
	}
	return got
}

// wrote sees which writes were made since the last time.
func (d *desk) wrote(want, reason string) {
	d.t.Helper()
	if got := d.wire.taken(); got != want {
		d.t.Errorf("%s: the writes are %q, want %q", reason, got, want)
	}
}

// sees waits until the keeper's memory holds the resource version of a Secret; "" for no such Secret.
func (d *desk) sees(resourceVersion string) {
	d.t.Helper()
	eventually(d.t, "the keeper sees version "+resourceVersion, func() string {
		got := ""
		if secret, ok := d.keeper.cached(d.wanted("").NamespacedName); ok {
			got = secret.ResourceVersion
		}
		if got != resourceVersion {
			return "it sees " + got
		}
		return ""
	})
}

func TestKeeperWritesOnlyWhatDiffers(t *testing.T) {
	d := newDesk(t)
	w := d.wanted("one")
	d.ensure(w)
	d.ensure(w)
	d.wrote("POST", "a Secret that is not there")
	d.sees(d.holds(w).ResourceVersion)
	d.ensure(w)
	d.wrote("", "a Secret that is as it is wanted")

	w = d.wanted("two")
	d.ensure(w)
	d.ensure(w)
	d.wrote("PATCH", "one entry is another")
	d.sees(d.holds(w).ResourceVersion)
	d.ensure(w)
	d.wrote("", "the change came back")

	d.stop()
	d.start()
	d.ensure(w)
	d.wrote("", "a keeper that has just begun")
	if !d.keeper.Has(w.NamespacedName, w.Owner.UID) || d.keeper.Has(w.NamespacedName, "another") {
		t.Error("the keeper does not know whose Secret it is")
	}
	if err := d.keeper.Remove(t.Context(), w.NamespacedName, ForBinding); err != nil {
		t.Fatal(err)
	}
	d.wrote("", "removing what was made for something else")
	if err := d.keeper.Remove(t.Context(), w.NamespacedName, ForService); err != nil {
		t.Fatal(err)
	}
	d.wrote("DELETE", "removing what was made")
}

// TestKeeperSaysWhatASecretWasMadeFrom, beside annotations of others.
func TestKeeperSaysWhatASecretWasMadeFrom(t *testing.T) {
	for _, foreign := range []map[string]string{nil, {"example.com/note": "kept"}} {
		d := newDesk(t)
		w := d.wanted("one")
		d.ensure(w)
		secret := d.holds(w)
		secret.Annotations = foreign
		if _, err := d.secrets().Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		d.sees(d.holds(w).ResourceVersion)
		for _, from := range []string{"Secret/a", "ConfigMap/b Secret/a"} {
			w.From = from
			d.ensure(w)
			d.ensure(w)
			want := maps.Clone(foreign)
			if want == nil {
				want = map[string]string{}
			}
			want[MadeFromAnnotation] = from
			if diff := cmp.Diff(want, d.holds(w).Annotations); diff != "" || d.keeper.From(w.NamespacedName) != from {
				t.Errorf("known is %q; the annotations (-want +got):\n%s", d.keeper.From(w.NamespacedName), diff)
			}
		}
		d.wrote("POST PATCH PATCH", "it is made from something else, twice")
		d.sees(d.holds(w).ResourceVersion)
		if d.keeper.From(w.NamespacedName) != w.From {
			t.Errorf("what came back says %q", d.keeper.From(w.NamespacedName))
		}
		d.ensure(w)
		d.wrote("", "the change came back")
	}
}

// TestKeeperChangesTheType: the API server lets no Secret change its type, so it is made anew.
func TestKeeperChangesTheType(t *testing.T) {
	d := newDesk(t)
	w := d.wanted("one")
	d.ensure(w)
	d.sees(d.holds(w).ResourceVersion)
	d.wrote("POST", "a Secret that is not there")
	w.Type = "servicebinding.io/y"
	d.ensure(w)
	d.ensure(w)
	d.wrote("DELETE POST", "the type is another")
	d.sees(d.holds(w).ResourceVersion)
	d.ensure(w)
	d.wrote("", "the change came back")

	w = d.wanted("two")
	d.ensure(w)
	w.Type = "servicebinding.io/z"
	d.ensure(w)
	d.wrote("DELETE POST DELETE POST", "two changes at once, of which nothing came back")
	d.holds(w)
}

func TestKeeperRepairs(t *testing.T) {
	for _, test := range []struct {
		reason string
		tamper func(*corev1.Secret)
	}{
		{"an entry was changed", func(s *corev1.Secret) { s.Data["password"] = []byte("foreign") }},
		{"an entry was added", func(s *corev1.Secret) { s.Data["more"] = []byte("foreign") }},
		{"an entry was taken away", func(s *corev1.Secret) { delete(s.Data, "password") }},
		{"all was taken away", func(s *corev1.Secret) { s.Data = nil }},
		{"an entry was changed, and nobody may change it any more", func(s *corev1.Secret) {
			s.Data["password"], s.Immutable = []byte("foreign"), new(true)
		}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			d := newDesk(t)
			w := d.wanted("one")
			d.ensure(w)
			secret := d.holds(w)
			test.tamper(secret)
			secret, err := d.secrets().Update(t.Context(), secret, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			d.sees(secret.ResourceVersion)
			d.ensure(w)
			d.holds(w)
			eventually(t, "somebody is told", func() string {
				d.mu.Lock()
				defer d.mu.Unlock()
				if !slices.Contains(d.told, "db") {
					return "nobody is"
				}
				return ""
			})
		})
	}
}

// TestKeeperMakesAgainWhatWasDeleted, also when the deletion comes back together with the creation.
func TestKeeperMakesAgainWhatWasDeleted(t *testing.T) {
	d := newDesk(t)
	w := d.wanted("one")
	for range 2 {
		d.made(w)
		d.wrote("POST", "a Secret that is not there")
		d.sees(d.holds(w).ResourceVersion) // and nobody asks the keeper in between
		if err := d.secrets().Delete(t.Context(), w.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		d.sees("")
	}
	d.made(w)
	d.holds(w)
}

// made waits until a Secret is made that is not there. Whoever wants it is told of its end a moment after that.
func (d *desk) made(w Wanted) {
	d.t.Helper()
	eventually(d.t, "it is made", func() string {
		d.ensure(w)
		if _, err := d.secrets().Get(d.t.Context(), w.Name, metav1.GetOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
}

// TestKeeperMakesAgainWhatItNeverSaw: the Secret is gone before the keeper, whose watch was interrupted, sees it.
func TestKeeperMakesAgainWhatItNeverSaw(t *testing.T) {
	d := newDesk(t)
	w := d.wanted("one")
	d.wire.hold()
	d.ensure(w)
	if err := d.secrets().Delete(t.Context(), w.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	d.wire.release()
	d.made(w)
	d.holds(w)
}

func TestKeeperAdoptsNothing(t *testing.T) {
	label := map[string]string{MadeForLabel: string(ForService)}
	for _, test := range []struct {
		reason string
		meta   metav1.ObjectMeta
	}{
		{"a Secret of a person", metav1.ObjectMeta{}},
		{"a Secret with our label and no owner", metav1.ObjectMeta{Labels: label}},
		{"a Secret with our label and another owner", metav1.ObjectMeta{
			Labels: label, OwnerReferences: []metav1.OwnerReference{owner("example.com/v1", "Database", "other", "uid-other")},
		}},
		{"a Secret with our owner and no label", metav1.ObjectMeta{
			OwnerReferences: []metav1.OwnerReference{owner("example.com/v1", "Database", "db", "uid-db")},
		}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			test.meta.Name = "db"
			foreign := &corev1.Secret{ObjectMeta: test.meta, Data: map[string][]byte{"password": []byte("theirs")}}
			t.Run("not known beforehand", func(t *testing.T) { newDesk(t).leavesAlone(foreign, false) })
			t.Run("known beforehand", func(t *testing.T) { newDesk(t).leavesAlone(foreign, true) })
		})
	}
}

// leavesAlone sees that a Secret stays as it is, whether or not the keeper began when it was there.
func (d *desk) leavesAlone(foreign *corev1.Secret, known bool) {
	d.t.Helper()
	foreign, err := d.secrets().Create(d.t.Context(), foreign, metav1.CreateOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	if known {
		d.stop()
		d.start()
	}
	w := d.wanted("one")
	for range 2 {
		err := d.keeper.Ensure(d.t.Context(), w)
		if taken, is := errors.AsType[*TakenError](err); !is || taken.Name != w.Name {
			d.t.Errorf("the error is %v", err)
		}
	}
	got, err := d.secrets().Get(d.t.Context(), w.Name, metav1.GetOptions{})
	if err != nil || got.ResourceVersion != foreign.ResourceVersion {
		d.t.Errorf("the foreign Secret was touched: %v", err)
	}
	if d.keeper.Has(w.NamespacedName, w.Owner.UID) {
		d.t.Error("the foreign Secret is taken for ours")
	}
}

// TestKeeperFollowsTheOwner: what was made for an owner that was made again is made again.
func TestKeeperFollowsTheOwner(t *testing.T) {
	d := newDesk(t)
	w := d.wanted("one")
	d.ensure(w)
	d.sees(d.holds(w).ResourceVersion)
	w.Owner.UID = "uid-of-the-next"
	d.ensure(w)
	d.holds(w)
	d.wrote("POST DELETE POST", "the owner is another of the same name")
}

// TestKeeperTakesUpWhatWasMadeElsewhere: what another replica made a moment ago is no foreign Secret.
func TestKeeperTakesUpWhatWasMadeElsewhere(t *testing.T) {
	d := newDesk(t)
	d.stop() // it sees nothing any more
	other := &desk{t: t, admin: d.admin, ns: d.ns}
	other.start()
	w := d.wanted("one")
	other.ensure(w)
	d.ensure(w)
	d.wrote("POST", "it is as it is wanted")
	w = d.wanted("two")
	d.ensure(w)
	d.holds(w)
}

// TestKeeperKeepsNoValue looks for a value in all that the keeper keeps.
func TestKeeperKeepsNoValue(t *testing.T) {
	d := newDesk(t)
	const value = "swordfish-canary"
	w := d.wanted(value)
	d.ensure(w)
	d.sees(d.holds(w).ResourceVersion)
	d.stop()
	w = d.wanted(value + "2")
	d.ensure(w) // and it does not come back
	looked := false
	for _, item := range d.keeper.informer.GetStore().List() {
		text, err := item.(*corev1.Secret).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		looked = true
		if bytes.Contains(text, []byte(value)) {
			t.Errorf("the memory holds the value: %v", item)
		}
	}
	if !looked {
		t.Error("there was nothing to look at")
	}
	for _, last := range d.keeper.written {
		if text := fmt.Sprintf("%+v", *last); strings.Contains(text, value) {
			t.Errorf("the memory of writes holds the value: %s", text)
		}
	}
	if len(d.keeper.written) == 0 {
		t.Error("there is no memory of writes to look at")
	}
}

func TestKeeperFollowerWritesNothing(t *testing.T) {
	d := newDesk(t)
	w := d.wanted("one")
	d.follows.Store(true)
	if err := d.keeper.Ensure(t.Context(), w); !errors.Is(err, ErrNotLeading) {
		t.Errorf("creating is answered with %v", err)
	}
	d.follows.Store(false)
	d.ensure(w)
	d.wrote("POST", "it leads")
	d.follows.Store(true)
	d.ensure(w)
	if err := d.keeper.Ensure(t.Context(), d.wanted("two")); !errors.Is(err, ErrNotLeading) {
		t.Errorf("changing is answered with %v", err)
	}
	d.sees(d.holds(w).ResourceVersion)
	if err := d.keeper.Remove(t.Context(), w.NamespacedName, ForService); !errors.Is(err, ErrNotLeading) {
		t.Errorf("removing is answered with %v", err)
	}
	d.wrote("", "another replica leads")
}

// TestKeeperRemovesOthers: of all that was made for one owner, one is kept; what was made for others is not touched. Nobody
// collects garbage here.
func TestKeeperRemovesOthers(t *testing.T) {
	d := newDesk(t)
	has := func(name, owned string, purpose Purpose) {
		w := d.wanted("one")
		w.Name, w.Owner.Name, w.Purpose = name, owned, purpose
		d.ensure(w)
	}
	has("a", "db", ForSynthetic)
	has("b", "db", ForSynthetic)
	has("c", "other", ForSynthetic)
	has("d", "db", ForService)
	d.stop()
	d.start()
	owned := types.NamespacedName{Namespace: d.ns, Name: "db"}
	for _, step := range []struct{ keep, left string }{{"b", "[b c d]"}, {"b", "[b c d]"}, {"", "[c d]"}} {
		eventually(t, "what is left is "+step.left, func() string {
			if err := d.keeper.RemoveOthers(t.Context(), ForSynthetic, owned, step.keep); err != nil {
				return err.Error()
			}
			list, err := d.secrets().List(t.Context(), metav1.ListOptions{})
			if err != nil {
				return err.Error()
			}
			var names []string
			for i := range list.Items {
				names = append(names, list.Items[i].Name)
			}
			if fmt.Sprint(names) != step.left {
				return fmt.Sprint(names)
			}
			return ""
		})
	}
	d.follows.Store(true)
	owned.Name = "other"
	if err := d.keeper.RemoveOthers(t.Context(), ForSynthetic, owned, ""); !errors.Is(err, ErrNotLeading) {
		t.Errorf("a follower answers with %v", err)
	}
}

// TestRefusalsHoldNoValue: what the API server says is left out where it repeats what is in the Secret.
func TestRefusalsHoldNoValue(t *testing.T) {
	w := Wanted{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "db"}, Data: map[string][]byte{"password": []byte("swordfish")}}
	for said, shown := range map[string]bool{
		"exceeded quota: small":                    true,
		"the policy found swordfish in it":         false,
		"the policy found c3dvcmRmaXNo in it, too": false,
	} {
		err := refusedWrite(w, apierrors.NewForbidden(corev1.Resource("secrets"), "db", errors.New(said)))
		if strings.Contains(err.Error(), said) != shown || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "Forbidden") && !shown {
			t.Errorf("of %q is said: %v", said, err)
		}
	}
}

// TestKeeperRemovesInTheEnd: a removal that was answered badly is one that has to be tried again.
func TestKeeperRemovesInTheEnd(t *testing.T) {
	for _, code := range []int{http.StatusConflict, http.StatusInternalServerError, http.StatusForbidden, lost} {
		d := newDesk(t)
		w := d.wanted("one")
		d.ensure(w)
		d.sees(d.holds(w).ResourceVersion)
		d.wire.answer(code)
		if err := d.keeper.Remove(t.Context(), w.NamespacedName, ForService); err == nil {
			t.Errorf("a removal that was answered with %d is taken to be one", code)
		}
		eventually(t, "it is removed", func() string {
			if err := d.keeper.Remove(t.Context(), w.NamespacedName, ForService); err != nil {
				return err.Error()
			}
			if _, err := d.secrets().Get(t.Context(), w.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Sprint(err)
			}
			return ""
		})
	}
}

// TestKeeperFaults has each kind of write be answered badly once, and tried again.
func TestKeeperFaults(t *testing.T) {
	writes := map[string]func(d *desk) Wanted{
		"creating": func(d *desk) Wanted { return d.wanted("one") },
		"changing": func(d *desk) Wanted {
			w := d.wanted("zero")
			d.ensure(w)
			d.sees(d.holds(w).ResourceVersion)
			return d.wanted("one")
		},
		"changing the type": func(d *desk) Wanted {
			w := d.wanted("zero")
			w.Type = "servicebinding.io/other"
			d.ensure(w)
			d.sees(d.holds(w).ResourceVersion)
			return d.wanted("one")
		},
	}
	for what, prepare := range writes {
		for _, codes := range [][]int{
			{http.StatusConflict}, {http.StatusInternalServerError}, {http.StatusGatewayTimeout}, {http.StatusForbidden},
			{lost}, {0, http.StatusInternalServerError}, {0, lost},
		} {
			t.Run(fmt.Sprintf("%s, answered with %v", what, codes), func(t *testing.T) {
				d := newDesk(t)
				w := prepare(d)
				d.wire.answer(codes...)
				var err error
				for range codes {
					if err = d.keeper.Ensure(t.Context(), w); err != nil {
						break
					}
				}
				if apierrors.IsForbidden(err) != (codes[0] == http.StatusForbidden) {
					t.Errorf("the error is %v", err)
				}
				d.wire.answer()
				eventually(t, "it is made", func() string {
					if err := d.keeper.Ensure(t.Context(), w); err != nil {
						return err.Error()
					}
					return ""
				})
				d.sees(d.holds(w).ResourceVersion)
				d.wire.taken()
				d.ensure(w)
				d.wrote("", "it is as it is wanted")
			})
		}
	}
}
