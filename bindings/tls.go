package bindings

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

// Spellings in use for what a TLS connection needs, the specification's own first.
var (
	trustedEntries = []string{entryCertificates, "ca.crt", "root.crt", "ssl.truststore.crt"}
	ownEntries     = []string{"client-certificate", "tls.crt", "ssl.keystore.crt"}
	keyEntries     = []string{entryPrivateKey, "tls.key", "ssl.keystore.key"}
)

// TLSConfig returns how to connect to the service by TLS 1.2 or newer. What the service presents must be for the entry host,
// where there is one, and be signed by the entry certificates (or ca.crt, root.crt, ssl.truststore.crt, or what sslrootcert
// names); without it, by what the system trusts. Where there is a private key (private-key, tls.key, ssl.keystore.key), the
// client presents the certificate that belongs to it: the one in client-certificate, tls.crt or ssl.keystore.crt, or
// that among certificates which has its public key.
func (b *Binding) TLSConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if _, ok := b.Value(entryHost); ok {
		host, err := b.Host()
		if err != nil {
			return nil, err
		}
		config.ServerName = strings.TrimSuffix(host, ".")
	}
	trusted, err := b.trusted()
	if err != nil {
		return nil, err
	}
	if len(trusted) > 0 {
		config.RootCAs = x509.NewCertPool()
		for _, certificate := range trusted {
			config.RootCAs.AddCert(certificate)
		}
	}
	own, err := b.own(trusted)
	if err != nil {
		return nil, err
	}
	if own != nil {
		config.Certificates = []tls.Certificate{*own}
	}
	return config, nil
}

// trustedEntry names the entry with the certificates to trust; "" for none.
func (b *Binding) trustedEntry() string {
	spellings := trustedEntries
	if v, ok := b.Value("sslrootcert"); ok {
		spellings = append([]string{strings.TrimSpace(v.Text())}, trustedEntries...)
	}
	entry, _, _ := b.first(spellings)
	return entry
}

func (b *Binding) trusted() ([]*x509.Certificate, error) {
	entry := b.trustedEntry()
	if entry == "" {
		return nil, nil
	}
	v, _ := b.Value(entry)
	all, err := catalogue.ParseCertificates(v.bytes())
	return all, b.malformed(entry, err)
}

// own returns the client's key with its certificates; nil where there is no key.
func (b *Binding) own(trusted []*x509.Certificate) (*tls.Certificate, error) {
	keyEntry, value, ok := b.first(keyEntries)
	if !ok {
		return nil, nil //nolint:nilnil // most clients have none
	}
	key, err := catalogue.ParseKey(value.bytes())
	if err != nil {
		return nil, b.malformed(keyEntry, err)
	}
	entry, v, separate := b.first(ownEntries)
	chain := trusted
	if separate {
		if chain, err = catalogue.ParseCertificates(v.bytes()); err != nil {
			return nil, b.malformed(entry, err)
		}
	}
	certificate := certificateFor(key, chain)
	if certificate == nil {
		return nil, b.malformed(keyEntry, errors.New("is the key of no certificate in the binding"))
	}
	if !separate { // the others are there to be trusted, not to be shown
		certificate.Certificate = certificate.Certificate[:1]
	}
	return certificate, nil
}

// certificateFor puts the certificate of the key first, and leaves the others, by which a server may reach one that it trusts.
func certificateFor(key crypto.Signer, chain []*x509.Certificate) *tls.Certificate {
	public, ok := key.Public().(interface {
		Equal(other crypto.PublicKey) bool
	})
	if !ok {
		return nil
	}
	for i, leaf := range chain {
		if !public.Equal(leaf.PublicKey) {
			continue
		}
		found := &tls.Certificate{PrivateKey: key, Leaf: leaf, Certificate: [][]byte{leaf.Raw}}
		for j, other := range chain {
			if j != i {
				found.Certificate = append(found.Certificate, other.Raw)
			}
		}
		return found
	}
	return nil
}

// secured says whether the binding asks for encryption: by saying so, or by bringing certificates to trust.
func (t *typed) secured() bool {
	if spelling, _ := t.optional("ssl"); spelling != "" {
		return t.boolean("ssl")
	}
	return t.trustedEntry() != ""
}
