package bindings_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

const secret = "hunter2hunter2"

// leaks says whether a text holds the secret, in any of the ways that fmt writes bytes.
func leaks(text string) bool {
	dotted := fmt.Sprintf("%d", []byte(secret))
	for _, form := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), strings.Trim(dotted, "[]"), "aHVudGVyMm"} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

func TestNothingPrintsValues(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.Add("db", bindingstest.Entries{
		"type": "postgresql", "host": "db", "username": "u" + secret, "password": secret,
		"security-protocol": "SASL_SSL", "bootstrap-servers": secret + ":1", "client-id": secret,
	})
	set := read(t, root.Path())
	b, err := set.Named("db")
	if err != nil {
		t.Fatal(err)
	}
	value, _ := b.Value("password")
	dsn, err := b.PostgresURL()
	if err != nil || !strings.Contains(dsn.Text(), secret) {
		t.Fatalf("the connection lacks the password (%v)", err)
	}
	kafka, err := b.Kafka()
	if err != nil || kafka.SASL.Password.Text() != secret {
		t.Fatalf("Kafka's settings lack the password (%v)", err)
	}
	for name, thing := range map[string]any{
		"value": value, "binding": b, "binding by value": *b, "set": set, "connection": dsn, "kafka": kafka, "sasl": *kafka.SASL,
		"pointer to kafka": &kafka, "pointer to sasl": kafka.SASL,
		"struct around": struct{ v bindings.Value }{value}, "pointer": &value,
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c"} {
			if leaks(fmt.Sprintf(verb, thing)) {
				t.Errorf("%s prints with %s", name, verb)
			}
		}
		encoded(t, name, thing)
	}
}

func encoded(t *testing.T, name string, thing any) {
	t.Helper()
	if text, err := json.Marshal(thing); leaks(string(text)) {
		t.Errorf("%s prints as JSON (%v)", name, err)
	}
	if text, err := xml.Marshal(thing); leaks(string(text)) {
		t.Errorf("%s prints as XML (%v)", name, err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "thing", thing)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "thing", thing)
	if leaks(log.String()) {
		t.Errorf("%s prints in a log", name)
	}
}

func TestWhatPrintsInstead(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.Add("db", bindingstest.Entries{"type": "mysql\n", "provider": "p", "password": secret})
	set := read(t, root.Path())
	text, err := json.Marshal(set)
	if want := `[{"name":"db","type":"mysql","provider":"p","entries":["password","provider","type"]}]`; err != nil || string(text) != want {
		t.Errorf("as JSON it is %s (%v), want %s", text, err, want)
	}
	if got, want := fmt.Sprint(set), root.Path()+`: db (type "mysql", provider "p", entries password provider type)`; got != want {
		t.Errorf("it prints %s, want %s", got, want)
	}
	kafka := bindings.Kafka{
		BootstrapServers: []string{secret}, SecurityProtocol: "SASL_SSL", ClientID: secret,
		SASL: &bindings.KafkaSASL{Mechanism: "PLAIN", Username: secret}, TLS: &tls.Config{},
	}
	for thing, want := range map[any]string{&kafka: "Kafka by SASL_SSL", kafka.SASL: "SASL by PLAIN"} {
		if text, err := json.Marshal(thing); fmt.Sprint(thing) != want || string(text) != `"`+want+`"` || err != nil {
			t.Errorf("it prints %v, and %s as JSON (%v), want %s", thing, text, err, want)
		}
	}
	b, _ := set.Named("db")
	value, _ := b.Value("password")
	if got := fmt.Sprintf("%s %v", value, value); got != "[redacted] [redacted]" {
		t.Errorf("a value prints %s", got)
	}
	var none *bindings.Binding
	if got := fmt.Sprint(none); got != "<nil>" {
		t.Errorf("no binding prints %s", got)
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.Add("db", bindingstest.Entries{"type": "t", "a": " s \r\n", "b": "s\n\n"})
	b, err := read(t, root.Path()).Named("db")
	if err != nil {
		t.Fatal(err)
	}
	v, _ := b.Value("a")
	if v.Text() != " s " || string(v.Bytes()) != " s \r\n" || v.Len() != 5 {
		t.Errorf("the value is %q, %q", v.Text(), v.Bytes())
	}
	v.Bytes()[0] = 'x'
	if v.Text() != " s " {
		t.Error("a caller changed the value")
	}
	if v, _ := b.Value("b"); v.Text() != "s\n" {
		t.Errorf("more than one line break went: %q", v.Text())
	}
}

func TestZeroValue(t *testing.T) {
	t.Parallel()
	var zero bindings.Value
	if zero.Text() != "" || zero.Len() != 0 || !zero.Equal(bindings.Value{}) {
		t.Error("the zero value is not empty")
	}
}
