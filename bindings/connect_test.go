package bindings_test

import (
	"errors"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

func bound(t testing.TB, entries bindingstest.Entries) *bindings.Binding {
	t.Helper()
	root := bindingstest.New(t)
	root.Add("db", bindingstest.Entries{"type": "test"}.With(entries))
	set, err := bindings.FromDir(root.Path())
	if err != nil {
		t.Fatal(err)
	}
	b, err := set.Named("db")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type builder = func(*bindings.Binding) (bindings.Value, error)

var (
	postgresURL = (*bindings.Binding).PostgresURL
	postgresDSN = (*bindings.Binding).PostgresDSN
	mysqlDSN    = (*bindings.Binding).MySQLDSN
	redisURL    = (*bindings.Binding).RedisURL
	mongoURI    = (*bindings.Binding).MongoDBURI
	amqpURI     = (*bindings.Binding).AMQPURI
)

type connectionCase struct {
	reason  string
	build   builder
	entries bindingstest.Entries
	// want has DIR where the binding's directory is.
	want string
}

func connectionCases() []connectionCase {
	const ca = "-----BEGIN CERTIFICATE-----\n"
	return []connectionCase{
		{"parts", postgresURL, bindingstest.Entries{"host": "db", "username": "u", "password": "p", "database": "d"}, "postgresql://u:p@db:5432/d"},
		{"other spellings", postgresURL, bindingstest.Entries{"host": "db", "port": "6432\n", "user": "u", "dbname": "d"}, "postgresql://u@db:6432/d"},
		{"the whole", postgresURL, bindingstest.Entries{"host": "x", "uri": "postgres://u:p@a:1,b:2/d\n"}, "postgres://u:p@a:1,b:2/d"},
		{"a URI of something else does not count", postgresURL, bindingstest.Entries{"host": "db", "uri": "jdbc:postgresql://x/"}, "postgresql://db:5432"},
		{
			"nothing needs care", postgresURL,
			bindingstest.Entries{"host": "::1", "username": "a:b", "password": "/@?#%+ é'\\", "database": "a/b?c"},
			`postgresql://a%3Ab:%2F%40%3F%23%25+%20%C3%A9%27%5C@[::1]:5432/a%2Fb%3Fc`,
		},
		{"a plus is no space", mongoURI, bindingstest.Entries{"host": "db", "database": "e+f"}, "mongodb://db:27017/e%2Bf"},
		{
			"options", postgresURL, bindingstest.Entries{"host": "db", "sslmode": "require", "options": "--cluster=c&-c x=1&application_name=a b"},
			"postgresql://db:5432/?application_name=a%20b&options=--cluster%3Dc%20-c%20x%3D1&sslmode=require",
		},
		{
			"certificates to trust", postgresURL, bindingstest.Entries{"host": "db", "ca.crt": ca},
			"postgresql://db:5432/?sslmode=verify-full&sslrootcert=DIR%2Fca.crt",
		},
		{
			"certificates by name", postgresDSN, bindingstest.Entries{"host": "db", "sslmode": "verify-ca", "sslrootcert": "my.pem", "my.pem": ca},
			"host='db' port='5432' sslmode='verify-ca' sslrootcert='DIR/my.pem'",
		},
		{
			"keywords", postgresDSN, bindingstest.Entries{"host": "db", "username": "u", "password": `a'b\ c`, "database": "d"},
			`host='db' port='5432' user='u' password='a\'b\\ c' dbname='d'`,
		},
		{
			"keywords of the whole", postgresDSN, bindingstest.Entries{"uri": "postgresql://u:p%27@db/d?sslmode=require"},
			`host='db' port='5432' user='u' password='p\'' dbname='d' sslmode='require'`,
		},
		{"parts", mysqlDSN, bindingstest.Entries{"host": "db", "username": "u", "password": "p@/:?", "database": "a/b"}, "u:p@/:?@tcp(db:3306)/a%2Fb"},
		{"encrypted", mysqlDSN, bindingstest.Entries{"host": "db", "ssl-mode": "VERIFY_IDENTITY"}, "tcp(db:3306)/?tls=true"},
		{"certificates to trust", mysqlDSN, bindingstest.Entries{"host": "db", "root.crt": ca}, "tcp(db:3306)/?tls=binding-db"},
		{"no encryption is said", mysqlDSN, bindingstest.Entries{"host": "db", "ssl-mode": "DISABLED", "root.crt": ca}, "tcp(db:3306)/?tls=false"},
		{
			"of the whole", mysqlDSN, bindingstest.Entries{"uri": "mysql://u:p@[::1]:1/d?charset=utf8mb4&ssl-mode=required"},
			"u:p@tcp([::1]:1)/d?charset=utf8mb4&tls=skip-verify",
		},
		{"parts", redisURL, bindingstest.Entries{"host": "db", "password": "p", "database": "3"}, "redis://:p@db:6379/3"},
		{"encrypted", redisURL, bindingstest.Entries{"host": "db", "username": "u", "password": "p", "ssl": "true"}, "rediss://u:p@db:6379"},
		{"certificates to trust", redisURL, bindingstest.Entries{"host": "db", "certificates": ca}, "rediss://db:6379"},
		{"certificates and a word", redisURL, bindingstest.Entries{"host": "db", "certificates": ca, "tls": "False"}, "redis://db:6379"},
		{"the whole", redisURL, bindingstest.Entries{"url": "rediss://db"}, "rediss://db"},
		{"parts", mongoURI, bindingstest.Entries{"host": "db", "username": "u", "password": "p", "database": "d"}, "mongodb://u:p@db:27017/d"},
		{"looked up", mongoURI, bindingstest.Entries{"host": "db", "port": "1", "srv": "true"}, "mongodb+srv://db"},
		{
			"more", mongoURI, bindingstest.Entries{"host": "db", "authentication-database": "admin", "ca.crt": ca},
			"mongodb://db:27017/?authSource=admin&tls=true&tlsCAFile=DIR%2Fca.crt",
		},
		{"several hosts", mongoURI, bindingstest.Entries{"uri": "mongodb://a:1,b:2/?replicaSet=r"}, "mongodb://a:1,b:2/?replicaSet=r"},
		{"parts", amqpURI, bindingstest.Entries{"host": "mq", "username": "u", "password": "p"}, "amqp://u:p@mq:5672"},
		{"a virtual host", amqpURI, bindingstest.Entries{"host": "mq", "virtual-host": "/", "ssl": "true"}, "amqps://mq:5671/%2F"},
		{"addresses", amqpURI, bindingstest.Entries{"addresses": "[::1]:1, mq2", "vhost": "v"}, "amqp://[::1]:1/v"},
		{"an address without port", amqpURI, bindingstest.Entries{"addresses": "mq"}, "amqp://mq:5672"},
		{"the whole", amqpURI, bindingstest.Entries{"connection_string": "amqp://u:p@mq:5672/"}, "amqp://u:p@mq:5672/"},
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	authority := authority(t)
	for _, test := range connectionCases() {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			for name, value := range test.entries {
				if strings.HasPrefix(value, "-----BEGIN") {
					test.entries[name] = authority.certificate
				}
			}
			b := bound(t, test.entries)
			got, err := test.build(b)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(strings.ReplaceAll(got.Text(), url.QueryEscape(b.Dir()), "DIR"), b.Dir(), "DIR")
			if text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

func TestConnectionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		build   builder
		entries bindingstest.Entries
		// entry is the one that is wrong, or missing.
		entry   string
		missing bool
	}{
		{"no host", postgresURL, bindingstest.Entries{"port": "1"}, "host", true},
		{"no host", mysqlDSN, bindingstest.Entries{"port": "1"}, "host", true},
		{"no host", redisURL, bindingstest.Entries{"cluster.nodes": "a:1"}, "host", true},
		{"an empty host", mongoURI, bindingstest.Entries{"host": ""}, "host", true},
		{"no host", amqpURI, bindingstest.Entries{}, "host", true},
		{"a port that is none", postgresURL, bindingstest.Entries{"host": "db", "port": "65536"}, "port", false},
		{"a host that is none", redisURL, bindingstest.Entries{"host": "db:6379"}, "host", false},
		{"a mode that is none", postgresDSN, bindingstest.Entries{"host": "db", "sslmode": "maybe"}, "sslmode", false},
		{"a file that is elsewhere", postgresURL, bindingstest.Entries{"host": "db", "sslrootcert": "/etc/x"}, "sslrootcert", false},
		{"a file that is not there", postgresURL, bindingstest.Entries{"host": "db", "sslrootcert": "x"}, "sslrootcert", false},
		{"options of another form", postgresURL, bindingstest.Entries{"host": "db", "options": "fast"}, "options", false},
		{"keywords of several hosts", postgresDSN, bindingstest.Entries{"uri": "postgresql://a:1,b:2/d"}, "uri", false},
		{"white space within", postgresURL, bindingstest.Entries{"uri": "postgresql://a b/d"}, "uri", false},
		{"a colon in a user", mysqlDSN, bindingstest.Entries{"host": "db", "username": "a:b"}, "username", false},
		{"a parameter of another driver", mysqlDSN, bindingstest.Entries{"uri": "mysql://db/d?useSSL=true"}, "uri", false},
		{"a mode that is none", mysqlDSN, bindingstest.Entries{"uri": "mysql://db/d?sslmode=perhaps"}, "uri", false},
		{"a control character", redisURL, bindingstest.Entries{"host": "db", "password": "a\x00b"}, "password", false},
		{"a database that is no number", redisURL, bindingstest.Entries{"host": "db", "database": "main"}, "database", false},
		{"neither true nor false", mongoURI, bindingstest.Entries{"host": "db", "srv": "yes"}, "srv", false},
		{"URIs for addresses", amqpURI, bindingstest.Entries{"addresses": "amqp://u:p@mq"}, "addresses", false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			e := bindingstest.Entries{"type": "test"}
			maps.Copy(e, test.entries)
			root := bindingstest.New(t)
			root.Add("db", e)
			b, err := read(t, root.Path()).Named("db")
			if err != nil {
				t.Fatal(err)
			}
			_, err = test.build(b)
			if entry, missing := about(err); entry != test.entry || missing != test.missing {
				t.Fatalf("error %v, want one about %s", err, test.entry)
			}
			for name, value := range test.entries {
				if len(value) > 3 && strings.Contains(err.Error(), value) {
					t.Errorf("the error holds the value of %s: %v", name, err)
				}
			}
		})
	}
}

// about says which entry an error is about, and whether that is missing.
func about(err error) (entry string, missing bool) {
	if absent, ok := errors.AsType[*bindings.MissingError](err); ok {
		return absent.Spellings[0], true
	}
	if malformed, ok := errors.AsType[*bindings.MalformedError](err); ok {
		return malformed.Entry, false
	}
	return "", false
}
