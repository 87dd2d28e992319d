package compose

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/template"
)

// rootVariable names the directory of all bindings in a container.
const rootVariable = "SERVICE_BINDING_ROOT"

// Mapping makes an entry from a template.
type Mapping struct {
	// Name of the entry.
	Name string
	// Value is the template.
	Value string
}

// Variable makes an environment variable from a template.
type Variable struct {
	// Name of the variable.
	Name string
	// Value is the template.
	Value string
}

// Templates are what a binding makes of the entries of its service's Secret.
type Templates struct {
	// Type and Provider are put in the place of the entries of those names, unless they are empty.
	Type, Provider string
	// Mappings make entries.
	Mappings []Mapping
	// Env makes environment variables, which see the entries that mappings made.
	Env []Variable
}

// CheckTemplates tells what is wrong with a binding's templates whatever the Secret may hold. The path is that of the spec.
func CheckTemplates(t Templates, at *field.Path) field.ErrorList {
	faults, _ := compile(t, at)
	return faults.List()
}

// compiled is a template that was parsed, and where it was written.
type compiled struct {
	name string
	at   *field.Path
	// parsed is nil where the template, its name or a token is at fault, which was told already.
	parsed *template.Template
}

// program is what a binding's templates are made into.
type program struct {
	mappings []compiled
	byName   map[string]int
	env      []compiled
}

func compile(t Templates, at *field.Path) (Faults, program) {
	c := &compiler{at: at}
	mappings := c.mappings(t.Mappings, t.Type, t.Provider)
	env := c.env(t.Env)
	for _, list := range [][]compiled{mappings, env} {
		for i := range list {
			c.keys(&list[i])
		}
	}
	byName := make(map[string]int, len(mappings))
	for i, m := range mappings {
		if _, taken := byName[m.name]; !taken {
			byName[m.name] = i
		}
	}
	return c.faults, program{mappings: mappings, byName: byName, env: env}
}

// compiler parses templates and gathers what is wrong with them.
type compiler struct {
	report

	at     *field.Path
	tokens int
}

// mappings parses the mappings. None may name an entry that the object replaces by a value of its own.
func (c *compiler) mappings(mappings []Mapping, ownType, ownProvider string) []compiled {
	at := c.at.Child("mappings")
	if len(mappings) > MaxMappings {
		c.tooMany(at, len(mappings), MaxMappings)
		return nil
	}
	seen := make(map[string]bool, len(mappings))
	list := make([]compiled, 0, len(mappings))
	for i, m := range mappings {
		before := len(c.faults)
		name := at.Index(i).Child("name")
		c.entryName(m.Name, name)
		if m.Name != "" && seen[m.Name] {
			c.duplicate(name, m.Name, "another mapping makes this entry", "give each mapping a name of its own")
		}
		seen[m.Name] = true
		if m.Name == typeEntry && ownType != "" || m.Name == providerEntry && ownProvider != "" {
			c.invalid(name, m.Name, fmt.Sprintf("must not be %q while %s is set, which says the same", m.Name, c.at.Child(m.Name)),
				"remove one of the two")
		}
		one := c.parse(m.Value, at.Index(i).Child("value"))
		one.name = m.Name
		if len(c.faults) > before {
			one.parsed = nil
		}
		list = append(list, one)
	}
	return list
}

func (c *compiler) entryName(name string, at *field.Path) {
	if name == "" {
		c.required(at, "must name the entry to make")
		return
	}
	if broken := validation.IsConfigMapKey(name); len(broken) > 0 {
		c.invalid(at, name, strings.Join(broken, "; "), "use a key that a Secret can hold")
	}
}

func (c *compiler) env(env []Variable) []compiled {
	at := c.at.Child("env")
	if len(env) > MaxEnv {
		c.tooMany(at, len(env), MaxEnv)
		return nil
	}
	seen := make(map[string]bool, len(env))
	list := make([]compiled, 0, len(env))
	for i, e := range env {
		before := len(c.faults)
		name := at.Index(i).Child("name")
		c.variableName(e.Name, name)
		if e.Name != "" && seen[e.Name] {
			c.duplicate(name, e.Name, "another item sets this variable", "give each item a name of its own")
		}
		seen[e.Name] = true
		one := c.parse(e.Value, at.Index(i).Child("value"))
		one.name = e.Name
		if len(c.faults) > before {
			one.parsed = nil
		}
		list = append(list, one)
	}
	return list
}

func (c *compiler) variableName(name string, at *field.Path) {
	switch name {
	case "":
		c.required(at, "must name the environment variable to set")
	case rootVariable:
		c.invalid(at, name, "must not be "+rootVariable+", which names the directory of all bindings", "choose another variable")
	default:
		if broken := validation.IsRelaxedEnvVarName(name); len(broken) > 0 {
			c.invalid(at, name, strings.Join(broken, "; "), "choose a name that a container accepts")
		}
	}
}

func (c *compiler) parse(text string, at *field.Path) compiled {
	parsed, err := template.Parse(text)
	if err != nil {
		c.unreadable(at, text, err)
		return compiled{at: at}
	}
	before := c.tokens
	c.tokens += len(parsed.Tokens())
	if before <= MaxTokens && c.tokens > MaxTokens {
		c.forbidden(at, fmt.Sprintf("with this template there are more than %d tokens in all", MaxTokens), "use fewer")
	}
	if c.tokens > MaxTokens {
		parsed = nil
	}
	return compiled{at: at, parsed: parsed}
}

// keys sees that each token can name an entry.
func (c *compiler) keys(one *compiled) {
	if one.parsed == nil {
		return
	}
	broken := false
	for _, token := range one.parsed.Tokens() {
		if len(validation.IsConfigMapKey(token.Name)) > 0 {
			broken = true
			c.within(placeOf(one.at, token), fmt.Sprintf("no Secret can have an entry %q", brief(token.Name)),
				"name an entry with letters, digits, '-', '_' and '.'")
		}
	}
	if broken {
		one.parsed = nil
	}
}

func placeOf(at *field.Path, token template.Token) place {
	return place{at: at, position: token.Position, text: "((" + token.Name + "))"}
}
