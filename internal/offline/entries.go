package offline

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bowline-dev/bowline/internal/node"
)

// secretEntries reads data and stringData; the latter wins, as the API server has it. No error repeats a value.
func secretEntries(d document, name string) (node.Entries, error) {
	what := fmt.Sprintf("Secret %q", name)
	entries := node.Entries{}
	if err := collect(d, entries, part{what, "data", base64.StdEncoding.DecodeString}); err != nil {
		return nil, err
	}
	return entries, collect(d, entries, part{what, "stringData", plain})
}

// configMap is what a ConfigMap holds.
type configMap struct{ data, binary node.Entries }

// configMapEntries reads data and binaryData.
func configMapEntries(d document, name string) (configMap, error) {
	what := fmt.Sprintf("ConfigMap %q", name)
	found := configMap{data: node.Entries{}, binary: node.Entries{}}
	if err := collect(d, found.data, part{what, "data", plain}); err != nil {
		return found, err
	}
	return found, collect(d, found.binary, part{what, "binaryData", base64.StdEncoding.DecodeString})
}

func plain(text string) ([]byte, error) { return []byte(text), nil }

// part is one of the fields that hold entries.
type part struct {
	what, field string
	decode      func(string) ([]byte, error)
}

func collect(d document, into node.Entries, p part) error {
	given := d.object[p.field]
	if given == nil {
		return nil
	}
	values, ok := given.(map[string]any)
	if !ok {
		return d.fault(fmt.Errorf("%s: %s is no map of entries", p.what, p.field), p.field)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if wrong := validation.IsConfigMapKey(key); len(wrong) > 0 {
			return d.fault(fmt.Errorf("%s: %s: entry %q: %s", p.what, p.field, key, strings.Join(wrong, "; ")), p.field, key)
		}
		text, isText := values[key].(string)
		if !isText && values[key] != nil {
			return d.fault(fmt.Errorf("%s: %s: entry %q is no text; put its value in quotes", p.what, p.field, key), p.field, key)
		}
		data, err := p.decode(text)
		if err != nil {
			return d.fault(fmt.Errorf("%s: %s: entry %q is not base64; encode it, or move it to %s",
				p.what, p.field, key, plainField(p.field)), p.field, key)
		}
		into[key] = node.NewValue(data)
	}
	return nil
}

// plainField is the field for what is not encoded.
func plainField(field string) string {
	if field == "binaryData" {
		return "data"
	}
	return "stringData"
}
