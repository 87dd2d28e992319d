package bindings

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

const postgresPort = "5432"

// PostgresURL returns the connection URL that libpq and its kin take, such as pgx. An entry uri with the scheme postgresql is
// returned as it is. Otherwise the URL is made of host, port, database (or dbname), username (or user), password, sslmode,
// options, and the files with certificates: where the binding brings certificates to trust and no sslmode, the server is
// verified in full.
func (b *Binding) PostgresURL() (Value, error) {
	t := b.as("postgresql")
	if _, text := t.whole("postgresql", "postgres"); text != "" {
		return textValue(text), t.err
	}
	s, query := t.server(postgresPort), t.postgresParameters()
	if t.err != nil {
		return Value{}, t.err
	}
	return address{
		scheme: "postgresql", host: s.host, port: s.port, username: s.username, password: s.password, path: s.database, query: query,
	}.value(), nil
}

// PostgresDSN returns the same connection as keywords and values, the other form that libpq and its kin take.
func (b *Binding) PostgresDSN() (Value, error) {
	t := b.as("postgresql")
	var (
		s     server
		query url.Values
	)
	if entry, text := t.whole("postgresql", "postgres"); text != "" {
		s, query = t.parsed(entry, text, postgresPort)
	} else {
		s, query = t.server(postgresPort), t.postgresParameters()
	}
	if t.err != nil {
		return Value{}, t.err
	}
	var words []string
	add := func(keyword, value string) {
		if value != "" {
			words = append(words, keyword+"='"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value)+"'")
		}
	}
	add("host", s.host)
	add("port", s.port)
	add("user", s.username)
	add("password", s.password)
	add("dbname", s.database)
	for _, keyword := range slices.Sorted(maps.Keys(query)) {
		add(keyword, query.Get(keyword))
	}
	return textValue(strings.Join(words, " ")), nil
}

// parsed takes a URI apart.
func (t *typed) parsed(entry, text, defaultPort string) (server, url.Values) {
	u, err := catalogue.ParseURI(text)
	if err != nil {
		if strings.Contains(text, ",") {
			err = errors.New("names several hosts, which only the form of a URI can say")
		}
		t.fail(entry, err)
		return server{}, nil
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		t.fail(entry, errors.New("has parameters that cannot be read"))
		return server{}, nil
	}
	s := server{host: u.Hostname(), port: u.Port(), username: u.User.Username(), database: strings.TrimPrefix(u.Path, "/")}
	s.password, _ = u.User.Password()
	if s.port == "" {
		s.port = defaultPort
	}
	return s, query
}

// postgresParameters reads what is said beside server and database.
func (t *typed) postgresParameters() url.Values {
	query := t.postgresOptions()
	set := func(keyword, value string) {
		if value != "" {
			query.Set(keyword, value)
		}
	}
	set("sslmode", t.text("sslmode"))
	if trusted := t.trustedEntry(); trusted != "" {
		set("sslrootcert", t.dir+"/"+trusted)
		if !query.Has("sslmode") {
			query.Set("sslmode", "verify-full")
		}
	} else if name := t.text("sslrootcert"); name != "" {
		t.fail("sslrootcert", errors.New("names an entry that is not there"))
	}
	if key := t.file(entryPrivateKey); key != "" {
		set("sslkey", key)
		set("sslcert", t.file("client-certificate"))
	}
	return query
}

// postgresOptions reads the entry options: k=v&k=v, of which those that begin with -- are for the server's own command line.
func (t *typed) postgresOptions() url.Values {
	query := url.Values{}
	options := t.text("options")
	if options == "" {
		return query
	}
	var forServer []string
	for option := range strings.SplitSeq(options, "&") {
		keyword, value, found := strings.Cut(option, "=")
		switch {
		case strings.HasPrefix(option, "-"):
			forServer = append(forServer, option)
		case !found || keyword == "":
			t.fail("options", errors.New("is not of the form k=v&k=v"))
		default:
			query.Set(keyword, value)
		}
	}
	if len(forServer) > 0 {
		query.Set("options", strings.Join(forServer, " "))
	}
	return query
}
