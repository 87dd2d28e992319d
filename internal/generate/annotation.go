package generate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Prefix is the key of an annotation that describes a service, by itself or with /<name> behind it.
const Prefix = "service.binding"

// parsed is what one annotation or descriptor says: a rule, or why there is none.
type parsed struct {
	origin Origin
	name   string
	stray  bool // it is not known which entry it is about
	rule   *Rule
	fault  *Fault
}

// ParseAnnotation reads one annotation. The rule is nil when the annotation is about something else. The error is a *Fault.
func ParseAnnotation(key, value string, origin Origin) (*Rule, error) {
	p := parseAnnotation(key, value, origin)
	switch {
	case p == nil:
		return nil, nil //nolint:nilnil // most annotations are about something else
	case p.fault != nil:
		return nil, p.fault
	default:
		return p.rule, nil
	}
}

// parseAnnotations reads those of one object, in the order of their keys.
func parseAnnotations(annotations map[string]string, level Level, object string) []*parsed {
	keys := make([]string, 0, len(annotations))
	for key := range annotations {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var all []*parsed
	for _, key := range keys {
		origin := Origin{Level: level, Object: object, Key: key}
		if p := parseAnnotation(key, annotations[key], origin); p != nil {
			all = append(all, p)
		}
	}
	return all
}

func parseAnnotation(key, value string, origin Origin) *parsed {
	name, ours, w := entryOf(key)
	if w != nil {
		// The position is one in the key, which the message shows.
		w.at = -1
		return &parsed{origin: origin, stray: true, fault: w.fault(origin)}
	}
	if !ours {
		return nil
	}
	rule, w := ruleOf(name, value)
	if w != nil {
		return &parsed{origin: origin, name: name, fault: w.fault(origin)}
	}
	rule.Origin = origin
	return &parsed{origin: origin, name: name, rule: rule}
}

// misspelt are the beginnings of keys and descriptors that look like ours and are not. What belongs to another group, such
// as servicebinding.io, does not look like it.
var misspelt = regexp.MustCompile(`(?i)^(service[._-]?bindings?)(/|:|$)`)

// entryOf takes the name of the entry from the key of an annotation.
func entryOf(key string) (name string, ours bool, w *wrong) {
	if rest, ok := strings.CutPrefix(key, Prefix+"/"); ok {
		return rest, true, checkEntryName(rest)
	}
	if key == Prefix {
		return "", true, nil
	}
	if bare := strings.Trim(key, typographic+`"': `); bare != key && misspelt.MatchString(bare) {
		return "", false, &wrong{
			problem: "the key has quotes or a colon in it",
			hint:    "write it as service.binding or service.binding/<name>, with straight quotes around it",
		}
	}
	if found := misspelt.FindStringSubmatch(key); found != nil {
		return "", false, &wrong{
			problem: "there is no annotation " + bounded(found[1]+found[2]),
			hint:    "write service.binding or service.binding/<name>",
		}
	}
	rest, begins := strings.CutPrefix(key, Prefix)
	if !begins || strings.HasPrefix(rest, ".") && strings.Contains(rest, "/") { // a group of its own, such as service.binding.example.com/x
		return "", false, nil
	}
	return "", false, &wrong{problem: "the key begins with service.binding and goes on without a slash", hint: "write service.binding/<name>"}
}

func checkEntryName(name string) *wrong {
	if problems := validation.IsConfigMapKey(name); len(problems) > 0 {
		return &wrong{
			problem: bounded(name) + " cannot be the name of an entry: " + problems[0],
			hint:    "choose another name after service.binding",
		}
	}
	return nil
}

// ruleOf reads the value of an annotation.
func ruleOf(name, value string) (*Rule, *wrong) {
	if begin := strings.TrimLeft(value, " \t\n"); !isRule(begin) {
		return constantOf(name, value)
	}
	if len(value) > MaxLength {
		return nil, &wrong{at: MaxLength, problem: "a rule has at most " + strconv.Itoa(MaxLength) + " bytes"}
	}
	if w := refuseQuotes(value); w != nil {
		return nil, w
	}
	split, w := parts(value)
	if w != nil {
		return nil, w
	}
	given := newParameters()
	for _, p := range split {
		if w := readPart(given, p); w != nil {
			return nil, w
		}
	}
	return withPath(name, given)
}

func readPart(given *parameters, p part) *wrong {
	w := given.read(p.text, p.at)
	if w == nil {
		return nil
	}
	if p.text == "" {
		return &wrong{at: p.at, problem: "a parameter is expected beside the comma", hint: `leave the comma out; in a text it is written {","}`}
	}
	if !strings.Contains(p.text, "=") {
		w.hint += `; a comma in the path is written {","}`
	}
	return w
}

// withPath completes a rule by its name and the path.
func withPath(name string, given *parameters) (*Rule, *wrong) {
	text, ok := given.values[parameterPath]
	if !ok {
		return nil, &wrong{problem: "the parameter path is missing", hint: "add one such as path={.status.host}"}
	}
	rule, w := given.rule()
	if w != nil {
		return nil, w
	}
	path, w := parseTemplate(text)
	if w != nil {
		w.at += given.at(parameterPath)
		return nil, w
	}
	rule.Name, rule.Path, rule.pathAt = name, path, given.at(parameterPath)
	return rule, rule.checkShape(given.at(parameterPath))
}

// rulePattern is how a value begins that is a rule, or was meant to be one.
var rulePattern = regexp.MustCompile(`(?i)^(paths?|objectTypes?|elementTypes?|sourceKeys?|sourceValues?|optional)\s*=`)

// pathPattern finds a path anywhere among the parameters.
var pathPattern = regexp.MustCompile(`(^|,)\s*path\s*=`)

// isRule tells a rule from a constant.
func isRule(value string) bool {
	return rulePattern.MatchString(value) || pathPattern.MatchString(value)
}

// meantAsRule are constants that were hardly meant as constants.
var meantAsRule = []struct {
	pattern       *regexp.Regexp
	problem, hint string
}{
	{
		regexp.MustCompile(`^[` + typographic + `]|[` + typographic + `]$`),
		"the value begins or ends with a typographic quote", straighten + `; where it is meant, write path={"“"}`,
	},
	{
		regexp.MustCompile(`(?i)^["']\s*path\s*[=:]`),
		"the value begins with a quote", "take the quotes out: those of YAML are no part of the value",
	},
	{
		regexp.MustCompile(`(?i)^path\s*:`),
		"after path, = is expected", "write path={.status.host}",
	},
	{
		regexp.MustCompile(`^\{\s*(range\s|[$@]?[.\[])`),
		"an expression stands where a constant is expected", `write path={…}; a constant like this is written path={"{.…"}`,
	},
}

// constantOf makes a constant of a value that is no rule.
func constantOf(name, value string) (*Rule, *wrong) {
	trimmed := strings.TrimSpace(value)
	for _, slip := range meantAsRule {
		if found := slip.pattern.FindStringIndex(trimmed); found != nil {
			return nil, &wrong{at: strings.Index(value, trimmed) + found[0], problem: slip.problem, hint: slip.hint}
		}
	}
	if name == "" {
		return nil, &wrong{
			problem: "a path is expected, since a constant needs a name",
			hint:    "write path={.status.field}, or name it, as in service.binding/type",
		}
	}
	if len(value) > MaxData {
		return nil, &wrong{at: MaxData, problem: "a constant has at most " + strconv.Itoa(MaxData) + " bytes"}
	}
	return &Rule{Name: name, Constant: &value, ObjectType: ObjectString, ElementType: ElementString}, nil
}
