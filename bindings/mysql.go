package bindings

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

const mysqlPort = "3306"

// mysqlParameters are those of a URI that mean the same to go-sql-driver/mysql. Others it would send to the server as
// variables of the session.
var mysqlParameters = []string{"charset", "collation", "loc", "parseTime", "readTimeout", "timeout", "writeTimeout"}

// mysqlTLS says what the modes of a MySQL client are for go-sql-driver/mysql.
var mysqlTLS = map[string]string{
	"DISABLED": "false", "PREFERRED": "preferred", "REQUIRED": "skip-verify", "VERIFY_CA": "true", "VERIFY_IDENTITY": "true",
}

// MySQLTLSName is the name under which a program registers what [Binding.TLSConfig] returns with go-sql-driver/mysql, by
// mysql.RegisterTLSConfig, where the binding brings certificates of its own. [Binding.MySQLDSN] refers to it, and a
// driver that was told of no such name refuses to connect.
func (b *Binding) MySQLTLSName() string { return "binding-" + b.name }

// MySQLDSN returns the data source name that go-sql-driver/mysql takes, for MySQL and MariaDB. It is made of host, port,
// database (or dbname), username (or user), password and ssl-mode; where there is no host, of an entry uri with the scheme mysql
// or mariadb. Where the binding brings certificates, see [Binding.MySQLTLSName].
func (b *Binding) MySQLDSN() (Value, error) {
	t := b.as("mysql")
	var s server
	query, mode := url.Values{}, t.text("ssl-mode")
	entry, text := t.whole("mysql", "mariadb")
	if text != "" && !b.filled(entryHost) {
		var said url.Values
		s, said = t.parsed(entry, text, mysqlPort)
		query, mode = t.mysqlQuery(entry, said, mode)
	} else {
		s = t.server(mysqlPort)
	}
	if strings.Contains(s.username, ":") {
		t.fail(entryUsername, errors.New("holds a colon, which a data source name cannot"))
	}
	if name := t.mysqlSecurity(mode); name != "" {
		query.Set("tls", name)
	}
	if t.err != nil {
		return Value{}, t.err
	}
	return textValue(mysqlDSN(s, query)), nil
}

func mysqlDSN(s server, query url.Values) string {
	var dsn strings.Builder
	if s.username != "" || s.password != "" {
		dsn.WriteString(s.username)
		if s.password != "" {
			dsn.WriteString(":" + s.password)
		}
		dsn.WriteString("@")
	}
	fmt.Fprintf(&dsn, "tcp(%s)/%s", joinHostPort(s.host, s.port), url.PathEscape(s.database))
	if len(query) > 0 {
		dsn.WriteString("?" + encode(query))
	}
	return dsn.String()
}

// mysqlSecurity is the value of the driver's parameter tls; "" where nothing is said.
func (t *typed) mysqlSecurity(mode string) string {
	_, _, hasKey := t.first(keyEntries)
	if mode != "DISABLED" && (hasKey || t.trustedEntry() != "") {
		return t.MySQLTLSName()
	}
	return mysqlTLS[mode]
}

// mysqlQuery takes what the driver understands from the parameters of a URI, and the mode of encryption. A parameter that it
// does not understand is an error: leaving one out could mean leaving out the encryption.
func (t *typed) mysqlQuery(entry string, said url.Values, mode string) (url.Values, string) {
	query := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		switch value := said.Get(name); {
		case slices.Contains(mysqlParameters, name):
			query.Set(name, value)
		case slices.Contains([]string{"ssl-mode", "sslmode", "sslMode"}, name):
			mode = strings.ReplaceAll(strings.ToUpper(value), "-", "_")
			if _, known := mysqlTLS[mode]; !known {
				t.fail(entry, fmt.Errorf("has a parameter %s that is no mode of MySQL", name))
			}
		default:
			t.fail(entry, errors.New("has a parameter that go-sql-driver/mysql does not know: give host, port and database instead"))
		}
	}
	return query, mode
}
