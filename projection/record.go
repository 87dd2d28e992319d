package projection

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// record is what a workload alone does not tell when a projection is to be removed. It is kept in an annotation of the
// workload, as compact JSON that is the same for the same content.
type record struct {
	// Bindings are those this record speaks of. What it says nothing of was projected by another runtime.
	Bindings []string `json:"bindings,omitempty"`
	// Containers has a note for each bound container, by a key that survives reordering.
	Containers map[string]noteRecord `json:"containers,omitempty"`
	gapsRecord
}

type noteRecord struct {
	// Root says that SERVICE_BINDING_ROOT was added here.
	Root bool `json:"root,omitempty"`
	// Env has, for each binding, the variables that were added here and where each came from: the key of the entry, or
	// the annotation of the pod, as @type.
	Env map[string]map[string]string `json:"env,omitempty"`
	gapsRecord
}

type gapsRecord struct {
	// Made are the JSON pointers of what was missing and had to be created.
	Made []string `json:"made,omitempty"`
	// Null are the JSON pointers of what was null before.
	Null []string `json:"null,omitempty"`
}

// gaps are the places that held nothing before a projection, by JSON pointer; true where they held null.
type gaps map[string]bool

func (r gapsRecord) gaps() gaps {
	g := gaps{}
	for _, pointer := range r.Made {
		g[pointer] = false
	}
	for _, pointer := range r.Null {
		g[pointer] = true
	}
	return g
}

func (g gaps) record() gapsRecord {
	var r gapsRecord
	for _, pointer := range slices.Sorted(maps.Keys(g)) {
		if g[pointer] {
			r.Null = append(r.Null, pointer)
		} else {
			r.Made = append(r.Made, pointer)
		}
	}
	return r
}

// note is a container's part of the record, while it is worked on.
type note struct {
	root bool
	env  map[string]map[string]string
	gaps gaps
}

func newNote() *note {
	return &note{env: map[string]map[string]string{}, gaps: gaps{}}
}

func (r noteRecord) note() *note {
	n := &note{root: r.Root, env: maps.Clone(r.Env), gaps: r.gaps()}
	if n.env == nil {
		n.env = map[string]map[string]string{}
	}
	return n
}

// record of the note, and whether there is anything in it.
func (n *note) record() (noteRecord, bool) {
	r := noteRecord{Root: n.root, Env: n.env, gapsRecord: n.gaps.record()}
	return r, r.Root || len(r.Env) > 0 || len(n.gaps) > 0
}

// decodeRecord reads the annotation. One that someone has spoiled counts as none: the projections are then treated
// like those of another runtime.
func decodeRecord(text string) record {
	var r record
	if json.Unmarshal([]byte(text), &r) != nil {
		return record{}
	}
	return r
}

// encode gives the text of the annotation; empty if there is nothing to say.
func (r record) encode() string {
	if len(r.Bindings) == 0 && len(r.Containers) == 0 && len(r.Made) == 0 && len(r.Null) == 0 {
		return ""
	}
	slices.Sort(r.Bindings)
	encoded, err := json.Marshal(r)
	if err != nil {
		panic("projection: encoding lists and maps of strings: " + err.Error())
	}
	return string(encoded)
}

// fill gives back what was there before to each gap that is empty again, and forgets those gaps that hold nothing of
// ours any more. The pointers in live are the places below root where something of ours is.
func (g gaps) fill(root map[string]any, live []string) {
	pointers := slices.SortedFunc(maps.Keys(g), func(a, b string) int {
		return len(jsonpath.Tokens(b)) - len(jsonpath.Tokens(a))
	})
	for _, pointer := range pointers {
		if slices.ContainsFunc(live, func(at string) bool { return at == pointer || isBelow(at, pointer) }) {
			continue
		}
		g.restore(root, pointer)
		delete(g, pointer)
	}
}

func (g gaps) restore(root map[string]any, pointer string) {
	tokens := jsonpath.Tokens(pointer)
	if len(tokens) == 0 {
		return
	}
	last := len(tokens) - 1
	for _, token := range tokens[:last] {
		below, ok := root[token].(map[string]any)
		if !ok {
			return
		}
		root = below
	}
	if value, ok := root[tokens[last]]; !ok || !isEmpty(value) {
		return
	}
	if g[pointer] {
		root[tokens[last]] = nil
		return
	}
	delete(root, tokens[last])
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

func isBelow(pointer, parent string) bool {
	return len(pointer) > len(parent) && pointer[:len(parent)] == parent && pointer[len(parent)] == '/'
}
