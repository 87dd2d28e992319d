package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// document is one object as it stands in a file.
type document struct {
	object map[string]any
	// node tells lines; nil where only the first line is known.
	node *yamlv3.Node
	// at is where the object begins; offset is how many lines of the file come before the text that node is of.
	at     Place
	offset int
}

// place returns where a field of the object stands, or what is nearest above it.
func (d document) place(path ...string) Place {
	node, at := d.node, d.at
	for _, name := range path {
		key, value := child(node, name)
		if value == nil {
			break
		}
		at.Line, node = key.Line+d.offset, value
	}
	return at
}

// child returns what stands under a name, and the node whose line tells where: the key, or the item of a list itself.
func child(node *yamlv3.Node, name string) (key, value *yamlv3.Node) {
	if node == nil {
		return nil, nil
	}
	switch node.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == name {
				return node.Content[i], node.Content[i+1]
			}
		}
	case yamlv3.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	case yamlv3.AliasNode:
		return child(node.Alias, name)
	}
	return nil, nil
}

func (d document) fault(err error, path ...string) error {
	return &Fault{At: d.place(path...), Err: err}
}

// chunk is the text of one YAML document, with how many lines come before it.
type chunk struct {
	text   []byte
	offset int
}

// split takes a file apart at its document separators, and between JSON objects that follow each other: of what comes in a row
// the YAML library reads the first only.
func split(text []byte) []chunk {
	var all []chunk
	for _, c := range splitDocuments(text) {
		for end := firstObject(c.text); end < len(c.text); end = firstObject(c.text) {
			all = append(all, chunk{text: c.text[:end], offset: c.offset})
			c.offset += bytes.Count(c.text[:end], []byte("\n"))
			c.text = c.text[end:]
		}
		all = append(all, c)
	}
	return all
}

// firstObject is where the JSON object ends that a text begins with; the end of the text where there is none.
func firstObject(text []byte) int {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return len(text)
	}
	var object json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(text))
	if decoder.Decode(&object) != nil {
		return len(text)
	}
	return int(decoder.InputOffset())
}

func splitDocuments(text []byte) []chunk {
	var all []chunk
	current, line := chunk{}, 0
	for raw := range bytes.Lines(text) {
		if marks(raw, "---") {
			all = append(all, current)
			current = chunk{offset: line}
		}
		line++
		if marks(raw, "...") {
			all = append(all, current)
			current = chunk{offset: line}
			continue
		}
		current.text = append(current.text, raw...)
	}
	return append(all, current)
}

// marks says whether a line is a mark of three characters, such as that between documents.
func marks(line []byte, mark string) bool {
	rest, found := bytes.CutPrefix(line, []byte(mark))
	return found && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// parse returns the objects of a file in their order, those of lists each by itself.
func parse(f File) ([]document, error) {
	var all []document
	for _, c := range split(f.Text) {
		d, ok, err := parseChunk(f.Name, c)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		found, err := flatten(d)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// parseChunk reads one document; ok is false for one that holds nothing.
func parseChunk(name string, c chunk) (d document, ok bool, err error) {
	d = document{at: Place{name, c.offset + 1}, offset: c.offset}
	data, err := yaml.YAMLToJSONStrict(c.text)
	if err != nil {
		return d, false, unreadable(d.at, err)
	}
	if string(data) == "null" {
		return d, false, nil
	}
	var root yamlv3.Node
	if yamlv3.Unmarshal(c.text, &root) == nil && len(root.Content) == 1 {
		d.node = root.Content[0]
		d.at.Line = c.offset + d.node.Line
	}
	if data[0] != '{' {
		return d, false, d.fault(errors.New("this is no object, which has apiVersion, kind and metadata"))
	}
	if err := utiljson.Unmarshal(data, &d.object); err != nil {
		return d, false, d.fault(errors.New("this is no object"))
	}
	return d, true, nil
}

var (
	lineNumber = regexp.MustCompile(`line (\d+): `)
	// quoted and anchored are the parts of a parser's message that repeat a value.
	quoted   = regexp.MustCompile("`[^`]*`")
	anchored = regexp.MustCompile(`anchor '[^']*'`)
)

// unreadable makes a fault of a parser's message, which counts lines from where the document begins.
func unreadable(at Place, err error) error {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	text = strings.TrimSpace(strings.TrimPrefix(text, "unmarshal errors:"))
	text, _, _ = strings.Cut(text, "\n")
	if found := lineNumber.FindStringSubmatchIndex(text); found != nil {
		if n, err := strconv.Atoi(text[found[2]:found[3]]); err == nil {
			at.Line += n - 1
		}
		text = text[found[1]:]
	}
	text = anchored.ReplaceAllString(quoted.ReplaceAllString(text, "a value"), "anchor")
	return &Fault{At: at, Err: fmt.Errorf("this is no YAML: %s", text)}
}

// flatten returns the items of a list as objects of their own, and anything else as it is.
func flatten(d document) ([]document, error) {
	kind, _ := d.object["kind"].(string)
	element, isList := strings.CutSuffix(kind, "List")
	items, hasItems := d.object["items"].([]any)
	if !isList || !hasItems {
		if kind == "List" {
			return nil, nil // one without items
		}
		return []document{d}, nil
	}
	var all []document
	for i := range items {
		one, err := d.item(i, element)
		if err != nil {
			return nil, err
		}
		found, err := flatten(one)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// item returns one item of a list of elements of a kind, which items of a typed list leave out; "" for any kind.
func (d document) item(i int, kind string) (document, error) {
	items, _ := d.object["items"].([]any)
	at := []string{"items", strconv.Itoa(i)}
	object, ok := items[i].(map[string]any)
	if !ok {
		return d, d.fault(errors.New("this item of a list is no object"), at...)
	}
	if kind != "" && object["kind"] == nil {
		object["apiVersion"], object["kind"] = d.object["apiVersion"], kind
	}
	one := document{object: object, at: d.place(at...), offset: d.offset}
	_, list := child(d.node, "items")
	_, one.node = child(list, at[1])
	return one, nil
}

// identity returns an object's kind, namespace and name.
func (d document) identity() (kind schema.GroupVersionKind, namespace, name string, err error) {
	apiVersion, _ := d.object["apiVersion"].(string)
	text, _ := d.object["kind"].(string)
	gv, parsing := schema.ParseGroupVersion(apiVersion)
	switch {
	case apiVersion == "" || text == "":
		return kind, "", "", d.fault(errors.New("this is no object of Kubernetes: apiVersion and kind must be set"))
	case parsing != nil:
		return kind, "", "", d.fault(fmt.Errorf("apiVersion %q is not of the form GROUP/VERSION", apiVersion), "apiVersion")
	}
	metadata, _ := d.object["metadata"].(map[string]any)
	name, _ = metadata["name"].(string)
	namespace, _ = metadata["namespace"].(string)
	if name == "" {
		return kind, "", "", d.fault(fmt.Errorf("this %s has no metadata.name", text), "metadata")
	}
	return gv.WithKind(text), namespace, name, nil
}
