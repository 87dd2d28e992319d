package projection

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// record is what a workload alone does not tell when a projection is to be removed. It is kept in an annotation of the
// workload, as compact JSON that is the same for the same content.
type record struct {
	// Bindings are those this record speaks of. What it says nothing of was projected by another runtime.
	Bindings []string `json:"bindings,omitempty"`
	// Containers has a note for each bound container, by a key that survives reordering. Where a mapping does not use
	// the usual lists of a container, those that it uses follow after a bar; all keys that are the same up to there are
	// about one container.
	Containers map[string]noteRecord `json:"containers,omitempty"`
	gapsRecord
}

type noteRecord struct {
	// Root says that SERVICE_BINDING_ROOT was added here.
	Root bool `json:"root,omitempty"`
	// Env has, for each binding, the variables that were added here and where each came from: the key of the entry, or
	// the annotation of the pod, as @type.
	Env map[string]map[string]string `json:"env,omitempty"`
	// The gaps are those of the container, whatever list they lead to.
	gapsRecord
}

type gapsRecord struct {
	// Made are the JSON pointers of what was missing and had to be created.
	Made []string `json:"made,omitempty"`
	// Null are the JSON pointers of what was null before.
	Null []string `json:"null,omitempty"`
}

// note is all that a record says of one container.
type note struct {
	added map[string]added // by JSON pointer of the list of variables
	gaps  gaps
}

// added is what was put into one list of variables: SERVICE_BINDING_ROOT, and the variables of each binding with what
// each came from.
type added struct {
	root bool
	env  map[string]map[string]string
}

func (a added) none() bool {
	return !a.root && len(a.env) == 0
}

// size counts what was added.
func (a added) size() int {
	count := 0
	for _, names := range a.env {
		count += len(names)
	}
	if a.root {
		count++
	}
	return count
}

const (
	bar     = "|"
	usual   = "/env" // the list of variables that no suffix names
	escaped = "~2"   // a bar within a name; in JSON pointers "~" is followed by 0 or 1
)

func escape(pointer string) string {
	return strings.ReplaceAll(pointer, bar, escaped)
}

func unescape(pointer string) string {
	return strings.ReplaceAll(pointer, escaped, bar)
}

// suffix names the lists that a mapping uses of a container, unless they are the usual ones.
func (cm containerMapping) suffix() string {
	if cm.env.String() == defaultEnv && cm.mounts.String() == defaultVolumeMounts {
		return ""
	}
	return bar + escape(cm.env.Pointer()) + bar + escape(cm.mounts.Pointer())
}

// notes gathers what the record says of each container, by key without the suffix, but for what it says of bindings
// that have left no other mark.
func (r record) notes(known map[string]bool) map[string]*note {
	notes := make(map[string]*note, len(r.Containers))
	for _, full := range slices.Sorted(maps.Keys(r.Containers)) {
		recorded := r.Containers[full]
		key, suffix, _ := strings.Cut(full, bar)
		list := usual
		if suffix != "" {
			list, _, _ = strings.Cut(suffix, bar)
			list = unescape(list)
		}
		n := notes[key]
		if n == nil {
			n = &note{added: map[string]added{}, gaps: gaps{}}
			notes[key] = n
		}
		maps.Copy(n.gaps, recorded.gaps())
		n.add(list, recorded, known)
	}
	return notes
}

func (n *note) add(list string, recorded noteRecord, known map[string]bool) {
	into := n.added[list]
	into.root = into.root || recorded.Root
	if into.env == nil {
		into.env = map[string]map[string]string{}
	}
	for uid, names := range recorded.Env {
		if known[uid] {
			into.env[uid] = maps.Clone(names)
		}
	}
	n.added[list] = into
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

// write makes a record of what is noted in the scene.
func (s *scene) write() record {
	r := record{
		Bindings: slices.Collect(maps.Keys(s.recorded)), Containers: map[string]noteRecord{}, gapsRecord: s.gaps.record(),
	}
	for _, c := range s.order {
		c.write(r.Containers, s.used())
	}
	return r
}

// write makes the notes of a container: the gaps go with the first of its slots, and what was added to a list of
// variables with the first slot that uses it, those in use before all others.
func (c *container) write(into map[string]noteRecord, used map[*slot]bool) {
	slots := slices.SortedStableFunc(slices.Values(c.slots), func(a, b *slot) int {
		if used[a] != used[b] {
			return order(used[a])
		}
		return strings.Compare(a.suffix, b.suffix)
	})
	written := map[*variables]bool{}
	for i, sl := range slots {
		var n noteRecord
		if i == 0 {
			n.gapsRecord = c.gaps.record()
		}
		if !written[sl.env] {
			n.Root, n.Env = sl.env.root, sl.env.env
			written[sl.env] = true
		}
		if n.Root || len(n.Env) > 0 || len(n.Made) > 0 || len(n.Null) > 0 {
			into[c.key+sl.suffix] = n
		}
	}
}

// order compares two things of which one has precedence.
func order(first bool) int {
	if first {
		return -1
	}
	return 1
}
