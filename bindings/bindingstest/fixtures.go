package bindingstest

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// mebibyte is the most that a Secret holds.
const mebibyte = 1 << 20

// Fixture is one layout, with what a reader is to find in it:
//
//	for _, fixture := range bindingstest.Fixtures() {
//		t.Run(fixture.Name, func(t *testing.T) {
//			root := bindingstest.New(t)
//			fixture.Lay(root)
//			… read root.Path(), and compare with fixture.Want
//		})
//	}
type Fixture struct {
	// Name of the fixture, fit for a subtest.
	Name string
	// Reason says what trips readers.
	Reason string
	// Lay lays it out.
	Lay func(*Root)
	// Want are the bindings in it, by name, with all their entries to the byte. Type is what a lookup by type is to take for the
	// type of each: the entry without the white space around it.
	Want map[string]Entries
	// Types are the types to find the bindings of Want by.
	Types map[string]string
}

// example is a binding that has nothing special about it.
func example() Entries {
	return Entries{"type": "postgresql", "provider": "example", "host": "db.example", "port": "5432", "username": "app", "password": "p w'\\\""}
}

// one makes a fixture of one binding that is laid out as a kubelet does.
func one(name, reason string, entries Entries) Fixture {
	return Fixture{
		Name: name, Reason: reason,
		Lay:   func(r *Root) { r.tb.Helper(); r.Add("db", entries) },
		Want:  map[string]Entries{"db": entries},
		Types: map[string]string{"db": strings.TrimSpace(entries["type"])},
	}
}

// layout makes a fixture in which the binding db is the example.
func layout(name, reason string, lay func(*Root)) Fixture {
	f := one(name, reason, example())
	f.Lay = lay
	return f
}

// Fixtures returns all layouts.
func Fixtures() []Fixture {
	return append(values(), append(layouts(), beside()...)...)
}

// values are fixtures about what entries hold.
func values() []Fixture {
	blob := make([]byte, 0, 1<<8)
	for i := range 1 << 8 {
		blob = append(blob, byte(i))
	}
	return []Fixture{
		one("kubelet volume", "every entry is a link to a link, and ..data is a link to a directory among them", example()),
		one("line break at the end of type", "echo writes one; a lookup that compares bytes finds nothing",
			example().With(Entries{"type": "postgresql\n"})),
		one("type in capitals", "the same service by another producer", example().With(Entries{"type": "PostgreSQL"})),
		one("line break at the end of a value", "the bytes are the entry's, whatever a reader makes of them",
			example().With(Entries{"password": "secret\r\n"})),
		one("binary value", "a key store is no text", example().With(Entries{"keystore.p12": string(blob)})),
		one("1 MiB entry", "a Secret holds that much", example().With(Entries{"truststore.jks": strings.Repeat("\x00\xff", mebibyte/2)})),
		one("many lines", "certificates are", example().With(Entries{"ca.crt": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"})),
		{
			Name: "empty value", Reason: "an entry that holds nothing is there",
			Lay:   func(r *Root) { r.tb.Helper(); e := example(); e["options"] = ""; r.Add("db", e) },
			Want:  map[string]Entries{"db": func() Entries { e := example(); e["options"] = ""; return e }()},
			Types: map[string]string{"db": "postgresql"},
		},
	}
}

// layouts are fixtures about how files lie.
func layouts() []Fixture {
	return []Fixture{
		layout("plain directory", "a person made it", func(r *Root) { r.tb.Helper(); r.AddPlain("db", example()) }),
		layout("sub-path mount", "each file is a mount of its own", func(r *Root) { r.tb.Helper(); r.AddSubPath("db", example()) }),
		layout("one volume for all bindings", "the directory itself is a link, and ..data is beside it",
			func(r *Root) { r.tb.Helper(); r.Replace(map[string]Entries{"db": example()}) }),
		layout("rotated volume", "the directory with the date is another now", func(r *Root) {
			r.tb.Helper()
			r.Add("db", example().With(Entries{"password": "former", "gone": "with the rotation"}))
			r.Rotate("db", example())
		}),
		layout("link to a volume elsewhere", "a person linked it", func(r *Root) {
			r.tb.Helper()
			elsewhere := New(r.tb)
			elsewhere.Add("volume", example())
			r.must(os.Symlink(filepath.Join(elsewhere.path, "volume"), filepath.Join(r.path, "db")))
		}),
	}
}

// beside are fixtures about what is no binding, or another one.
func beside() []Fixture {
	several := layout("several types", "a lookup by type sees directories of other types first", func(r *Root) {
		r.tb.Helper()
		r.Add("a-cache", Entries{"type": "redis", "host": "cache"})
		r.Add("db", example())
		r.Add("events", Entries{"type": "kafka", "bootstrap-servers": "broker:9092"})
	})
	several.Want = maps.Clone(several.Want)
	several.Want["a-cache"], several.Types["a-cache"] = Entries{"type": "redis", "host": "cache"}, "redis"
	several.Want["events"], several.Types["events"] = Entries{"type": "kafka", "bootstrap-servers": "broker:9092"}, "kafka"
	return []Fixture{
		several,
		layout("directory without type", "a volume of something else is mounted beside", func(r *Root) {
			r.tb.Helper()
			r.Add("config", Entries{"log-level": "debug"})
			r.AddPlain("lost+found", nil)
			r.Add("db", example())
		}),
		layout("hidden files", "an editor or a file system left them", func(r *Root) {
			r.tb.Helper()
			r.AddPlain("db", example().With(Entries{".type.swp": "other", "..1980_leftover/type": "other"}))
			r.AddPlain(".hidden", example())
		}),
		layout("file beside the bindings", "a README is no binding", func(r *Root) {
			r.tb.Helper()
			r.Add("db", example())
			r.must(os.WriteFile(filepath.Join(r.path, "README"), []byte("no binding"), fileMode))
		}),
		layout("directory among the entries", "a volume may have paths of two parts", func(r *Root) {
			r.tb.Helper()
			r.Add("db", example().With(Entries{"extra/file": "no entry"}))
		}),
		{
			Name: "no binding at all", Reason: "the directory is there and empty", Lay: func(*Root) {},
			Want: map[string]Entries{}, Types: map[string]string{},
		},
	}
}
