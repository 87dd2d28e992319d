package catalogue_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

func TestRules(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for rule, values := range map[catalogue.Rule]struct{ good, bad []string }{
		catalogue.Text: {[]string{"", "a b", "é", "x\n", "x\r\n"}, []string{"\xff", "a\x00", "a\nb", "a\tb"}},
		catalogue.Host: {
			[]string{"db", "db.example.", "a_b.svc", "10.0.0.1", "::1", "fe80::1%eth0", " db\n"},
			[]string{"", "-a", "a-", "a..b", "a b", "db:1", "[::1]", "http://db", "dé", long, strings.Repeat("a.", 127) + "b"},
		},
		catalogue.Port: {[]string{"1", "65535", " 80\n"}, []string{"", "0", "65536", "-1", "+1", "http", "0x50"}},
		catalogue.URI: {
			[]string{"http://a", "postgresql://u:p%20@[::1]:1/d?x=y#z", "mailto:a@b", "jdbc:x://y"},
			[]string{"", "a", "/a", "//a", "http://a b", "http://a/\x00", "http://é", "a://b:1,c:2/", "a://b:99999", "http://%zz", "http://[::1", "a://b/{c}"},
		},
		catalogue.Connection: {[]string{"mongodb://a:1,b:2/", "jdbc:oracle:thin:@x"}, []string{"", "a", ":b", "a://b c"}},
		catalogue.Servers: {
			[]string{"a", "a:1,b:2", " a:1 , b ", "[::1]:1,::1", "http://a:1", "amqp://u:p@a:1/v"},
			[]string{"", "a,", "a:0", "a:1:2:x", "[::1]:x", "a b"},
		},
		catalogue.Boolean: {[]string{"true", "False\n"}, []string{"", "1", "yes"}},
		catalogue.Integer: {[]string{"0", "15"}, []string{"", "-1", "1.5", "99999999999"}},
		catalogue.File:    {[]string{"ca.crt"}, []string{"", "..", "/etc/x", "a/b", `a\b`}},
		catalogue.Binary:  {[]string{"", "\xff\x00"}, nil},
	} {
		for _, value := range values.good {
			if err := rule.Check([]byte(value)); err != nil {
				t.Errorf("%s: %q %v", rule, value, err)
			}
		}
		for _, value := range values.bad {
			if rule.Check([]byte(value)) == nil {
				t.Errorf("%s: %q is taken", rule, value)
			}
		}
	}
}

func TestOneOf(t *testing.T) {
	t.Parallel()
	e := catalogue.Entry{Rule: catalogue.OneOf, Values: []string{"a", "b"}}
	if e.Check([]byte("a\n")) != nil || e.Check([]byte("c")) == nil {
		t.Error("one of a and b is not one of them")
	}
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	prime, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(edwards)
	if err != nil {
		t.Fatal(err)
	}
	for kind, text := range map[string][]byte{
		"SEC 1, after its parameters": append(block("EC PARAMETERS", []byte{6, 1, 1}), block("EC PRIVATE KEY", sec1)...),
		"PKCS #1":                     block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(prime)),
		"PKCS #8":                     block("PRIVATE KEY", pkcs8),
	} {
		if err := catalogue.Key.Check(text); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for reason, text := range map[string][]byte{
		"no PEM":       []byte("x"),
		"no key":       block("CERTIFICATE", []byte("x")),
		"unreadable":   block("PRIVATE KEY", []byte("x")),
		"encrypted":    block("ENCRYPTED PRIVATE KEY", []byte("x")),
		"far too long": append(block("PRIVATE KEY", pkcs8), make([]byte, catalogue.MaxKey)...),
	} {
		if catalogue.Key.Check(text) == nil {
			t.Errorf("%s: taken for a key", reason)
		}
	}
}

// Reading PEM costs more than its length where it is made for that: what is too long is not read at all, and what is just
// short enough does not take long.
func TestPEMHasBounds(t *testing.T) {
	t.Parallel()
	const patience = 30 * time.Second
	for _, piece := range []string{"-----BEGIN ", "-----BEGIN A-----\n", "-----BEGIN A-----\n-----END A-----\n", "-----BEGIN A-----\na:b\n"} {
		began := time.Now()
		for _, size := range []int{catalogue.MaxCertificates, catalogue.MaxCertificates + 1, 64 << 20} {
			value := []byte(strings.Repeat(piece, size/len(piece)+1)[:size])
			if catalogue.Certificates.Check(value) == nil || catalogue.Key.Check(value) == nil {
				t.Errorf("%q many times is taken", piece)
			}
		}
		if took := time.Since(began); took > patience {
			t.Errorf("%q many times took %v", piece, took)
		}
	}
}
