package bindings

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

// typed reads a binding as one of a type of the catalogue: by whichever spelling of an entry is there. It keeps the first error,
// so that one look at it after all reading is enough.
type typed struct {
	*Binding

	kind *catalogue.Type
	err  error
}

func (b *Binding) as(kind string) *typed {
	return &typed{Binding: b, kind: catalogue.Default().Type(kind)}
}

// optional returns an entry by the name that the catalogue has for it, and the first spelling that is there and not empty; "" for
// none. Its value keeps the entry's rule, or there is an error.
func (t *typed) optional(name string) (spelling string, value Value) {
	entry := t.kind.Entry(name)
	filled := slices.DeleteFunc(entry.Spellings(), func(s string) bool { return !t.filled(s) })
	spelling, value, ok := t.first(filled)
	if !ok || t.err != nil {
		return "", Value{}
	}
	if err := t.malformed(spelling, entry.Check(value.bytes())); err != nil {
		t.err = err
		return "", Value{}
	}
	return spelling, value
}

// filled says whether an entry is there and holds more than a line break. Producers leave empty what they have no value for.
func (b *Binding) filled(spelling string) bool { return b.entries[spelling].Text() != "" }

// text returns an optional entry as text: without white space around it, but for what is a text by its rule.
func (t *typed) text(name string) string {
	_, value := t.optional(name)
	if t.kind.Entry(name).Rule == catalogue.Text {
		return value.Text()
	}
	return strings.TrimSpace(string(value.bytes()))
}

// required returns an entry as text, and keeps an error where it is not there.
func (t *typed) required(name string) string {
	text := t.text(name)
	if text != "" || t.err != nil {
		return text
	}
	spellings := t.kind.Entry(name).Spellings()
	_, _, empty := t.first(spellings)
	t.err = &MissingError{Binding: t.name, Spellings: spellings, Empty: empty}
	return ""
}

// boolean returns an optional entry, false where it is not there.
func (t *typed) boolean(name string) bool { return strings.EqualFold(t.text(name), "true") }

// file returns the path of the file of an optional entry; "" where it is not there.
func (t *typed) file(name string) string {
	spelling, _ := t.optional(name)
	if spelling == "" {
		return ""
	}
	return filepath.Join(t.dir, spelling)
}

// fail keeps an error about an entry, unless there is an earlier one.
func (t *typed) fail(entry string, err error) {
	if t.err == nil {
		t.err = t.malformed(entry, err)
	}
}

// whole returns the entry that says all by itself, if its scheme is one of some, and the spelling that is there.
func (t *typed) whole(schemes ...string) (spelling, text string) {
	entry := t.kind.Entry(entryURI)
	for _, spelling := range entry.Spellings() {
		value, ok := t.Value(spelling)
		if !ok {
			continue
		}
		text := strings.TrimSpace(string(value.bytes()))
		scheme, _, _ := strings.Cut(text, "://")
		for _, wanted := range schemes {
			if strings.EqualFold(scheme, wanted) {
				t.fail(spelling, catalogue.Connection.Check(value.bytes()))
				return spelling, text
			}
		}
	}
	return "", ""
}

// server is where a service listens and who may enter.
type server struct {
	host, port         string
	username, password string
	database           string
}

// server reads what most types have. Where the catalogue has no such entry, the field stays empty.
func (t *typed) server(defaultPort string) server {
	s := server{host: t.required(entryHost), port: defaultPort, username: t.text(entryUsername), password: t.text(entryPassword)}
	if port := t.text(entryPort); port != "" {
		s.port = port
	}
	if t.kind.Entry("database") != nil {
		s.database = t.text("database")
	}
	return s
}
