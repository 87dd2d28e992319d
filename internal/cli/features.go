package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bowline-dev/bowline/internal/feature"
	"github.com/bowline-dev/bowline/internal/generate"
)

// Values of --known-operators that are no names.
const (
	allOperators = "all"
	noOperators  = "none"
)

// features are the flags of the optional abilities, one each. They are the same wherever a controller is started or
// installed.
type features struct {
	chosen map[feature.Feature]*bool
	full   bool
	known  []string
}

// bind adds the flags; byDefault are the features that are on unless told otherwise.
func (f *features) bind(flags *pflag.FlagSet, byDefault feature.Set) {
	f.chosen = map[feature.Feature]*bool{}
	for _, name := range feature.All() {
		f.chosen[name] = flags.Bool(string(name), byDefault.Has(name), name.Help())
	}
	flags.StringSliceVar(&f.known, "known-operators", []string{allOperators},
		"operators whose resources are described by what Bowline knows of them, for --"+string(feature.SecretGeneration)+
			": their names, "+allOperators+" or "+noOperators)
}

// onThisMachine are the features that are on where a control plane is started for one person. The early draft's API is not
// among them: with two kinds of one name, "kubectl get servicebindings" would show those of the draft.
func onThisMachine() feature.Set {
	return feature.Of(slices.DeleteFunc(feature.All(), func(f feature.Feature) bool { return f == feature.DraftAPI })...)
}

// check sees that each known operator is one.
func (f *features) check(command string) error {
	operators, err := generate.Known(nil)
	if err != nil {
		return wrap(err, "reading the known operators")
	}
	names := operators.Names()
	for _, name := range f.known {
		special := name == allOperators || name == noOperators
		if special && len(f.known) == 1 || !special && slices.Contains(names, name) {
			continue
		}
		return &usageError{
			err: fmt.Errorf("--known-operators %q is neither %s alone, nor %s alone, nor some of: %s",
				strings.Join(f.known, ","), allOperators, noOperators, strings.Join(names, ", ")),
			command: command,
		}
	}
	return nil
}

// knows says whether what is known of an operator counts.
func (f *features) knows(operator string) bool {
	return slices.Contains(f.known, allOperators) || slices.Contains(f.known, operator)
}

// bindFull adds the flag that stands for all of them.
func (f *features) bindFull(flags *pflag.FlagSet) {
	flags.BoolVar(&f.full, "full", false, "all optional features, each of which has a flag of its own as well")
}

// set is what was chosen.
func (f *features) set() feature.Set {
	if f.full {
		return feature.Of(feature.All()...)
	}
	var chosen []feature.Feature
	for _, name := range feature.All() {
		if on := f.chosen[name]; on != nil && *on {
			chosen = append(chosen, name)
		}
	}
	return feature.Of(chosen...)
}

// arguments hand the choice on to a controller, for which nothing is on by default.
func (f *features) arguments() []string {
	arguments := f.set().Arguments()
	if !slices.Equal(f.known, []string{allOperators}) {
		known := slices.Sorted(slices.Values(f.known))
		arguments = append(arguments, "--known-operators="+strings.Join(slices.Compact(known), ","))
	}
	return arguments
}
