package projection_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/projection"
)

func must(t *rapid.T, w projection.Workload, err error) projection.Workload {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func same(t *rapid.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// settled projects what fits and gives the bindings that did.
func settled(t *rapid.T, w projection.Workload, m *projection.Mapping, bs []projection.Binding,
) (projection.Workload, []projection.Binding) {
	t.Helper()
	after, refusals, err := projection.Settle(w, m, bs, nil)
	must(t, after, err)
	refused := map[string]bool{}
	for _, r := range refusals {
		refused[r.UID] = true
	}
	var fitting []projection.Binding
	for _, b := range bs {
		if !refused[b.UID] {
			fitting = append(fitting, b)
		}
	}
	return after, fitting
}

// lawRestore: after any steps of projecting and removing, removing all gives the workload as it was.
func lawRestore(t *rapid.T) {
	k := rapid.SampledFrom(kinds()).Draw(t, "kind")
	w := drawWorkload(t, k, true)
	before := copied(w)
	m := k.mapping(t)
	now := w
	bs := drawBindings(t)
	for range rapid.IntRange(1, 5).Draw(t, "steps") {
		given := copied(now)
		some := rapid.SliceOfNDistinct(rapid.IntRange(0, len(bs)-1), 0, len(bs), rapid.ID[int]).Draw(t, "some")
		var want []projection.Binding
		for _, i := range some {
			if rapid.Bool().Draw(t, "changed") {
				bs[i] = drawBinding(t, i)
			}
			want = append(want, bs[i])
		}
		var drop []string
		if rapid.Bool().Draw(t, "drop") {
			drop = []string{rapid.SampledFrom(uidsOf(bs)).Draw(t, "dropped")}
		}
		mapping := m
		switch rapid.IntRange(0, 5).Draw(t, "other mapping") {
		case 0:
			mapping = projection.Default()
		case 1, 2:
			mapping = k.variant(t)
		}
		after, _, err := projection.Settle(now, mapping, want, drop)
		must(t, after, err)
		same(t, "the input", given, now)
		now = after
	}
	restored := must(t, now, nil)
	for _, uid := range rapid.Permutation(projection.Projected(now)).Draw(t, "order") {
		next, err := projection.Unproject(restored, uid)
		restored = must(t, next, err)
	}
	same(t, "restored one by one", before, restored)
	atOnce, err := projection.Unproject(now, uidsOf(bs)...)
	same(t, "restored at once", before, must(t, atOnce, err))
}

// lawStable: projecting again, in any order, at once or one by one, gives the same; and so it does with a record lost.
func lawStable(t *rapid.T) {
	k := rapid.SampledFrom(kinds()).Draw(t, "kind")
	identical := rapid.Bool().Draw(t, "identical")
	w := drawWorkload(t, k, identical)
	m := k.mapping(t)
	after, fitting := settled(t, w, m, drawBindings(t))
	together, err := projection.Project(w, m, fitting)
	same(t, "projecting what fits", after, must(t, together, err))
	again, err := projection.Project(after, m, fitting)
	same(t, "projecting again", after, must(t, again, err))

	order := rapid.Permutation(fitting).Draw(t, "order")
	permuted, err := projection.Project(w, m, order)
	same(t, "projecting in another order", after, must(t, permuted, err))
	single := w
	for _, b := range order {
		single, err = projection.Project(single, m, []projection.Binding{b})
		must(t, single, err)
	}
	same(t, "projecting one by one", asJSON(after), asJSON(single))

	if annotations, ok := after["metadata"].(map[string]any)["annotations"].(map[string]any); ok && len(fitting) > 0 && !identical {
		delete(annotations, "bowline.dev/projection")
		unrecorded, err := projection.Project(after, m, order)
		same(t, "projecting without a record", after, must(t, unrecorded, err))
	}
}

// lawSettle: settling twice is settling once, and refused bindings leave nothing behind.
func lawSettle(t *rapid.T) {
	k := rapid.SampledFrom(kinds()).Draw(t, "kind")
	w := drawWorkload(t, k, false)
	m := k.mapping(t)
	bs := drawBindings(t)
	for i := range bs {
		bs[i].Name = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "name")
	}
	now := w
	for range 2 {
		if rapid.IntRange(0, 3).Draw(t, "other mapping") == 0 {
			m = k.variant(t)
		}
		after, refusals, err := projection.Settle(now, m, bs, nil)
		must(t, after, err)
		again, repeated, err := projection.Settle(after, m, bs, nil)
		same(t, "settling again", after, must(t, again, err))
		same(t, "refusals", uidsOfRefusals(refusals), uidsOfRefusals(repeated))
		projected := projection.Projected(after)
		if len(projected)+len(refusals) != len(bs) {
			t.Fatalf("%d bindings, %d refused, projected %v", len(bs), len(refusals), projected)
		}
		now = after
		bs = rapid.Permutation(bs).Draw(t, "order")
		for i := range bs {
			if rapid.Bool().Draw(t, "renamed") {
				bs[i].Name = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "name")
			}
		}
	}
	restored, err := projection.Unproject(now, uidsOf(bs)...)
	same(t, "restored", w, must(t, restored, err))
}

func uidsOfRefusals(refusals []*projection.Refusal) map[string]string {
	found := map[string]string{}
	for _, r := range refusals {
		found[r.UID] = r.Reason
	}
	return found
}

// lawPatch: the patch makes the one into the other, and the patch of trimmed workloads is the patch of whole ones.
func lawPatch(t *rapid.T) {
	k := rapid.SampledFrom(kinds()).Draw(t, "kind")
	w := drawWorkload(t, k, true)
	m := k.mapping(t)
	bs := drawBindings(t)
	now, _ := settled(t, w, m, bs)
	if rapid.IntRange(0, 3).Draw(t, "other mapping") == 0 {
		now, _ = settled(t, now, k.variant(t), bs[:rapid.IntRange(0, len(bs)).Draw(t, "with it")])
	}
	if rapid.Bool().Draw(t, "edited") {
		world{k: k, plain: copied(w), bound: now}.edit(t)
	}
	for i := range bs {
		if rapid.Bool().Draw(t, "changed") {
			bs[i] = drawBinding(t, i)
		}
	}
	drop := rapid.SliceOfN(rapid.SampledFrom(uidsOf(bs)), 0, 2).Draw(t, "drop")
	want := bs[rapid.IntRange(0, len(bs)).Draw(t, "from"):]
	for _, from := range []projection.Workload{w, now} {
		after, refusals, err := projection.Settle(from, m, want, drop)
		must(t, after, err)
		patch := projection.Diff(from, after)
		got, err := patched(from, patch)
		if err != nil {
			t.Fatalf("%v\n%s", err, asJSON(patch))
		}
		same(t, "patched", any(after), got)

		trimmed := projection.Trim(from, m)
		same(t, "trimming again", trimmed, projection.Trim(trimmed, m))
		same(t, "projected", projection.Projected(from), projection.Projected(trimmed))
		small, fewer, err := projection.Settle(trimmed, m, want, drop)
		must(t, small, err)
		same(t, "refusals", refusals, fewer)
		same(t, "patch of trimmed workloads", asJSON(patch), asJSON(projection.Diff(trimmed, small)))
	}
}

// lawDiff: any two trees.
func lawDiff(t *rapid.T) {
	before, after := drawTree(t, 3), drawTree(t, 3)
	got, err := patched(before, projection.Diff(before, after))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "patched", after, got)
	if patch := projection.Diff(after, deepCopy(after)); len(patch) > 0 {
		t.Fatalf("equal trees differ: %v", patch)
	}
}

func drawTree(t *rapid.T, depth int) any {
	leaf := rapid.SampledFrom([]any{nil, "a", "b", int64(1), 1.5, true})
	choice := rapid.IntRange(0, 4).Draw(t, "type")
	switch {
	case depth == 0 || choice == 0:
		return leaf.Draw(t, "leaf")
	case choice < 3:
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			list = append(list, drawTree(t, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"name", "a/b", "c~d", ""}), 0, 3).Draw(t, "keys") {
			object[key] = drawTree(t, depth-1)
		}
		return object
	}
}

func TestLaws(t *testing.T) {
	t.Parallel()
	laws := map[string]func(*rapid.T){
		"restore": lawRestore, "stable": lawStable, "settle": lawSettle, "patch": lawPatch, "diff": lawDiff, "edits": lawEdits,
	}
	for name, law := range laws {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, law)
		})
	}
}

func FuzzRestore(f *testing.F) { f.Fuzz(rapid.MakeFuzz(lawRestore)) }
func FuzzStable(f *testing.F)  { f.Fuzz(rapid.MakeFuzz(lawStable)) }
func FuzzPatch(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(lawPatch)) }
func FuzzEdits(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(lawEdits)) }
