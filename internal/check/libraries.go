package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

// libraries looks at the binding as the libraries of the catalogue do.
func (e *examination) libraries() {
	if e.kind == "" {
		return
	}
	kind := catalogue.Default().Type(e.kind)
	if kind == nil {
		e.add(Info, RuleUnknownType, catalogue.TypeEntry, "the catalogue does not know this type: only the specification's own rules were checked")
		return
	}
	e.required(kind)
	for i := range kind.Consumers {
		e.consumer(kind, &kind.Consumers[i])
	}
	if len(kind.Consumers) > 0 {
		e.strangers(kind)
	}
}

// required looks for what no client can do without.
func (e *examination) required(kind *catalogue.Type) {
	for _, name := range kind.Instead {
		if slices.ContainsFunc(kind.Entry(name).Spellings(), e.has) {
			return
		}
	}
	for i := range kind.Entries {
		entry := &kind.Entries[i]
		if entry.Required && !slices.ContainsFunc(entry.Spellings(), e.has) {
			e.add(Warning, RuleRequired, entry.Name, "is missing: no client of this type can connect without it"+insteadOf(kind))
		}
	}
}

func insteadOf(kind *catalogue.Type) string {
	if len(kind.Instead) == 0 {
		return ""
	}
	return ", unless there is " + strings.Join(kind.Instead, " or ")
}

// consumer looks with the eyes of one library.
func (e *examination) consumer(kind *catalogue.Type, c *catalogue.Consumer) {
	met := slices.ContainsFunc(c.Needs, func(set []string) bool { return e.hasAll(set) })
	if !met && len(c.Needs) > 0 {
		e.tell(Finding{Warning, RuleNeeds, "", c.Library, "needs " + alternatives(c.Needs) + ": it will not connect"})
	}
	var unread []string
	for i := range kind.Entries {
		entry := &kind.Entries[i]
		there := e.there(entry)
		looksFor := reads(c, entry)
		switch {
		case len(there) == 0:
		case len(looksFor) == 0:
			unread = append(unread, there...)
		case !slices.ContainsFunc(there, func(s string) bool { return slices.Contains(c.Reads, s) }):
			e.tell(Finding{Warning, RuleSpelling, there[0], c.Library,
				fmt.Sprintf("is looked for as %s: add it by that name", strings.Join(looksFor, " or "))})
		}
	}
	if len(unread) > 0 {
		e.tell(Finding{Info, RuleUnread, "", c.Library, "does not read " + strings.Join(unread, ", ")})
	}
}

func (e *examination) tell(f Finding) { e.found = append(e.found, f) }

func (e *examination) hasAll(set []string) bool {
	return !slices.ContainsFunc(set, func(name string) bool { return !e.has(name) })
}

// there lists the spellings of an entry that are there.
func (e *examination) there(entry *catalogue.Entry) []string {
	return slices.DeleteFunc(entry.Spellings(), func(s string) bool { return !e.has(s) })
}

// reads lists the spellings of an entry that a library looks for.
func reads(c *catalogue.Consumer, entry *catalogue.Entry) []string {
	return slices.DeleteFunc(entry.Spellings(), func(s string) bool { return !slices.Contains(c.Reads, s) })
}

// strangers looks for entries that the catalogue does not have: often a spelling of its own.
func (e *examination) strangers(kind *catalogue.Type) {
	for _, name := range e.sorted() {
		if name != catalogue.TypeEntry && name != catalogue.ProviderEntry && kind.Entry(name) == nil {
			e.add(Info, RuleUnread, name, "no library of the catalogue reads it")
		}
	}
}

func alternatives(sets [][]string) string {
	parts := make([]string, 0, len(sets))
	for _, set := range sets {
		parts = append(parts, strings.Join(set, " and "))
	}
	return strings.Join(parts, ", or ")
}
