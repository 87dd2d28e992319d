package generate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// objectPrefix is how OLM says what kind of object a descriptor's path names.
const objectPrefix = "urn:alm:descriptor:io.kubernetes:"

// Descriptor is an entry of the specDescriptors or statusDescriptors of a ClusterServiceVersion.
type Descriptor struct {
	// Root is spec or status, according to the list.
	Root string
	// Path is relative to it.
	Path string
	// XDescriptors say what lies there.
	XDescriptors []string
}

// ParseDescriptor reads what a descriptor says of bindings; nothing, when it is about something else. The key of the origin
// is the path of the descriptor within the ClusterServiceVersion. The error holds every *Fault.
func ParseDescriptor(d Descriptor, origin Origin) ([]*Rule, error) {
	var rules []*Rule
	var faults Faults
	for _, p := range parseDescriptor(d, origin) {
		if p.fault != nil {
			faults = append(faults, p.fault)
		} else {
			rules = append(rules, p.rule)
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return rules, nil
}

func parseDescriptor(d Descriptor, origin Origin) []*parsed {
	var all []*parsed
	for i, text := range d.XDescriptors {
		at := origin
		at.Key = fmt.Sprintf("%s.x-descriptors[%d]", origin.Key, i)
		ours, w := isOurs(text)
		switch {
		case w != nil:
			all = append(all, &parsed{origin: at, stray: true, fault: w.fault(at)})
		case ours:
			all = append(all, d.read(text, at, origin.Key+".path"))
		}
	}
	return all
}

// isOurs tells what is about bindings from what is about something else.
func isOurs(text string) (bool, *wrong) {
	if text == Prefix || strings.HasPrefix(text, Prefix+":") {
		if len(text) > MaxLength {
			return false, &wrong{at: MaxLength, problem: "a descriptor has at most " + strconv.Itoa(MaxLength) + " bytes"}
		}
		return true, refuseQuotes(text)
	}
	const form = "write service.binding or service.binding:<name>"
	if bare := strings.Trim(text, typographic+`"' `); bare != text && misspelt.MatchString(bare) {
		return false, &wrong{problem: "the descriptor has quotes or spaces around it", hint: form + ", with straight quotes around it"}
	}
	if found := misspelt.FindStringSubmatch(text); found != nil {
		return false, &wrong{problem: "there is no descriptor " + bounded(found[1]+found[2]), hint: form}
	}
	return false, nil
}

// read makes the rule of one x-descriptor.
func (d Descriptor) read(text string, origin Origin, pathKey string) *parsed {
	p := &parsed{origin: origin}
	name, given, w := descriptorParameters(text)
	p.name = name
	if w == nil {
		w = d.objectType(given)
	}
	if w != nil {
		p.fault = w.fault(origin)
		return p
	}
	expression, w := d.expression()
	if w != nil {
		at := origin
		at.Key = pathKey
		p.fault = w.fault(at)
		return p
	}
	given.values[parameterPath], given.positions[parameterPath] = expression, -1
	rule, w := withPath(name, given)
	if w != nil {
		p.fault = w.fault(origin)
		return p
	}
	rule.Origin = origin
	p.rule = rule
	return p
}

// descriptorParameters takes a descriptor apart: service.binding[:name][:parameter=value…].
func descriptorParameters(text string) (string, *parameters, *wrong) {
	given, name := newParameters(), ""
	at := len(Prefix) + 1
	if len(text) < at {
		return "", given, nil
	}
	for i, segment := range strings.Split(text[at:], ":") {
		switch {
		case segment == "":
			return name, nil, &wrong{at: at, problem: "a name or a parameter is expected after the colon", hint: "leave the colon out"}
		case i == 0 && !strings.Contains(segment, "="):
			if w := checkEntryName(segment); w != nil {
				w.at = at
				return "", nil, w
			}
			name = segment
		default:
			if w := readSegment(given, segment, at); w != nil {
				return name, nil, w
			}
		}
		at += len(segment) + 1
	}
	return name, given, nil
}

func readSegment(given *parameters, segment string, at int) *wrong {
	if key, _, _ := strings.Cut(segment, "="); key == parameterPath {
		return &wrong{at: at, problem: "a descriptor has its path beside it", hint: "leave the parameter path out"}
	}
	w := given.read(segment, at)
	if w != nil && strings.Contains(segment, ",") {
		w.hint = "parameters of a descriptor are separated by colons"
	}
	return w
}

// objectType takes the type of the object from the other x-descriptors.
func (d Descriptor) objectType(given *parameters) *wrong {
	for _, text := range d.XDescriptors {
		kind, ok := strings.CutPrefix(text, objectPrefix)
		if !ok {
			continue
		}
		found := objectTypeOf(kind)
		if found == "" {
			if i := like(parameterValues[parameterObjectType], kind); i >= 0 {
				return &wrong{
					at:      -1,
					problem: "there is no kind " + bounded(kind) + " in " + bounded(text),
					hint:    "write " + objectPrefix + parameterValues[parameterObjectType][i],
				}
			}
			continue
		}
		if given.values[parameterObjectType] == "" {
			given.values[parameterObjectType] = found
		}
		if given.values[parameterObjectType] != found {
			return &wrong{
				at:      -1,
				problem: "the path names a " + given.values[parameterObjectType] + " and a " + found + " at once",
				hint:    "leave one of them out",
			}
		}
	}
	return nil
}

func objectTypeOf(kind string) string {
	if kind == string(ObjectSecret) || kind == string(ObjectConfigMap) {
		return kind
	}
	return ""
}

// rooted is a path that does not stand below the list that it is in.
var rooted = regexp.MustCompile(`^\.|^[{$]|[{}]$`)

// expression is the path as one from the root of the resource.
func (d Descriptor) expression() (string, *wrong) {
	trimmed := strings.TrimSpace(d.Path)
	if trimmed == "" {
		return "", &wrong{problem: "the path is empty", hint: "name a field of the " + d.Root}
	}
	if !utf8.ValidString(d.Path) {
		return "", &wrong{problem: "the path is not UTF-8 text", hint: "write it anew"}
	}
	if found := rooted.FindStringIndex(trimmed); found != nil {
		return "", &wrong{
			at:      found[0],
			problem: "the path of a descriptor begins with a field of the " + d.Root + " and has no braces",
			hint:    "write it as data.url",
		}
	}
	prefix := "." + d.Root + "."
	if strings.HasPrefix(trimmed, "[") {
		prefix = "." + d.Root
	}
	path, err := jsonpath.Parse(prefix + trimmed)
	if err != nil {
		return "", descriptorSyntax(err, len(prefix)-strings.Index(d.Path, trimmed))
	}
	return "{" + path.String() + "}", nil
}

// descriptorSyntax says where the path as it was written is wrong.
func descriptorSyntax(err error, before int) *wrong {
	syntax, ok := err.(*jsonpath.SyntaxError) //nolint:errorlint // jsonpath.Parse promises it
	if !ok {
		return &wrong{problem: err.Error()}
	}
	w := &wrong{at: max(syntax.Position-before, 0), problem: syntax.Message}
	if strings.ContainsAny(syntax.Expression, typographic) {
		w.hint = "take straight quotes, \" or ', instead of typographic ones"
	}
	return w
}

// descriptorsOf reads the descriptors that a ClusterServiceVersion has for a version of a kind.
func descriptorsOf(clusterServiceVersion map[string]any, definition, version string) []*parsed {
	name := text(clusterServiceVersion, "metadata", "name")
	owned, _ := value(clusterServiceVersion, "spec", "customresourcedefinitions", "owned").([]any)
	var all []*parsed
	for i, each := range owned {
		crd, _ := each.(map[string]any)
		if text(crd, "name") != definition {
			continue
		}
		if v := text(crd, "version"); v != "" && v != version {
			continue
		}
		for _, root := range []string{"spec", "status"} {
			key := fmt.Sprintf("spec.customresourcedefinitions.owned[%d].%sDescriptors", i, root)
			all = append(all, descriptorList(crd[root+"Descriptors"], root, Origin{Level: LevelVersion, Object: name, Key: key})...)
		}
	}
	return all
}

func descriptorList(list any, root string, origin Origin) []*parsed {
	entries, _ := list.([]any)
	var all []*parsed
	for i, each := range entries {
		entry, _ := each.(map[string]any)
		d := Descriptor{Root: root, Path: text(entry, "path")}
		xs, _ := entry["x-descriptors"].([]any)
		for _, x := range xs {
			t, _ := x.(string)
			d.XDescriptors = append(d.XDescriptors, t)
		}
		at := origin
		at.Key = fmt.Sprintf("%s[%d]", origin.Key, i)
		all = append(all, parseDescriptor(d, at)...)
	}
	return all
}

// value walks through objects; nil where there is nothing.
func value(object map[string]any, fields ...string) any {
	var at any = object
	for _, field := range fields {
		o, _ := at.(map[string]any)
		at = o[field]
	}
	return at
}

func text(object map[string]any, fields ...string) string {
	t, _ := value(object, fields...).(string)
	return t
}
