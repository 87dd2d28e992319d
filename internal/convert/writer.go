package convert

import (
	"errors"
	"fmt"

	draftv1alpha1 "github.com/bowline-dev/bowline/api/draft/v1alpha1"
	"github.com/bowline-dev/bowline/internal/compose"
	"github.com/bowline-dev/bowline/internal/template"
)

var errTooMuch = errors.New("put into each other, its templates are too much")

// writer writes templates over entries as templates over a path within a Secret.
type writer struct {
	entries   map[string][]byte
	templates compose.Templates
	mapped    map[string]string
	source    string // what tokens call the Secret
	pieces    int
}

func newWriter(entries map[string][]byte, t compose.Templates, source draftv1alpha1.SourceReference) *writer {
	w := &writer{entries: entries, templates: t, mapped: map[string]string{}, source: either(source.ID, source.Name)}
	for _, mapping := range t.Mappings {
		w.mapped[mapping.Name] = mapping.Value
	}
	return w
}

// mappings makes every entry that was derived, but those that the service's type and provider make.
func (w *writer) mappings(derived *compose.Derived) ([]draftv1alpha1.Mapping, error) {
	variables := map[string]string{}
	for i, variable := range derived.Env {
		variables[variable.Key] = w.templates.Env[i].Value
	}
	var all []draftv1alpha1.Mapping
	for _, key := range sorted(derived.Data) {
		pieces, err := w.entry(key, variables)
		if err != nil {
			return nil, err
		}
		if pieces != nil {
			all = append(all, draftv1alpha1.Mapping{Name: key, Value: template.Join(pieces...)})
		}
	}
	return all, nil
}

// entry is the template of one entry; nil for one that needs none.
func (w *writer) entry(key string, variables map[string]string) ([]template.Piece, error) {
	_, given := w.entries[key]
	text, mapped := w.mapped[key]
	switch {
	case mapped:
		return w.expand(text, w.inMapping)
	case w.override(key) != "":
		return nil, nil
	case given:
		return w.token(key), nil
	default:
		return w.expand(variables[key], w.inVariable)
	}
}

// expand puts what stands for each token in its place.
func (w *writer) expand(text string, meaning func(name string) ([]template.Piece, error)) ([]template.Piece, error) {
	parsed, err := template.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading a template: %w", err)
	}
	all := []template.Piece{}
	for _, piece := range parsed.Pieces() {
		if w.pieces++; w.pieces > mostPieces {
			return nil, errTooMuch
		}
		if !piece.IsToken {
			all = append(all, piece)
			continue
		}
		meant, err := meaning(piece.Text)
		if err != nil {
			return nil, err
		}
		all = append(all, meant...)
	}
	return all, nil
}

// inMapping is what a token stands for in a mapping: the entry, and where there is none, another mapping.
func (w *writer) inMapping(name string) ([]template.Piece, error) {
	if value := w.override(name); value != "" {
		return []template.Piece{{Text: value}}, nil
	}
	if _, given := w.entries[name]; given {
		return w.token(name), nil
	}
	return w.expand(w.mapped[name], w.inMapping)
}

// inVariable is what a token stands for in a variable: the mapping, and where there is none, the entry.
func (w *writer) inVariable(name string) ([]template.Piece, error) {
	if text, mapped := w.mapped[name]; mapped {
		return w.expand(text, w.inMapping)
	}
	return w.inMapping(name)
}

// override is what the binding puts in the place of an entry; empty for nothing.
func (w *writer) override(key string) string {
	switch key {
	case typeEntry:
		return w.templates.Type
	case providerEntry:
		return w.templates.Provider
	default:
		return ""
	}
}

// token takes an entry of the Secret as it is.
func (w *writer) token(key string) []template.Piece {
	path := "['" + key + "']"
	if plainKey.MatchString(key) {
		path = "." + key
	}
	return []template.Piece{{Text: w.source + ".data" + path, IsToken: true}}
}
