package bindings_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

func TestKafka(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	type summary struct {
		Servers                       []string
		Protocol, Mechanism, User, ID string
		TLS, Trusts                   bool
	}
	for reason, test := range map[string]struct {
		entries bindingstest.Entries
		want    summary
	}{
		"one spelling":     {bindingstest.Entries{"bootstrapServers": "a:1,b:2"}, summary{Servers: []string{"a:1", "b:2"}, Protocol: "PLAINTEXT"}},
		"another spelling": {bindingstest.Entries{"bootstrap.servers": "a:1", "clientId": "me"}, summary{Servers: []string{"a:1"}, Protocol: "PLAINTEXT", ID: "me"}},
		"brokers in all forms": {
			bindingstest.Entries{"bootstrap-servers": "a, SSL://b:1 ,::1,[::1]:2,[::2]"},
			summary{Servers: []string{"a:9092", "b:1", "[::1]:9092", "[::1]:2", "[::2]:9092"}, Protocol: "PLAINTEXT"},
		},
		"what an operator emits": {
			bindingstest.Entries{
				"bootstrap-servers": "a:1", "bootstrapServers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
				"username": "u", "password": "p", "ssl.truststore.crt": ca.certificate,
			},
			summary{Servers: []string{"a:1"}, Protocol: "SASL_SSL", Mechanism: "SCRAM-SHA-512", User: "u", TLS: true, Trusts: true},
		},
		"a user, and nothing about encryption": {
			bindingstest.Entries{"bootstrap-servers": "a:1", "user": "u", "password": "p"},
			summary{Servers: []string{"a:1"}, Protocol: "SASL_SSL", Mechanism: "PLAIN", User: "u", TLS: true},
		},
		"a certificate for a user": {
			bindingstest.Entries{"bootstrap-servers": "a:1", "certificates": ca.certificate, "private-key": ca.pem(t), "username": "u"},
			summary{Servers: []string{"a:1"}, Protocol: "SSL", TLS: true, Trusts: true},
		},
		"a mechanism without users": {
			bindingstest.Entries{"bootstrap-servers": "a:1", "securityProtocol": "SASL_PLAINTEXT", "saslMechanism": "OAUTHBEARER"},
			summary{Servers: []string{"a:1"}, Protocol: "SASL_PLAINTEXT", Mechanism: "OAUTHBEARER"},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			k, err := bound(t, test.entries).Kafka()
			if err != nil {
				t.Fatal(err)
			}
			got := summary{Servers: k.BootstrapServers, Protocol: k.SecurityProtocol, ID: k.ClientID, TLS: k.TLS != nil}
			if k.SASL != nil {
				got.Mechanism, got.User = k.SASL.Mechanism, k.SASL.Username
			}
			got.Trusts = k.TLS != nil && k.TLS.RootCAs != nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestKafkaRefuses(t *testing.T) {
	t.Parallel()
	for reason, test := range map[string]struct {
		entries bindingstest.Entries
		missing bool
	}{
		"no servers":         {bindingstest.Entries{"username": "u"}, true},
		"no password":        {bindingstest.Entries{"bootstrap-servers": "a:1", "username": "u"}, true},
		"servers are none":   {bindingstest.Entries{"bootstrap-servers": "a:1,,b:2"}, false},
		"servers with users": {bindingstest.Entries{"bootstrap-servers": "u:p@a:1"}, false},
		"servers with paths": {bindingstest.Entries{"bootstrap-servers": "a:1/b"}, false},
		"protocol is none":   {bindingstest.Entries{"bootstrap-servers": "a:1", "security-protocol": "TLS"}, false},
		"certificates none":  {bindingstest.Entries{"bootstrap-servers": "a:1", "security-protocol": "SSL", "ca.crt": "x"}, false},
	} {
		_, err := bound(t, test.entries).Kafka()
		var missing *bindings.MissingError
		var malformed *bindings.MalformedError
		if errors.As(err, &missing) != test.missing || errors.As(err, &malformed) == test.missing {
			t.Errorf("%s: error %v", reason, err)
		}
	}
}
