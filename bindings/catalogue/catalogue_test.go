package catalogue_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

// TestTheFileHoldsTogether sees that what the data file refers to is in it, and that it is in order.
func TestTheFileHoldsTogether(t *testing.T) {
	t.Parallel()
	c := catalogue.Default()
	names := map[string]bool{}
	last := ""
	for i := range c.Types {
		kind := &c.Types[i]
		if kind.Name <= last {
			t.Errorf("type %s comes after %s", kind.Name, last)
		}
		last = kind.Name
		for _, name := range append([]string{kind.Name}, kind.Aliases...) {
			if names[name] || name != strings.ToLower(name) {
				t.Errorf("type %s is there twice, or has capitals", name)
			}
			names[name] = true
		}
		checkEntries(t, kind.Name, kind.Entries)
		checkReferences(t, c, kind)
	}
	checkEntries(t, "well-known", c.WellKnown)
	for _, library := range c.Libraries {
		if library.Description == "" || library.Language == "" {
			t.Errorf("library %s is not described", library.Name)
		}
	}
}

func checkEntries(t *testing.T, kind string, entries []catalogue.Entry) {
	t.Helper()
	spellings := map[string]bool{}
	for _, e := range entries {
		if !e.Rule.Known() || (e.Rule == catalogue.OneOf) != (len(e.Values) > 0) || e.Description == "" {
			t.Errorf("%s: entry %s has no known rule, or values without need, or no description", kind, e.Name)
		}
		for _, spelling := range e.Spellings() {
			if spellings[spelling] {
				t.Errorf("%s: %s spells more than one entry", kind, spelling)
			}
			spellings[spelling] = true
		}
	}
}

func checkReferences(t *testing.T, c *catalogue.Catalogue, kind *catalogue.Type) {
	t.Helper()
	for _, name := range kind.Instead {
		if e := kind.Entry(name); e == nil || e.Name != name {
			t.Errorf("%s: %s, which stands instead of others, is no entry", kind.Name, name)
		}
	}
	for _, consumer := range kind.Consumers {
		if c.Library(consumer.Library) == nil {
			t.Errorf("%s: there is no library %s", kind.Name, consumer.Library)
		}
		for _, name := range consumer.Reads {
			if c.Entry(kind, name) == nil {
				t.Errorf("%s: %s reads %s, which is no entry", kind.Name, consumer.Library, name)
			}
		}
		for _, name := range slices.Concat(consumer.Needs...) {
			if !slices.Contains(consumer.Reads, name) {
				t.Errorf("%s: %s needs %s, which it does not read", kind.Name, consumer.Library, name)
			}
		}
	}
	checkProducers(t, c, kind)
}

func checkProducers(t *testing.T, c *catalogue.Catalogue, kind *catalogue.Type) {
	t.Helper()
	for _, producer := range kind.Producers {
		for _, name := range producer.Emits {
			if c.Entry(kind, name) == nil {
				t.Errorf("%s: %s emits %s, which is no entry", kind.Name, producer.Name, name)
			}
		}
	}
}

func TestTypeIsFoundByAnyName(t *testing.T) {
	t.Parallel()
	c := catalogue.Default()
	for name, want := range map[string]string{"PostgreSQL\n": "postgresql", "postgres": "postgresql", "AMQP": "rabbitmq", "mariadb": "mysql"} {
		if kind := c.Type(name); kind == nil || kind.Name != want {
			t.Errorf("type %q is %v, want %s", name, kind, want)
		}
	}
	if c.Type("none") != nil || c.Library("none") != nil || c.Entry(nil, "none") != nil {
		t.Error("something was found for a name of nothing")
	}
}

func TestParseRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", `{"types": [{"nane": "x"}]}`} {
		if _, err := catalogue.Parse([]byte(text)); err == nil {
			t.Errorf("%q was taken for a catalogue", text)
		}
	}
}
