package compose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/projection"
)

// The annotations of a binding that project every entry as an environment variable.
const (
	// EnvAnnotation asks for it: its value is EnvAll.
	EnvAnnotation = "bowline.dev/env"
	// EnvPrefixAnnotation is put before each name; nothing is if it is empty or missing.
	EnvPrefixAnnotation = "bowline.dev/env-prefix"
	// EnvCaseAnnotation says what the names are made of the keys by; missing, it is EnvUpper.
	EnvCaseAnnotation = "bowline.dev/env-case"
)

// The values of the annotations.
const (
	// EnvAll projects all entries.
	EnvAll = "all"
	// EnvUpper writes keys in upper case, with '_' for each character that is no letter, digit or '_'.
	EnvUpper = "upper"
	// EnvLower does the same in lower case.
	EnvLower = "lower"
	// EnvKeep leaves keys as they are.
	EnvKeep = "keep"
)

// maxEnvPrefix is the number of characters that a prefix may have.
const maxEnvPrefix = 63

var (
	envPrefix   = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z_][A-Za-z0-9_]{0,%d}$`, maxEnvPrefix-1))
	notVariable = regexp.MustCompile(`[^A-Za-z0-9_]`)
)

// EnvRule says how every entry of a binding becomes an environment variable.
type EnvRule struct {
	// Prefix is put before each name, as it is.
	Prefix string
	// Case is EnvUpper, EnvLower or EnvKeep.
	Case string
}

// ParseEnvRule reads the annotations of a binding; without them the rule is nil. The error is Faults.
func ParseEnvRule(annotations map[string]string) (*EnvRule, error) {
	r := &report{}
	at := field.NewPath("metadata", "annotations")
	which, asked := annotations[EnvAnnotation]
	if !asked {
		unasked(r, at, annotations)
		return nil, r.faults.err()
	}
	if which != EnvAll {
		r.invalid(at.Key(EnvAnnotation), which, fmt.Sprintf("must be %q", EnvAll), "correct the value, or remove the annotation")
	}
	rule := &EnvRule{Prefix: annotations[EnvPrefixAnnotation], Case: EnvUpper}
	if rule.Prefix != "" && !envPrefix.MatchString(rule.Prefix) {
		r.invalid(at.Key(EnvPrefixAnnotation), rule.Prefix, "must match "+envPrefix.String(), "use letters, digits and '_', no digit first")
	}
	if name, set := annotations[EnvCaseAnnotation]; set {
		rule.Case = name
	}
	if !slices.Contains([]string{EnvUpper, EnvLower, EnvKeep}, rule.Case) {
		r.invalid(at.Key(EnvCaseAnnotation), rule.Case, fmt.Sprintf("must be %q, %q or %q", EnvUpper, EnvLower, EnvKeep),
			"correct the value, or remove the annotation")
	}
	if err := r.faults.err(); err != nil {
		return nil, err
	}
	return rule, nil
}

// unasked adds the annotations that mean nothing by themselves.
func unasked(r *report, at *field.Path, annotations map[string]string) {
	for _, name := range []string{EnvPrefixAnnotation, EnvCaseAnnotation} {
		if value, set := annotations[name]; set {
			r.invalid(at.Key(name), value, fmt.Sprintf("means nothing without the annotation %s: %s", EnvAnnotation, EnvAll),
				"add that annotation, or remove this one")
		}
	}
}

// Env gives a variable for each key, sorted by name, but for those that an explicit variable of the binding projects under the
// very same name already. The error is Faults: about each name that would stand for two entries, or is not allowed.
func (e EnvRule) Env(keys []string, explicit []projection.Env) ([]projection.Env, error) {
	r := &report{}
	at := field.NewPath("metadata", "annotations").Key(EnvAnnotation)
	taken := make(map[string]string, len(keys)+len(explicit))
	for _, variable := range explicit {
		taken[variable.Name] = variable.Key
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(keys)))
	made := make([]projection.Env, 0, len(sorted))
	for _, key := range sorted {
		name := e.name(key)
		other, collides := taken[name]
		switch {
		case collides && other == key:
			continue
		case collides:
			r.invalid(at, EnvAll, fmt.Sprintf("the entries %q and %q would both be the variable %s", other, key, name), e.advice())
		default:
			e.check(r, at, key)
		}
		taken[name] = key
		made = append(made, projection.Env{Name: name, Key: key})
	}
	if err := r.faults.err(); err != nil {
		return nil, err
	}
	slices.SortFunc(made, func(a, b projection.Env) int { return cmp.Compare(a.Name, b.Name) })
	return made, nil
}

// check sees that a key gives a name that a variable may have.
func (e EnvRule) check(r *report, at *field.Path, key string) {
	name := e.name(key)
	if name == rootVariable {
		r.invalid(at, EnvAll, fmt.Sprintf("the entry %q would be the variable %s, which names the directory of all bindings", key, name), e.advice())
		return
	}
	if broken := validation.IsEnvVarName(name); len(broken) > 0 {
		r.invalid(at, EnvAll, fmt.Sprintf("the entry %q would be the variable %q, which no container accepts: %s", brief(key), brief(name),
			strings.Join(broken, "; ")), e.advice())
	}
}

func (e EnvRule) advice() string {
	return fmt.Sprintf("set or change %s or %s, or list the variables in spec.env instead", EnvPrefixAnnotation, EnvCaseAnnotation)
}

// name is that of the variable for a key.
func (e EnvRule) name(key string) string {
	switch e.Case {
	case EnvKeep:
		return e.Prefix + key
	case EnvLower:
		return e.Prefix + notVariable.ReplaceAllString(strings.ToLower(key), "_")
	default:
		return e.Prefix + notVariable.ReplaceAllString(strings.ToUpper(key), "_")
	}
}
