package projection_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/projection"
)

// world is one workload twice: as people wrote it, and with bindings. An edit is made to both.
type world struct {
	k            kind
	plain, bound projection.Workload
}

// lawEdits: whatever people change between projections, they find again afterwards, in their order. Empty and missing
// lists are the same to the API server, and here.
func lawEdits(t *rapid.T) {
	k := rapid.SampledFrom(kinds()).Draw(t, "kind")
	w := drawWorkload(t, k, false)
	m := k.mapping(t)
	bs := drawBindings(t)
	bound, _ := settled(t, w, m, bs)
	at := world{k: k, plain: copied(w), bound: bound}
	for range rapid.IntRange(1, 6).Draw(t, "edits") {
		at.edit(t)
		if rapid.Bool().Draw(t, "settle") {
			at.bound, _ = settled(t, at.bound, m, bs)
		}
		if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
			uid := rapid.SampledFrom(uidsOf(bs)).Draw(t, "removed")
			next, err := projection.Unproject(at.bound, uid)
			at.bound = must(t, next, err)
		}
	}
	restored, err := projection.Unproject(at.bound, uidsOf(bs)...)
	same(t, "what people find", normal(at.plain), normal(must(t, restored, err)))
}

// normal leaves out what is empty.
func normal(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, below := range v {
			if n := normal(below); n != nil {
				kept[key] = n
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	case []any:
		kept := make([]any, 0, len(v))
		for _, below := range v {
			kept = append(kept, normal(below))
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	default:
		return v
	}
}

func (a world) edit(t *rapid.T) {
	plain, bound := a.containers(a.plain), a.containers(a.bound)
	if len(plain) != len(bound) {
		t.Fatalf("%d containers became %d", len(plain), len(bound))
	}
	edit := rapid.SampledFrom([]string{
		"add volume", "annotate", "add variable", "remove variable", "move variable", "add mount", "rename",
		"swap", "remove container", "add container", "own variable",
	}).Draw(t, "edit")
	n := rapid.IntRange(0, 1000).Draw(t, "n")
	switch edit {
	case "add volume":
		a.both(func(w projection.Workload) {
			add(w, a.k.volumes, map[string]any{"name": fmt.Sprintf("added-%d", n), "emptyDir": map[string]any{}})
		})
	case "annotate":
		a.both(func(w projection.Workload) {
			annotations, _ := get(w, a.k.annotations).(map[string]any)
			annotations = maps.Clone(annotations)
			if annotations == nil {
				annotations = map[string]any{}
			}
			annotations[fmt.Sprintf("added-%d", n)] = "yes"
			put(w, a.k.annotations, annotations)
		})
	case "swap", "remove container", "add container":
		a.editContainers(edit, n)
	default:
		if len(plain) == 0 {
			return
		}
		i := n % len(plain)
		a.editContainer(t, edit, [2]map[string]any{plain[i], bound[i]})
	}
}

func (a world) both(change func(projection.Workload)) {
	change(a.plain)
	change(a.bound)
}

func get(root map[string]any, steps []string) any {
	for _, step := range steps[:len(steps)-1] {
		below, ok := root[step].(map[string]any)
		if !ok {
			return nil
		}
		root = below
	}
	return root[steps[len(steps)-1]]
}

func add(root map[string]any, steps []string, item any) {
	items, _ := get(root, steps).([]any)
	put(root, steps, append(slices.Clone(items), deepCopy(item)))
}

// containers of all lists, in one order for both workloads.
func (a world) containers(w projection.Workload) []map[string]any {
	var found []map[string]any
	for _, steps := range a.k.lists {
		switch value := get(w, steps).(type) {
		case []any:
			for _, item := range value {
				found = append(found, item.(map[string]any))
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				found = append(found, value[key].(map[string]any))
			}
		}
	}
	return found
}

func (a world) editContainers(edit string, n int) {
	if a.k.asObject {
		return
	}
	steps := a.k.lists[n%len(a.k.lists)]
	a.both(func(w projection.Workload) {
		items, _ := get(w, steps).([]any)
		items = slices.Clone(items)
		switch {
		case edit == "add container":
			c := map[string]any{"image": "new"}
			put(c, a.k.name, fmt.Sprintf("new-%d", n))
			items = append(items, c)
		case len(items) < 2:
			return
		case edit == "swap":
			items[0], items[1] = items[1], items[0]
		default:
			items = slices.Delete(items, n%len(items), n%len(items)+1)
		}
		put(w, steps, items)
	})
}

func (a world) editContainer(t *rapid.T, edit string, c [2]map[string]any) {
	k := a.k
	n := rapid.IntRange(0, 1000).Draw(t, "m")
	switch edit {
	case "add variable":
		for _, side := range c {
			add(side, k.env, map[string]any{"name": fmt.Sprintf("P_%d", n), "value": "x"})
		}
	case "add mount":
		for _, side := range c {
			add(side, k.mounts, map[string]any{"name": fmt.Sprintf("m-%d", n), "mountPath": fmt.Sprintf("/m/%d", n)})
		}
	case "rename":
		rename(k, c, fmt.Sprintf("renamed-%d", n))
	case "remove variable", "move variable":
		for _, side := range c {
			moveVariable(side, k.env, edit == "remove variable")
		}
	case "own variable":
		ownVariable(k, c)
	}
}

func rename(k kind, c [2]map[string]any, name string) {
	if k.name == nil {
		return
	}
	for _, side := range c {
		put(side, k.name, name)
	}
}

// moveVariable takes the first variable of a person's and removes it or puts it last.
func moveVariable(c map[string]any, steps []string, remove bool) {
	items, _ := get(c, steps).([]any)
	i := slices.IndexFunc(items, func(item any) bool { return strings.HasPrefix(named(item), "P_") })
	if i < 0 {
		return
	}
	item := items[i]
	items = slices.Delete(slices.Clone(items), i, i+1)
	if !remove {
		items = append(items, item)
	}
	put(c, steps, items)
}

// ownVariable gives a literal to the first variable that a binding made, if no person's variable comes after it.
func ownVariable(k kind, c [2]map[string]any) {
	items, _ := get(c[1], k.env).([]any)
	last := -1
	for i, item := range items {
		if entry, ok := item.(map[string]any); ok && entry["valueFrom"] == nil || named(item) == "P_SECRET" {
			last = i
		}
	}
	if last+1 >= len(items) {
		return
	}
	own := map[string]any{"name": named(items[last+1]), "value": "own"}
	items = slices.Clone(items)
	items[last+1] = own
	put(c[1], k.env, items)
	add(c[0], k.env, own)
}

func named(item any) string {
	entry, _ := item.(map[string]any)
	name, _ := entry["name"].(string)
	return name
}
