package conformance

import (
	"slices"
)

// Requirement is one normative word of the specification: what it asks for, and what tests it.
type Requirement struct {
	// SpecRef is the heading of the section.
	SpecRef string
	// Line is where it stands in the plain text of version 1.0; zero for what came in 1.1.
	Line int
	// Level is the word.
	Level Level
	// Text says in our own words what is asked for.
	Text string
	// Clauses are the names of those that test it.
	Clauses []string
	// Untestable says why no clause can, where none does.
	Untestable string
}

// Inventory returns every normative word of version 1.0, in the order of the text, and what version 1.1 added. The words
// in the section on notation, which only define themselves, are left out.
func Inventory() []Requirement {
	return requirementsOf(slices.Concat(inventoryOfBinding, inventoryOfMapping))
}

func requirementsOf(sections []section) []Requirement {
	var all []Requirement
	for _, s := range sections {
		for _, r := range s.requirements {
			r.SpecRef = s.name
			all = append(all, r)
		}
	}
	return all
}

// section is a part of the specification with what it demands.
type section struct {
	name         string
	requirements []Requirement
}

// Why some of what is demanded cannot be tested from outside of an implementation.
const (
	byProvider = "it obliges whoever publishes the Secret; the suite's own services keep it"
	byAuthor   = "it obliges whoever writes the ClusterRole or definition; the suite's own keep it"
	byConsumer = "it obliges whoever reads the status; the suite itself does so"
	byReader   = "it obliges whoever reads the directory in the container, not what projects into it"
	permission = "it permits an implementation to offer more; there is nothing to test"
)
