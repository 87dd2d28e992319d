package compose

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/jsonpath"
	"github.com/bowline-dev/bowline/internal/template"
)

// sourceID is the form of a source's id.
var sourceID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)

// recipe is a mapping of a synthetic service, with what each of its tokens, in their order, leads to.
type recipe struct {
	compiled

	targets []target
}

// target is a path within a source.
type target struct {
	token  template.Token
	source int
	path   *jsonpath.Path
}

// chef makes recipes, and gathers what is wrong with them.
type chef struct {
	compiler

	given   []Source
	recipes []recipe
}

func compileSynthetic(s Synthetic, at *field.Path) *chef {
	c := &chef{compiler: compiler{at: at}, given: s.Sources}
	c.sources(at.Child("services"))
	makesType := slices.ContainsFunc(s.Mappings, func(m Mapping) bool { return m.Name == typeEntry })
	if s.Type == "" && !makesType {
		c.required(at.Child("type"), `must say what the service is, such as postgresql; set it, or make the entry "type" by a mapping`)
	}
	if len(s.Sources) > MaxServices {
		return c
	}
	for i, one := range c.mappings(s.Mappings, s.Type, s.Provider) {
		c.recipes = append(c.recipes, c.recipe(one, s.Mappings[i].Value))
	}
	return c
}

func (c *chef) sources(at *field.Path) {
	if len(c.given) == 0 {
		c.required(at, "must name at least one resource to take values from")
	}
	if len(c.given) > MaxServices {
		c.tooMany(at, len(c.given), MaxServices)
		return
	}
	for i, s := range c.given {
		c.source(s, at.Index(i))
		before := c.given[:i]
		if s.ID != "" && slices.ContainsFunc(before, func(other Source) bool { return other.ID == s.ID }) {
			c.duplicate(at.Index(i).Child("id"), s.ID, "another source has this id", "give each source an id of its own")
		}
		same := func(other Source) bool {
			return other.APIVersion == s.APIVersion && other.Kind == s.Kind && other.Name == s.Name
		}
		if s.Name != "" && slices.ContainsFunc(before, same) {
			c.duplicate(at.Index(i), s.String(), "this resource is listed already", "list each resource once")
		}
	}
}

func (c *chef) source(s Source, at *field.Path) {
	if s.ID != "" && !sourceID.MatchString(s.ID) {
		c.invalid(at.Child("id"), s.ID, "must match [A-Za-z0-9_-]{1,63}", "use letters, digits, '-' and '_'")
	}
	c.apiVersion(s.APIVersion, at.Child("apiVersion"))
	switch {
	case s.Kind == "":
		c.required(at.Child("kind"), "must be the kind of a resource, such as Secret")
	case len(validation.IsDNS1035Label(strings.ToLower(s.Kind))) > 0:
		c.invalid(at.Child("kind"), s.Kind, "must be the kind of a resource", "use the resource's kind, such as Secret")
	}
	if s.Name == "" {
		c.required(at.Child("name"), "must name a resource of this kind")
	} else if broken := content.IsPathSegmentName(s.Name); len(broken) > 0 {
		c.invalid(at.Child("name"), s.Name, strings.Join(broken, "; "), "use the .metadata.name of the resource")
	}
}

func (c *chef) apiVersion(text string, at *field.Path) {
	const advice = "must be <group>/<version>, or <version> alone for the core group, such as apps/v1 or v1"
	if text == "" {
		c.required(at, advice)
		return
	}
	version, err := schema.ParseGroupVersion(text)
	wrong := err != nil || len(validation.IsDNS1035Label(version.Version)) > 0 ||
		strings.Contains(text, "/") && len(validation.IsDNS1123Subdomain(version.Group)) > 0
	if wrong {
		c.invalid(at, text, advice, "use the resource's apiVersion")
	}
}

// recipe finds out what the tokens of a mapping lead to.
func (c *chef) recipe(one compiled, text string) recipe {
	r := recipe{compiled: one}
	if one.parsed == nil {
		return r
	}
	for _, token := range one.parsed.Tokens() {
		if found, ok := c.target(one.at, text, token); ok {
			r.targets = append(r.targets, found)
		}
	}
	return r
}

func (c *chef) target(at *field.Path, text string, token template.Token) (target, bool) {
	here := placeOf(at, token)
	name, candidates := called(c.given, token.Name)
	switch len(candidates) {
	case 0:
		c.within(here, fmt.Sprintf("no source is called %q", brief(firstWord(token.Name))),
			"a token is <source>.<path>; sources are: "+callings(c.given))
		return target{}, false
	case 1:
	default:
		c.within(here, fmt.Sprintf("%d sources are called %q: %s", len(candidates), brief(name), listed(c.given, candidates)),
			"give each an id in spec.services, and call it by that")
		return target{}, false
	}
	expression := token.Name[len(name):]
	path, err := jsonpath.Parse(expression)
	if expression == "" || err == nil && path.String() == "$" {
		c.within(here, "a whole resource is no value", "name a field of it, such as (("+brief(name)+".status.host))")
		return target{}, false
	}
	if err == nil {
		return target{token: token, source: candidates[0], path: path}, true
	}
	problem, offset := err.Error(), token.NameOffset+len(name)
	if syntax, ok := errors.AsType[*jsonpath.SyntaxError](err); ok {
		problem = "the path is not understood: " + syntax.Message
		offset += syntax.Position
	}
	here.position = token.After(text[token.Offset:offset])
	c.within(here, problem, "use the JSONPath of kubectl, such as .status.host or ['tls.crt']")
	return target{}, false
}

// called finds the sources that a token may mean, and what it calls them: the longest id or name that a dot or a bracket follows.
// An id wins over a name.
func called(sources []Source, token string) (string, []int) {
	name := ""
	var byID, byName []int
	for i, s := range sources {
		for _, calling := range []string{s.ID, s.Name} {
			if !calls(token, calling) || len(calling) < len(name) {
				continue
			}
			if len(calling) > len(name) {
				name, byID, byName = calling, nil, nil
			}
			if calling == s.ID {
				byID = append(byID, i)
				break
			}
			byName = append(byName, i)
		}
	}
	if len(byID) > 0 {
		return name, byID
	}
	return name, byName
}

func calls(token, name string) bool {
	rest, ok := strings.CutPrefix(token, name)
	return ok && name != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func firstWord(token string) string {
	if end := strings.IndexAny(token, ".["); end > 0 {
		return token[:end]
	}
	return token
}

// callings are what tokens may call the sources.
func callings(sources []Source) string {
	all := make([]string, 0, len(sources))
	for _, s := range sources {
		all = append(all, brief(s.Name))
		if s.ID != "" {
			all[len(all)-1] = brief(s.ID)
		}
	}
	return names(all)
}

func listed(sources []Source, indexes []int) string {
	all := make([]string, 0, len(indexes))
	for _, i := range indexes {
		all = append(all, brief(sources[i].Kind)+" of "+brief(sources[i].APIVersion))
	}
	return names(all)
}
