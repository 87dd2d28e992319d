package generate

import (
	"slices"
	"strings"
)

// The parameters of a rule.
const (
	parameterPath        = "path"
	parameterObjectType  = "objectType"
	parameterElementType = "elementType"
	parameterSourceKey   = "sourceKey"
	parameterSourceValue = "sourceValue"
	parameterOptional    = "optional"
)

// parameterNames are in the order in which people read them.
var parameterNames = []string{
	parameterPath, parameterObjectType, parameterElementType, parameterSourceKey, parameterSourceValue, parameterOptional,
}

// parameterValues are those that a parameter may have; the others take any.
var parameterValues = map[string][]string{
	parameterObjectType:  {string(ObjectSecret), string(ObjectConfigMap), string(ObjectString)},
	parameterElementType: {string(ElementString), string(ElementMap), string(ElementSliceOfStrings), string(ElementSliceOfMaps)},
	parameterOptional:    {"true", "false"},
}

// parameters are those of one rule, with where each value stands.
type parameters struct {
	values    map[string]string
	positions map[string]int
}

func newParameters() *parameters {
	return &parameters{values: map[string]string{}, positions: map[string]int{}}
}

// read takes one parameter, name=value.
func (p *parameters) read(text string, at int) *wrong {
	name, value, found := strings.Cut(text, "=")
	if !found {
		return &wrong{at: at, problem: "a parameter of the form name=value is expected, not " + bounded(text), hint: listed(parameterNames)}
	}
	trimmed := strings.TrimLeft(value, " \t\n")
	name, valueAt := strings.TrimRight(name, " \t\n"), at+len(text)-len(trimmed)
	trimmed = strings.TrimRight(trimmed, " \t\n")
	if w := checkName(name, at); w != nil {
		return w
	}
	if _, twice := p.values[name]; twice {
		return &wrong{at: at, problem: "the parameter " + name + " is there twice", hint: "leave one out"}
	}
	if w := checkValue(name, trimmed, valueAt); w != nil {
		return w
	}
	p.values[name], p.positions[name] = trimmed, valueAt
	return nil
}

func checkName(name string, at int) *wrong {
	if slices.Contains(parameterNames, name) {
		return nil
	}
	w := &wrong{at: at, problem: "there is no parameter " + bounded(name), hint: listed(parameterNames)}
	if i := like(parameterNames, name); i >= 0 {
		w.hint = "write " + parameterNames[i]
	}
	return w
}

func checkValue(name, value string, at int) *wrong {
	if value == "" {
		return &wrong{at: at, problem: "the parameter " + name + " has no value", hint: "give it one, or leave it out"}
	}
	if i := strings.IndexAny(value, ",{}"); i >= 0 && name != parameterPath {
		return &wrong{at: at + i, problem: "no comma and no brace is expected in " + name, hint: "take it out; only a path may hold them"}
	}
	allowed, ok := parameterValues[name]
	if !ok || slices.Contains(allowed, value) {
		return nil
	}
	w := &wrong{at: at, problem: name + " is " + bounded(value), hint: listed(allowed)}
	if i := like(allowed, value); i >= 0 {
		w.hint = "write " + name + "=" + allowed[i]
	}
	return w
}

// like finds the word that is meant by one with other capitals, or with an s too many.
func like(words []string, given string) int {
	return slices.IndexFunc(words, func(word string) bool {
		return strings.EqualFold(word, given) || strings.EqualFold(word+"s", given)
	})
}

func listed(allowed []string) string { return "there are: " + strings.Join(allowed, ", ") }

// at is where the value of a parameter stands.
func (p *parameters) at(name string) int { return p.positions[name] }

// rule makes a rule of the parameters, all but its path.
func (p *parameters) rule() (*Rule, *wrong) {
	r := &Rule{
		ObjectType: ObjectString, ElementType: ElementString,
		SourceKey: p.values[parameterSourceKey], SourceValue: p.values[parameterSourceValue],
		Optional: p.values[parameterOptional] == "true",
	}
	if value, ok := p.values[parameterObjectType]; ok {
		r.ObjectType = ObjectType(value)
	}
	if value, ok := p.values[parameterElementType]; ok {
		r.ElementType = ElementType(value)
	}
	return r, p.refuseMeaningless(r)
}

// refuseMeaningless refuses parameters that say nothing beside the others, and asks for those that are missing.
func (p *parameters) refuseMeaningless(r *Rule) *wrong {
	if r.ElementType == ElementSliceOfMaps {
		return p.wantBoth(r)
	}
	if r.SourceValue != "" && r.ElementType != ElementSliceOfStrings {
		w := &wrong{at: p.at(parameterSourceValue), problem: "sourceValue means nothing here: it is a field of the elements of a slice"}
		w.hint = "add elementType=sliceOfMaps, or elementType=sliceOfStrings"
		if r.refers() {
			w.hint = "to take one entry of the " + string(r.ObjectType) + ", write sourceKey=" + r.SourceValue
		}
		return w
	}
	if r.SourceKey == "" {
		return nil
	}
	if !r.refers() {
		return &wrong{
			at:      p.at(parameterSourceKey),
			problem: "sourceKey means nothing here: it is an entry of a Secret or ConfigMap, or a field of the elements of a slice of maps",
			hint:    "add objectType=Secret, objectType=ConfigMap or elementType=sliceOfMaps",
		}
	}
	if r.ElementType == ElementMap {
		return &wrong{
			at:      p.at(parameterElementType),
			problem: "elementType=map takes every entry of the " + string(r.ObjectType) + ", and sourceKey one",
			hint:    "leave one of them out",
		}
	}
	return nil
}

func (p *parameters) wantBoth(r *Rule) *wrong {
	w := &wrong{at: p.at(parameterElementType), problem: "elementType=sliceOfMaps needs sourceKey and sourceValue"}
	switch {
	case r.SourceKey == "":
		w.hint = "add sourceKey=, the field of each element that gives the entry's name"
	case r.SourceValue == "":
		w.hint = "add sourceValue=, the field of each element that gives the entry's value"
	default:
		return nil
	}
	return w
}

// checkShape refuses paths that do not lead to what the parameters say.
func (r *Rule) checkShape(pathAt int) *wrong {
	_, single := r.Path.single()
	if !single && (r.ElementType.isSlice() || r.ElementType == ElementMap && !r.refers()) {
		return &wrong{
			at:      pathAt,
			problem: "with elementType=" + string(r.ElementType) + " the path is one expression",
			hint:    "write it as path={.status.list}",
		}
	}
	if r.Name != "" || !r.needsName() {
		return nil
	}
	if _, ok := r.Path.lastField(); ok {
		return nil
	}
	return &wrong{
		at:      pathAt,
		problem: "this path does not end in a field that could name the entry",
		hint:    "give the rule a name, as in service.binding/uri",
	}
}

// needsName says whether the rule produces an entry that only its name can name.
func (r *Rule) needsName() bool {
	if r.refers() {
		return r.ElementType == ElementSliceOfStrings
	}
	return r.ElementType == ElementString || r.ElementType == ElementSliceOfStrings
}

// base is the name of the entry, or what the names of the entries begin with: of a rule without a name that needs one, the
// field that its path ends in.
func (r *Rule) base() string {
	if r.Name != "" || !r.needsName() {
		return r.Name
	}
	field, _ := r.Path.lastField()
	return field
}
