package bindings

import (
	"crypto/tls"
	"strings"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

// Kafka is what a client of Apache Kafka is told.
type Kafka struct {
	// BootstrapServers are the brokers to begin with, as host:port.
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

// Kafka returns what a client of Apache Kafka is told, from any of the spellings in use: bootstrapServers, bootstrap-servers or
// bootstrap.servers, username or user, and so on. Where nothing says how to encrypt, a binding with a user or with
// certificates is taken to want encryption, so that no password is sent in the clear unless the service says so; the
// mechanism is then PLAIN.
func (b *Binding) Kafka() (Kafka, error) {
	t := b.as("kafka")
	k := Kafka{ClientID: t.text("client-id"), SecurityProtocol: t.text("security-protocol")}
	if list := t.required("bootstrap-servers"); list != "" {
		k.BootstrapServers, _ = catalogue.ParseServers(list)
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
