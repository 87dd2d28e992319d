package bindings

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

const kafkaPort = "9092"

// Kafka is what a client of Apache Kafka is told.
type Kafka struct {
	// BootstrapServers are the brokers to begin with, as host:port. The port is 9092 where the entry has none.
	BootstrapServers []string
	// SecurityProtocol is one of PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL.
	SecurityProtocol string
	// SASL says how to log in; nil where SecurityProtocol does not begin with SASL_.
	SASL *KafkaSASL
	// TLS says how to encrypt; nil where SecurityProtocol does not end in SSL. It names no server, since each broker is another.
	TLS *tls.Config
	// ClientID is the name that the broker's log shows; it may be empty.
	ClientID string
}

// KafkaSASL is how to log in.
type KafkaSASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or another.
	Mechanism string
	// Username is who to log in as.
	Username string
	// Password proves it.
	Password Value
}

// String returns the protocol: nothing else prints, since who logs in is from the Secret, and a configuration for TLS has a key in
// it that fmt would print.
func (k Kafka) String() string { return "Kafka by " + k.SecurityProtocol }

// Format writes the protocol, whatever the verb.
func (k Kafka) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, k.String()) }

// MarshalText returns the protocol, for JSON, logs and other encodings.
func (k Kafka) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// String returns the mechanism.
func (s KafkaSASL) String() string { return "SASL by " + s.Mechanism }

// Format writes the mechanism, whatever the verb.
func (s KafkaSASL) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// MarshalText returns the mechanism, for JSON, logs and other encodings.
func (s KafkaSASL) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Kafka returns what a client of Apache Kafka is told, from any of the spellings in use: bootstrapServers, bootstrap-servers or
// bootstrap.servers, username or user, and so on. Where nothing says how to encrypt, a binding with a user or with
// certificates is taken to want encryption, so that no password is sent in the clear unless the service says so; the
// mechanism is then PLAIN.
func (b *Binding) Kafka() (Kafka, error) {
	t := b.as("kafka")
	k := Kafka{ClientID: t.text("client-id"), SecurityProtocol: t.text("security-protocol")}
	if list := t.required("bootstrap-servers"); list != "" {
		k.BootstrapServers = t.brokers(list)
	}
	username := t.text(entryUsername)
	if k.SecurityProtocol == "" {
		k.SecurityProtocol = t.kafkaProtocol(username)
	}
	if strings.HasPrefix(k.SecurityProtocol, "SASL_") {
		k.SASL = t.kafkaSASL()
	}
	if t.err != nil {
		return Kafka{}, t.err
	}
	if strings.HasSuffix(k.SecurityProtocol, "SSL") {
		config, err := b.TLSConfig()
		if err != nil {
			return Kafka{}, err
		}
		config.ServerName = ""
		k.TLS = config
	}
	return k, nil
}

// brokers reads a list of servers, some of which may have a protocol before them, or no port.
func (t *typed) brokers(list string) []string {
	all, err := catalogue.ParseServers(list)
	if err != nil {
		return nil // required has said so
	}
	for i, broker := range all {
		if _, rest, found := strings.Cut(broker, "://"); found {
			broker = rest
		}
		if strings.ContainsAny(broker, "/@") {
			spelling, _ := t.optional("bootstrap-servers")
			t.fail(spelling, errors.New("holds more than hosts and ports"))
			return nil
		}
		all[i] = net.JoinHostPort(splitHostPort(broker, kafkaPort))
	}
	return all
}

func (t *typed) kafkaProtocol(username string) string {
	_, _, hasKey := t.first(keyEntries)
	switch {
	case username != "" && !hasKey:
		return "SASL_SSL"
	case hasKey || t.trustedEntry() != "":
		return "SSL"
	default:
		return "PLAINTEXT"
	}
}

// kafkaSASL asks for a user where the mechanism is one that has users.
func (t *typed) kafkaSASL() *KafkaSASL {
	s := &KafkaSASL{Mechanism: t.text("sasl-mechanism")}
	if s.Mechanism == "" {
		s.Mechanism = "PLAIN"
	}
	if s.Mechanism != "PLAIN" && !strings.HasPrefix(s.Mechanism, "SCRAM-") {
		s.Username, s.Password = t.text(entryUsername), textValue(t.text(entryPassword))
		return s
	}
	s.Username, s.Password = t.required(entryUsername), textValue(t.required(entryPassword))
	return s
}
