package conformance

import (
	"slices"
)

// Level is how strongly the specification demands something, in the words of RFC 2119.
type Level string

// The levels.
const (
	// Must is an obligation.
	Must Level = "MUST"
	// MustNot is a prohibition.
	MustNot Level = "MUST NOT"
	// Should is what has to be done unless there is a good reason.
	Should Level = "SHOULD"
	// ShouldNot is what has to be left unless there is a good reason.
	ShouldNot Level = "SHOULD NOT"
	// Recommended means the same as Should; the specification uses both words.
	Recommended Level = "RECOMMENDED"
	// May is a permission. A clause of this level says whether an implementation makes use of it; either is right.
	May Level = "MAY"
	// Stated is what the text says, or what follows from it, without one of the words above.
	Stated Level = "stated"
)

// Binding says whether an implementation that breaks a clause of this level does not conform.
func (l Level) Binding() bool { return l == Must || l == MustNot }

// Clause is one thing that can be asked of an implementation.
type Clause struct {
	// Name is unique, short, and stays the same: reports of different days are compared by it.
	Name string
	// SpecRef is the heading of the specification's section; with "1.1: " before it, for what came in version 1.1.
	SpecRef string
	// Level is how strongly it is demanded.
	Level Level
	// Text says what is demanded, in our own words.
	Text string
	// Manifests is YAML that is applied in the clause's namespace before the test.
	Manifests string
	// NeedsNode is set when only a kubelet can show it.
	NeedsNode bool
	// Extension is what an implementation has to have for the clause to mean anything; empty for nothing.
	Extension Extension
	// Test fails by T.Fatalf.
	Test func(t *T)
}

// Clauses returns all clauses of the specification, in its order.
func Clauses() []Clause {
	return slices.Concat(
		serviceClauses, projectionClauses, apiClauses, referenceClauses, containerClauses, envClauses, conditionClauses,
		selectorClauses, reconcilerClauses, readyClauses, secretClauses, mappingClauses, pathClauses, defaultClauses,
		runtimeClauses, lifeClauses, severalClauses, kindClauses, roleClauses, nodeClauses,
	)
}
