package generate

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Sources is everything that may describe a service.
type Sources struct {
	// Kind of the service.
	Kind schema.GroupVersionKind
	// Name of the service, for errors.
	Name string
	// Definition is the name of its CustomResourceDefinition, <plural>.<group>; empty when there is none.
	Definition string
	// Resource are the annotations of the service.
	Resource map[string]string
	// CRD are the annotations of the CustomResourceDefinition.
	CRD map[string]string
	// Known is what is known of the operator; nil for nothing.
	Known *Description
	// Versions are the ClusterServiceVersions of the service's namespace, as they are read. Those that another one
	// replaces, and those that say nothing of the definition, are passed over.
	Versions []map[string]any
}

// Description is what is known of a kind: annotations, as if they were on its CustomResourceDefinition.
type Description struct {
	// Operator is the name of the file that the description is from.
	Operator string
	// Annotations of the kind.
	Annotations map[string]string
}

// Recipe is how the entries of a service are made. It is immutable and safe for concurrent use.
type Recipe struct {
	rules []*Rule
}

// Rules are in the order in which they hold: those without a name first, then by name.
func (r *Recipe) Rules() []*Rule { return slices.Clone(r.rules) }

// Describe puts together what describes a service: for each name, the rules of the highest level that has any, which is the
// resource over its definition over known operators over ClusterServiceVersions. What a higher level replaces is not looked
// at, so that an annotation also corrects a wrong descriptor. The recipe is nil when nothing describes the service. The
// error is Faults.
func Describe(s Sources) (*Recipe, error) {
	all := parseAnnotations(s.Resource, LevelResource, fmt.Sprintf("%s %q", s.Kind.Kind, s.Name))
	all = append(all, parseAnnotations(s.CRD, LevelDefinition, s.Definition)...)
	if s.Known != nil {
		all = append(all, parseAnnotations(s.Known.Annotations, LevelKnown, s.Known.Operator)...)
	}
	if s.Definition != "" {
		for _, version := range current(s.Versions) {
			all = append(all, descriptorsOf(version, s.Definition, s.Kind.Version)...)
		}
	}
	rules, faults := merge(all)
	if len(rules) > MaxRules {
		extra := rules[MaxRules]
		faults = append(faults, &Fault{
			Origin: extra.Origin, Position: -1, Reason: ReasonInvalid,
			Problem: fmt.Sprintf("a service has at most %d rules, and this one is beyond", MaxRules), Hint: "describe it by fewer",
		})
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	if len(rules) == 0 {
		return nil, nil //nolint:nilnil // most services are described by nothing
	}
	return &Recipe{rules: rules}, nil
}

// current leaves out the ClusterServiceVersions that others replace, and sorts the rest by name.
func current(versions []map[string]any) []map[string]any {
	replaced := map[string]bool{}
	for _, v := range versions {
		if name := text(v, "spec", "replaces"); name != text(v, "metadata", "name") {
			replaced[name] = true
		}
	}
	var kept []map[string]any
	for _, v := range versions {
		if !replaced[text(v, "metadata", "name")] {
			kept = append(kept, v)
		}
	}
	slices.SortStableFunc(kept, func(a, b map[string]any) int {
		return cmp.Compare(text(a, "metadata", "name"), text(b, "metadata", "name"))
	})
	return kept
}

// merge keeps, for each name, what the highest level says.
func merge(all []*parsed) ([]*Rule, Faults) {
	highest := map[string]Level{}
	for _, p := range all {
		if !p.stray {
			highest[p.name] = max(highest[p.name], p.origin.Level)
		}
	}
	slices.SortStableFunc(all, func(a, b *parsed) int { return cmp.Compare(a.name, b.name) })
	var rules []*Rule
	var faults Faults
	for _, p := range all {
		fault := p.fault
		switch {
		case p.stray:
		case p.origin.Level < highest[p.name]:
			continue
		case fault == nil:
			rules, fault = add(rules, p.rule)
		}
		if fault != nil {
			faults = append(faults, fault)
		}
	}
	return rules, faults
}

// add appends a rule, unless it is there already. Two different ones for one name are a fault; several without a name are
// none as long as they produce different entries.
func add(rules []*Rule, r *Rule) ([]*Rule, *Fault) {
	for _, other := range rules {
		if other.Name != r.Name {
			continue
		}
		if other.String() == r.String() {
			return rules, nil
		}
		if r.Name != "" {
			return rules, &Fault{
				Origin: r.Origin, Position: -1, Reason: ReasonInvalid,
				Problem: fmt.Sprintf("the entry %q is described twice, here and by %s", r.Name, other.Origin),
				Hint:    "take one of them out",
			}
		}
	}
	return append(rules, r), nil
}
