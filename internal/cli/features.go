package cli

import (
	"github.com/spf13/pflag"

	"github.com/bowline-dev/bowline/internal/feature"
)

// features are the flags of the optional abilities, one each. They are the same wherever a controller is started or
// installed.
type features struct {
	chosen map[feature.Feature]*bool
	full   bool
}

// bind adds the flags; byDefault says whether the features are on unless told otherwise.
func (f *features) bind(flags *pflag.FlagSet, byDefault bool) {
	f.chosen = map[feature.Feature]*bool{}
	for _, name := range feature.All() {
		f.chosen[name] = flags.Bool(string(name), byDefault, name.Help())
	}
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
func (f *features) arguments() []string { return f.set().Arguments() }
