package bindings_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

// issuer signs certificates.
type issuer struct {
	certificate string
	parsed      *x509.Certificate
	key         *ecdsa.PrivateKey
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

func authority(t *testing.T) *issuer {
	t.Helper()
	a := template("authority")
	a.IsCA, a.BasicConstraintsValid, a.KeyUsage = true, true, x509.KeyUsageCertSign
	return sign(t, a, nil)
}

func sign(t *testing.T, a *x509.Certificate, by *issuer) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := a, key
	if by != nil {
		parent, signer = by.parsed, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, a, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), parsed: parsed, key: key}
}

func (i *issuer) pem(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// handshake connects a client to a server that asks for a certificate.
func handshake(t *testing.T, server tls.Certificate, ca *issuer, client *tls.Config) error {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(ca.parsed)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	here, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		there, err := listener.Accept()
		if err != nil {
			done <- err
			return
		}
		config := &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS13}
		connection := tls.Server(there, config)
		err = connection.HandshakeContext(t.Context())
		_ = connection.Close()
		done <- err
	}()
	connection := tls.Client(here, client)
	err = connection.HandshakeContext(t.Context())
	if err == nil {
		_, _ = connection.Read(make([]byte, 1)) // the server's verdict comes after the handshake
	}
	_ = here.Close()
	return errors.Join(err, <-done)
}

func TestTLSConfigShakesHands(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	own, db := sign(t, template("client"), ca), sign(t, template("db.example"), ca)
	server := tls.Certificate{Certificate: [][]byte{db.parsed.Raw}, PrivateKey: db.key}
	for reason, test := range map[string]struct {
		entries bindingstest.Entries
		works   bool
	}{
		"the specification's entries": {
			bindingstest.Entries{"host": "db.example.", "certificates": ca.certificate + own.certificate, "private-key": own.pem(t)}, true,
		},
		"what others emit": {
			bindingstest.Entries{"host": "db.example", "ca.crt": ca.certificate, "tls.crt": own.certificate, "tls.key": own.pem(t)}, true,
		},
		"another host": {
			bindingstest.Entries{"host": "other.example", "ca.crt": ca.certificate, "tls.crt": own.certificate, "tls.key": own.pem(t)}, false,
		},
		"another authority": {
			bindingstest.Entries{"host": "db.example", "ca.crt": authority(t).certificate, "tls.crt": own.certificate, "tls.key": own.pem(t)}, false,
		},
		"no certificate of one's own": {bindingstest.Entries{"host": "db.example", "ca.crt": ca.certificate}, false},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			config, err := bound(t, test.entries).TLSConfig()
			if err != nil {
				t.Fatal(err)
			}
			if err := handshake(t, server, ca, config); (err == nil) != test.works {
				t.Errorf("shaking hands: %v", err)
			}
		})
	}
}

func TestTLSConfigRefuses(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	for reason, entries := range map[string]bindingstest.Entries{
		"no certificate":                  {"certificates": "none"},
		"a key among the certificates":    {"ca.crt": ca.pem(t)},
		"a host that is none":             {"host": "a b"},
		"a key that is none":              {"private-key": "none"},
		"a key of nobody":                 {"private-key": ca.pem(t)},
		"a key of another":                {"private-key": ca.pem(t), "tls.crt": authority(t).certificate},
		"no certificate of one's own":     {"private-key": ca.pem(t), "tls.crt": "none"},
		"a file that holds no such thing": {"sslrootcert": "x", "x": "none"},
	} {
		var malformed *bindings.MalformedError
		if _, err := bound(t, entries).TLSConfig(); !errors.As(err, &malformed) {
			t.Errorf("%s: error %v, want a MalformedError", reason, err)
		}
	}
}

func TestWellKnownEntries(t *testing.T) {
	t.Parallel()
	b := bound(t, bindingstest.Entries{
		"host": "db.example\n", "port": " 5432\n", "uri": "postgresql://u:p@db/d\n",
	})
	host, err := b.Host()
	if err != nil || host != "db.example" {
		t.Errorf("host %q (%v)", host, err)
	}
	if port, err := b.Port(); err != nil || port != 5432 {
		t.Errorf("port %d (%v)", port, err)
	}
	if u, err := b.URI(); err != nil || u.Host != "db" {
		t.Errorf("URI %v (%v)", u, err)
	}
}

func TestWellKnownSecrets(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	b := bound(t, bindingstest.Entries{"username": "u\n", "password": "p \n", "certificates": ca.certificate, "private-key": ca.pem(t)})
	if user, err := b.Username(); err != nil || user != "u" {
		t.Errorf("user %q (%v)", user, err)
	}
	if password, err := b.Password(); err != nil || password.Text() != "p " {
		t.Errorf("password (%v)", err)
	}
	if all, err := b.Certificates(); err != nil || len(all) != 1 {
		t.Errorf("%d certificates (%v)", len(all), err)
	}
	if key, err := b.PrivateKey(); err != nil || !ca.key.PublicKey.Equal(key.Public()) {
		t.Errorf("another key (%v)", err)
	}
}

// asked calls each accessor of a well-known entry for its error.
func asked(b *bindings.Binding) map[string]error {
	all := map[string]error{}
	_, all["host"] = b.Host()
	_, all["port"] = b.Port()
	_, all["uri"] = b.URI()
	_, all["username"] = b.Username()
	_, all["password"] = b.Password()
	_, all["certificates"] = b.Certificates()
	_, all["private-key"] = b.PrivateKey()
	return all
}

func TestWellKnownEntriesThatAreMissingOrWrong(t *testing.T) {
	t.Parallel()
	for entry, err := range asked(bound(t, nil)) {
		var missing *bindings.MissingError
		if !errors.As(err, &missing) || missing.Spellings[0] != entry {
			t.Errorf("error %v, want one about %s", err, entry)
		}
	}
	wrong := bindingstest.Entries{
		"host": "-", "port": "0", "uri": "no scheme", "username": "\x01", "password": "\xff", "certificates": "-", "private-key": "-",
	}
	for entry, err := range asked(bound(t, wrong)) {
		var malformed *bindings.MalformedError
		if !errors.As(err, &malformed) || malformed.Entry != entry {
			t.Errorf("error %v, want one about %s", err, entry)
		}
	}
}
