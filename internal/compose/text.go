package compose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// errSize says that a text would be larger than it may.
var errSize = errors.New("the value is too large")

// textOf writes values as an entry has them: strings as they are, byte for byte, numbers and booleans as kubectl prints them,
// objects and lists as compact JSON with sorted keys; and a space between several. It gives up, with errSize, soon after the
// text is larger than it may be; small ones may be a little larger.
func textOf(values []any, most int) ([]byte, error) {
	w := &writer{most: most}
	w.json = json.NewEncoder(&w.out)
	w.json.SetEscapeHTML(false)
	for i, value := range values {
		if i > 0 {
			w.out.WriteByte(' ')
		}
		if err := w.plain(value); err != nil {
			return nil, err
		}
	}
	return w.out.Bytes(), nil
}

// writer writes values, and gives up soon after the text is too large.
type writer struct {
	out  bytes.Buffer
	json *json.Encoder
	most int
}

// fits says whether at least so many bytes may follow.
func (w *writer) fits(bytes int) error {
	if w.out.Len()+bytes > w.most {
		return errSize
	}
	return nil
}

func (w *writer) plain(value any) error {
	switch v := value.(type) {
	case nil:
		return errors.New("the value is null")
	case string:
		if err := w.fits(len(v)); err != nil {
			return err
		}
		w.out.WriteString(v)
		return nil
	case map[string]any, []any:
		return w.structured(v, 0)
	default:
		_, err := fmt.Fprint(&w.out, v)
		return err //nolint:wrapcheck // a buffer gives no error
	}
}

func (w *writer) structured(value any, depth int) error {
	if depth > jsonpath.MaxDepth {
		return &adviceError{problem: fmt.Sprintf("the value has more than %d levels", jsonpath.MaxDepth), hint: "take a part of it"}
	}
	switch v := value.(type) {
	case map[string]any:
		return w.object(v, depth)
	case []any:
		return w.list(v, depth)
	case string:
		if !utf8.ValidString(v) {
			return &adviceError{problem: "the value holds bytes that are no text, which JSON cannot have", hint: "take each entry by itself"}
		}
		if err := w.fits(len(v)); err != nil {
			return err
		}
	}
	if err := w.json.Encode(value); err != nil {
		return &adviceError{problem: "the value holds a number that JSON cannot have", hint: "take a part of it"}
	}
	w.out.Truncate(w.out.Len() - 1) // the end of the line
	return w.fits(0)
}

func (w *writer) object(object map[string]any, depth int) error {
	least := 0
	for key := range object {
		least += len(key) + len(`"":0,`)
	}
	// Nothing is sorted that will not fit.
	if err := w.fits(least); err != nil {
		return err
	}
	w.out.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.structured(key, depth+1); err != nil {
			return err
		}
		w.out.WriteByte(':')
		if err := w.structured(object[key], depth+1); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}

func (w *writer) list(list []any, depth int) error {
	w.out.WriteByte('[')
	for i, element := range list {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.structured(element, depth+1); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}
