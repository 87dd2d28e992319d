package bindings_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

// FuzzDSN gives any user, password and database to each builder, and reads them back from what it built.
func FuzzDSN(f *testing.F) {
	f.Add("user", "password", "database")
	f.Add("a:b", "/@?#%+ é'\\", "a/b?c&d")
	f.Add("", " ' ", "..")
	f.Add("%41", "%zz", "%2F")
	f.Fuzz(func(t *testing.T, user, password, database string) {
		if user == "" || password == "" || slices.ContainsFunc([]string{user, password, database}, isNoText) {
			t.Skip("such are left out, or no text")
		}
		b := fuzzed(t, user, password, database)
		want := [3]string{user, password, database}
		for name, build := range map[string]builder{"postgres": postgresURL, "mongodb": mongoURI, "amqp": amqpURI} {
			if got := partsOfURL(t, b, build); got != want {
				t.Errorf("%s: the URL says %q, want %q", name, got, want)
			}
		}
		if got := wordsOf(t, b); got != want {
			t.Errorf("the keywords say %q, want %q", got, want)
		}
		if strings.Contains(user, ":") {
			return
		}
		if got := partsOfDSN(t, b); got != want {
			t.Errorf("the data source name says %q, want %q", got, want)
		}
	})
}

func isNoText(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || len(text) > 1<<10
}

func fuzzed(t *testing.T, user, password, database string) *bindings.Binding {
	t.Helper()
	return bound(t, bindingstest.Entries{
		"host": "::1", "username": user, "password": password, "database": database, "virtual-host": database,
	})
}

func build(t *testing.T, b *bindings.Binding, by builder) string {
	t.Helper()
	v, err := by(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(v.Bytes())
}

func partsOfURL(t *testing.T, b *bindings.Binding, by builder) [3]string {
	t.Helper()
	u, err := url.Parse(build(t, b, by))
	if err != nil || u.Hostname() != "::1" || u.RawQuery != "" || u.Fragment != "" {
		t.Fatalf("%v (%v)", u, err)
	}
	password, _ := u.User.Password()
	return [3]string{u.User.Username(), password, strings.TrimPrefix(u.Path, "/")}
}

// wordsOf reads keywords and values as libpq does.
func wordsOf(t *testing.T, b *bindings.Binding) [3]string {
	t.Helper()
	words := map[string]string{}
	text := build(t, b, postgresDSN)
	for text != "" {
		keyword, rest, found := strings.Cut(strings.TrimLeft(text, " "), "='")
		if !found {
			t.Fatalf("no value for %q", keyword)
		}
		var value strings.Builder
		i := 0
		for ; rest[i] != '\''; i++ {
			if rest[i] == '\\' {
				i++
			}
			value.WriteByte(rest[i])
		}
		words[keyword], text = value.String(), rest[i+1:]
	}
	return [3]string{words["user"], words["password"], words["dbname"]}
}

// partsOfDSN reads a data source name as go-sql-driver/mysql does: the last slash, the last at before it, the first colon.
func partsOfDSN(t *testing.T, b *bindings.Binding) [3]string {
	t.Helper()
	text := build(t, b, mysqlDSN)
	slash := strings.LastIndexByte(text, '/')
	at := strings.LastIndexByte(text[:slash], '@')
	user, password, _ := strings.Cut(text[:at], ":")
	database, err := url.PathUnescape(text[slash+1:])
	if err != nil || text[at+1:slash] != "tcp([::1]:3306)" {
		t.Fatalf("the data source name is %q (%v)", text, err)
	}
	return [3]string{user, password, database}
}
