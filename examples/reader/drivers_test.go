package main

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

// parser hands what was built to a client's own parser, and gives back what that understood.
type parser func(*bindings.Binding) (string, error)

func said(host string, port any, user, password, database string) string {
	return fmt.Sprint(host, " ", port, " ", user, " ", password, " ", database)
}

func postgres(build func(*bindings.Binding) (bindings.Value, error)) parser {
	return func(b *bindings.Binding) (string, error) {
		text, err := build(b)
		if err != nil {
			return "", err
		}
		c, err := pgx.ParseConfig(text.Text())
		if err != nil {
			return "", err
		}
		return said(c.Host, c.Port, c.User, c.Password, c.Database), nil
	}
}

func mySQL(b *bindings.Binding) (string, error) {
	text, err := b.MySQLDSN()
	if err != nil {
		return "", err
	}
	c, err := mysql.ParseDSN(text.Text())
	if err != nil || c.Addr != "[::1]:99" {
		return "", fmt.Errorf("reading the data source name: %w", err)
	}
	return said("::1", 99, c.User, c.Passwd, c.DBName), nil
}

func mongoDB(b *bindings.Binding) (string, error) {
	text, err := b.MongoDBURI()
	if err != nil {
		return "", err
	}
	c, err := connstring.Parse(text.Text())
	if err != nil || c.Hosts[0] != "[::1]:99" {
		return "", fmt.Errorf("reading the URI: %w", err)
	}
	return said("::1", 99, c.Username, c.Password, c.Database), nil
}

func rabbitMQ(b *bindings.Binding) (string, error) {
	text, err := b.AMQPURI()
	if err != nil {
		return "", err
	}
	c, err := amqp.ParseURI(text.Text())
	if err != nil {
		return "", err
	}
	return said(c.Host, c.Port, c.Username, c.Password, c.Vhost), nil
}

func parsers() map[string]parser {
	return map[string]parser{
		"pgx, URL": postgres((*bindings.Binding).PostgresURL), "pgx, keywords": postgres((*bindings.Binding).PostgresDSN),
		"go-sql-driver": mySQL, "mongo-driver": mongoDB, "amqp091": rabbitMQ,
	}
}

// TestDriversUnderstand gives what bindings makes to the clients that it is made for.
func TestDriversUnderstand(t *testing.T) {
	t.Parallel()
	const database = "da ta" // what else a name may hold, the clients do not agree on
	for _, test := range []struct{ user, password string }{
		{"user", "plain"}, {"us er@x", "a/b:c@d?e#f%g&h=i+j"}, {"ü", `'quoted\' "and" back\\slashed`}, {"a'b", "%41%zz${}()"},
	} {
		root := bindingstest.New(t)
		root.Add("db", bindingstest.Entries{
			"type": "any", "host": "::1", "port": "99", "username": test.user, "password": test.password, "database": database,
			"virtual-host": database,
		})
		set, err := bindings.FromDir(root.Path())
		if err != nil {
			t.Fatal(err)
		}
		b, err := set.Named("db")
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint("::1", " ", 99, " ", test.user, " ", test.password, " ", database)
		for name, parse := range parsers() {
			if got, err := parse(b); err != nil || got != want {
				t.Errorf("%s understands %q (%v), want %q", name, got, err, want)
			}
		}
	}
}

func TestRedisUnderstands(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.Add("db", bindingstest.Entries{"type": "redis", "host": "h", "username": "u@", "password": "p:/?#", "database": "3", "ssl": "true"})
	set, err := bindings.FromDir(root.Path())
	if err != nil {
		t.Fatal(err)
	}
	b, err := set.One("redis")
	if err != nil {
		t.Fatal(err)
	}
	text, err := b.RedisURL()
	if err != nil {
		t.Fatal(err)
	}
	c, err := redis.ParseURL(text.Text())
	if err != nil || c.Addr != "h:6379" || c.Username != "u@" || c.Password != "p:/?#" || c.DB != 3 || c.TLSConfig == nil {
		t.Errorf("go-redis understands %v (%v)", c, err)
	}
}
