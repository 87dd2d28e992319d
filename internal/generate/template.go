package generate

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// Bounds of a template.
const (
	// maxPieces is the number of texts and expressions in a template.
	maxPieces = 64
	// maxRanges is how deep ranges may stand in each other.
	maxRanges = 4
)

// Template is a path as kubectl knows it: text, and any number of expressions {.status.host}, quoted texts {"\n"} and
// ranges {range .items[*]}…{end} within it. It is immutable and safe for concurrent use.
type Template struct {
	text  string
	nodes []templateNode
}

// templateNode is a text, an expression, or a range with a body.
type templateNode struct {
	at   int
	text string
	path *jsonpath.Path
	body []templateNode
	loop bool
}

// String is the template as it was written.
func (t *Template) String() string { return t.text }

// single is the path of a template that is one expression and nothing else.
func (t *Template) single() (*jsonpath.Path, bool) {
	if len(t.nodes) != 1 || t.nodes[0].path == nil || t.nodes[0].loop {
		return nil, false
	}
	return t.nodes[0].path, true
}

// lastField is the name of the field that a template of one expression leads to.
func (t *Template) lastField() (string, bool) {
	path, ok := t.single()
	if !ok {
		return "", false
	}
	return path.LastField()
}

// isFixed says whether a template of one expression consists of fields only, so that it leads to one place.
func (t *Template) isFixed() bool {
	path, ok := t.single()
	if !ok {
		return false
	}
	_, err := jsonpath.ParseFixed(path.String())
	return err == nil
}

// templateParser puts pieces together; open are the ranges that are not closed yet, outermost first.
type templateParser struct {
	nodes []templateNode
	open  []templateNode
}

// parseTemplate reads a template.
func parseTemplate(text string) (*Template, *wrong) {
	if !utf8.ValidString(text) {
		return nil, &wrong{problem: "the path is not UTF-8 text", hint: "write it anew"}
	}
	found, w := pieces(text)
	if w != nil {
		return nil, w
	}
	if len(found) == 0 {
		return nil, &wrong{problem: "the path is empty", hint: "write one such as path={.status.host}"}
	}
	if len(found) > maxPieces {
		return nil, &wrong{at: found[maxPieces].at, problem: "a path has at most " + strconv.Itoa(maxPieces) + " texts and expressions"}
	}
	var p templateParser
	for _, piece := range found {
		if w := p.add(piece); w != nil {
			return nil, w
		}
	}
	if len(p.open) > 0 {
		return nil, &wrong{
			at:      p.open[len(p.open)-1].at,
			problem: "the range is not closed by {end}",
			hint:    `a comma ends the path; in a text it is written {","}`,
		}
	}
	return &Template{text: text, nodes: p.nodes}, nil
}

// here is where the next piece belongs.
func (p *templateParser) here() *[]templateNode {
	if len(p.open) == 0 {
		return &p.nodes
	}
	return &p.open[len(p.open)-1].body
}

func (p *templateParser) add(found piece) *wrong {
	if !found.expression {
		return p.addText(found)
	}
	inner := trimEnd(found.text[1 : len(found.text)-1])
	trimmed := strings.TrimLeft(inner, " \t")
	at := found.at + 1 + len(inner) - len(trimmed)
	switch rest, loop := strings.CutPrefix(trimmed, "range"); {
	case trimmed == "end":
		return p.close(found.at)
	case loop:
		return p.openRange(found.at, rest, at+len("range"))
	case strings.HasPrefix(trimmed, `"`) || strings.HasPrefix(trimmed, "'"):
		text, ok := unquote(trimmed)
		if !ok {
			return &wrong{at: at, problem: "one quoted text is expected in the braces", hint: `write it as {"\n"}`}
		}
		*p.here() = append(*p.here(), templateNode{at: at, text: text})
		return nil
	default:
		path, w := p.path(trimmed, at)
		if w == nil {
			*p.here() = append(*p.here(), templateNode{at: at, path: path})
		}
		return w
	}
}

// trimEnd takes off the spaces at the end, but one that a backslash protects.
func trimEnd(text string) string {
	trimmed := strings.TrimRight(text, " \t")
	backslashes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if len(trimmed) < len(text) && backslashes%2 == 1 {
		return text[:len(trimmed)+1]
	}
	return trimmed
}

func (p *templateParser) addText(found piece) *wrong {
	if i := strings.IndexByte(found.text, '}'); i >= 0 {
		return &wrong{at: found.at + i, problem: "the brace was never opened", hint: `a brace in a text is written {"}"}`}
	}
	if strings.HasPrefix(found.text, ".") && found.at == 0 || strings.HasPrefix(found.text, "$.") {
		return &wrong{at: found.at, problem: "an expression stands in braces", hint: "write {" + strings.TrimSpace(found.text) + "}"}
	}
	*p.here() = append(*p.here(), templateNode{at: found.at, text: found.text})
	return nil
}

func (p *templateParser) openRange(at int, expression string, expressionAt int) *wrong {
	if len(p.open) == maxRanges {
		return &wrong{at: at, problem: "at most " + strconv.Itoa(maxRanges) + " ranges may stand in each other"}
	}
	trimmed := strings.TrimLeft(expression, " \t")
	path, w := p.path(trimmed, expressionAt+len(expression)-len(trimmed))
	if w != nil {
		return w
	}
	p.open = append(p.open, templateNode{at: at, path: path, loop: true})
	return nil
}

func (p *templateParser) close(at int) *wrong {
	if len(p.open) == 0 {
		return &wrong{at: at, problem: "there is no range to end", hint: "open one with {range .items[*]}"}
	}
	last := len(p.open) - 1
	ended := p.open[last]
	p.open = p.open[:last]
	*p.here() = append(*p.here(), ended)
	return nil
}

// path reads one expression. Within a range it begins at the element, which kubectl calls @ and $ alike.
func (p *templateParser) path(expression string, at int) (*jsonpath.Path, *wrong) {
	if strings.HasPrefix(expression, "$") && len(p.open) > 0 {
		return nil, &wrong{
			at:      at,
			problem: "within a range, $ means the element to kubectl and the root to others",
			hint:    "write @ for the element",
		}
	}
	if strings.HasPrefix(expression, "@") {
		expression = "$" + expression[1:]
	}
	path, err := jsonpath.Parse(expression)
	if err == nil {
		return path, nil
	}
	var syntax *jsonpath.SyntaxError
	if !errors.As(err, &syntax) {
		return nil, &wrong{at: at, problem: err.Error()}
	}
	w := &wrong{at: at + syntax.Position, problem: syntax.Message}
	if strings.ContainsAny(expression, typographic) {
		w.hint = "take straight quotes, \" or ', instead of typographic ones"
	}
	return nil, w
}

// unquote reads one quoted text, with the escapes of Go.
func unquote(text string) (string, bool) {
	quote := text[0]
	if len(text) < 2 || text[len(text)-1] != quote {
		return "", false
	}
	var b strings.Builder
	for rest := text[1 : len(text)-1]; rest != ""; {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return "", false
		}
		if multibyte || r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r)) //nolint:gosec // an escaped byte such as \xff is below 256
		}
		rest = tail
	}
	return b.String(), true
}
