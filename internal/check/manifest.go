package check

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/node"
)

// Object is one object of a cluster or of a file.
type Object struct {
	unstructured.Unstructured

	// Origin is file and line; "" for a cluster.
	Origin string
	// Asked says that a person named this very object.
	Asked bool
}

// byteOrderMark is what some editors put before a text.
const byteOrderMark = "\ufeff"

// ManifestError says that a file holds something that is no manifest.
type ManifestError struct {
	// Origin is file and line.
	Origin string
	// Problem says what is wrong. It holds nothing of the file.
	Problem string
}

// Error says where and what.
func (e *ManifestError) Error() string { return Printable(e.Origin + ": " + e.Problem) }

var (
	separator  = regexp.MustCompile(`(?m)^(?:---|\.\.\.)(?:[ \t]|\r?$)`)
	lineNumber = regexp.MustCompile(`line (\d+)`)
	notesFirst = regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\r?\n)*`)
	onlyNotes  = regexp.MustCompile(`^(?:\s*(?:#.*)?\n)*\s*(?:#.*)?$`)
)

// Parse reads the objects of a file of YAML documents, or of JSON objects in a row.
func Parse(file, text string) ([]Object, error) {
	var all []Object
	line, rest := 1, strings.TrimPrefix(text, byteOrderMark)
	for rest != "" {
		document := rest
		next := ""
		if at := separator.FindStringIndex(rest); at != nil {
			document, next = rest[:at[0]], rest[at[1]:]
		}
		found, err := parseInARow(file, line, document)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		line += strings.Count(rest[:len(rest)-len(next)], "\n")
		rest = next
	}
	return all, nil
}

// parseInARow reads the objects of one document, which are several where JSON objects follow each other: of these the YAML library
// reads the first and passes over the others without a word.
func parseInARow(file string, line int, document string) ([]Object, error) {
	var all []Object
	for document != "" {
		end := firstObject(document)
		found, err := parseDocument(file, line, document[:end])
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		line += strings.Count(document[:end], "\n")
		document = document[end:]
	}
	return all, nil
}

// firstObject is where the JSON object that a text begins with ends; the end of the text where there is none, or nothing behind it.
func firstObject(text string) int {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return len(text)
	}
	var object json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&object) != nil || onlyNotes.MatchString(text[decoder.InputOffset():]) {
		return len(text)
	}
	return int(decoder.InputOffset())
}

// Printable returns a text as it is, or in quotes and with escapes where it holds what would steer a terminal or begin a line.
func Printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	return strconv.Quote(text)
}

// parseDocument reads one document. What the YAML library says of a fault may quote the document, a password in it too, so
// only the line is taken from it.
func parseDocument(file string, line int, document string) ([]Object, error) {
	if onlyNotes.MatchString(document) {
		return nil, nil
	}
	begin := line + strings.Count(notesFirst.FindString(document), "\n")
	var content map[string]any
	if err := unmarshal(document, &content); err != nil {
		at := begin
		if match := lineNumber.FindStringSubmatch(err.Error()); match != nil {
			n, _ := strconv.Atoi(match[1])
			at = line + max(n, 1) - 1
		}
		return nil, &ManifestError{fmt.Sprintf("%s:%d", file, at), "this is no YAML that can be read, or no object"}
	}
	origin := fmt.Sprintf("%s:%d", file, begin)
	object := Object{Unstructured: unstructured.Unstructured{Object: content}, Origin: origin}
	if object.GetAPIVersion() == "" || object.GetKind() == "" {
		return nil, &ManifestError{origin, "the object has no apiVersion or no kind"}
	}
	if !object.IsList() {
		return []Object{object}, nil
	}
	var all []Object
	err := object.EachListItem(func(item runtime.Object) error {
		if each, ok := item.(*unstructured.Unstructured); ok {
			all = append(all, Object{Unstructured: *each, Origin: origin})
		}
		return nil
	})
	if err != nil {
		return nil, &ManifestError{origin, "the list holds what is no object"}
	}
	return all, nil
}

// unmarshal reads whole numbers as such, so that an object that is passed on is what it was.
func unmarshal(document string, into *map[string]any) error {
	text, err := yaml.YAMLToJSONStrict([]byte(document))
	if err != nil {
		return err //nolint:wrapcheck // the caller takes the line from it, and nothing else
	}
	return utiljson.Unmarshal(text, into) //nolint:wrapcheck // as above
}

// data reads the entries of a Secret. stringData wins, as in the API server.
func data(secret *Object) (map[string]node.Value, error) {
	all := map[string]node.Value{}
	encoded, _, err := unstructured.NestedMap(secret.Object, "data")
	if err != nil {
		return nil, &ManifestError{secret.place(), "data is no map of texts"}
	}
	for name, value := range encoded {
		text, ok := value.(string)
		decoded, err := base64.StdEncoding.DecodeString(text)
		if !ok && value != nil || err != nil {
			return nil, &ManifestError{secret.place(), fmt.Sprintf("data.%s is no base64: encode it, or put it into stringData", name)}
		}
		all[name] = node.NewValue(decoded)
	}
	plain, _, err := unstructured.NestedMap(secret.Object, "stringData")
	if err != nil {
		return nil, &ManifestError{secret.place(), "stringData is no map of texts"}
	}
	for name, value := range plain {
		text, ok := value.(string)
		if !ok && value != nil {
			return nil, &ManifestError{secret.place(), fmt.Sprintf("stringData.%s is no text: put quotes around it", name)}
		}
		all[name] = node.NewValue([]byte(text))
	}
	return all, nil
}

func (o *Object) place() string {
	if o.Origin == "" {
		return o.label()
	}
	return o.Origin + ": " + o.label()
}

// label is how a person names the object.
func (o *Object) label() string {
	kind := strings.ToLower(o.GetKind())
	if group := o.GroupVersionKind().Group; group != "" && group != bindingGroup {
		kind += "." + group
	}
	return kind + "/" + o.GetName()
}
