package bindings

import (
	"errors"
	"strings"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

// AMQPURI returns the URI of a message broker that speaks AMQP 0-9-1, such as RabbitMQ: the entry uri (or connection_string), or one
// made of host and port (or the first of addresses), username (or user), password, virtual-host (or vhost) and ssl. Where the
// binding brings certificates to trust and does not say otherwise, the connection is encrypted.
func (b *Binding) AMQPURI() (Value, error) {
	t := b.as("rabbitmq")
	if _, text := t.whole("amqp", "amqps"); text != "" {
		return textValue(text), t.err
	}
	scheme, port := "amqp", "5672"
	if t.secured() {
		scheme, port = "amqps", "5671"
	}
	var s server
	if !b.filled(entryHost) && t.text("addresses") != "" {
		s = t.firstAddress(port)
	} else {
		s = t.server(port)
	}
	virtualHost := t.text("virtual-host")
	if t.err != nil {
		return Value{}, t.err
	}
	return address{
		scheme: scheme, host: s.host, port: s.port, username: s.username, password: s.password, path: virtualHost,
	}.value(), nil
}

// firstAddress reads the first broker of a list.
func (t *typed) firstAddress(port string) server {
	s := server{username: t.text(entryUsername), password: t.text(entryPassword)}
	all, err := catalogue.ParseServers(t.text("addresses"))
	if err != nil {
		t.fail("addresses", err)
		return s
	}
	if strings.ContainsAny(all[0], "/@") {
		t.fail("addresses", errors.New("holds URIs: put the one to use into the entry uri"))
		return s
	}
	s.host, s.port = splitHostPort(all[0], port)
	return s
}

func splitHostPort(address, defaultPort string) (host, port string) {
	at := strings.LastIndexByte(address, ':')
	if at < 0 || strings.HasSuffix(address, "]") || strings.Count(address, ":") > 1 && !strings.HasPrefix(address, "[") {
		return strings.Trim(address, "[]"), defaultPort
	}
	return strings.Trim(address[:at], "[]"), address[at+1:]
}
