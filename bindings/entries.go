package bindings

import (
	"crypto"
	"crypto/x509"
	"net/url"
	"strings"

	"github.com/bowline-dev/bowline/bindings/catalogue"
)

// The entries that the specification itself defines, whatever the type of the binding.
const (
	entryHost         = "host"
	entryPort         = "port"
	entryURI          = "uri"
	entryUsername     = "username"
	entryPassword     = "password"
	entryCertificates = "certificates"
	entryPrivateKey   = "private-key"
)

// Host returns the entry host: a name that DNS resolves, or an IP address. Like all that follow, it returns a *MissingError
// where the entry is not there and a *MalformedError where it is something else.
func (b *Binding) Host() (string, error) {
	text, err := b.trimmed(entryHost)
	if err != nil {
		return "", err
	}
	return text, b.malformed(entryHost, catalogue.CheckHost(text))
}

// Port returns the entry port, from 1 to 65535.
func (b *Binding) Port() (int, error) {
	text, err := b.trimmed(entryPort)
	if err != nil {
		return 0, err
	}
	port, err := catalogue.ParsePort(text)
	return port, b.malformed(entryPort, err)
}

// URI returns the entry uri, held to RFC 3986. It may hold a password: print it by [url.URL.Redacted] only.
func (b *Binding) URI() (*url.URL, error) {
	text, err := b.trimmed(entryURI)
	if err != nil {
		return nil, err
	}
	u, err := catalogue.ParseURI(text)
	return u, b.malformed(entryURI, err)
}

// Username returns the entry username.
func (b *Binding) Username() (string, error) {
	v, err := b.checked(entryUsername)
	return v.Text(), err
}

// Password returns the entry password.
func (b *Binding) Password() (Value, error) { return b.checked(entryPassword) }

// Certificates returns the entry certificates: those to trust TLS connections by.
func (b *Binding) Certificates() ([]*x509.Certificate, error) {
	v, err := b.First(entryCertificates)
	if err != nil {
		return nil, err
	}
	all, err := catalogue.ParseCertificates(v.bytes())
	return all, b.malformed(entryCertificates, err)
}

// PrivateKey returns the entry private-key: the one to prove oneself by in mutual TLS.
func (b *Binding) PrivateKey() (crypto.Signer, error) {
	v, err := b.First(entryPrivateKey)
	if err != nil {
		return nil, err
	}
	key, err := catalogue.ParseKey(v.bytes())
	return key, b.malformed(entryPrivateKey, err)
}

// trimmed returns an entry without white space around it.
func (b *Binding) trimmed(entry string) (string, error) {
	v, err := b.First(entry)
	return strings.TrimSpace(string(v.bytes())), err
}

// checked returns an entry that keeps the specification's rule.
func (b *Binding) checked(entry string) (Value, error) {
	v, err := b.First(entry)
	if err != nil {
		return Value{}, err
	}
	if err := b.malformed(entry, catalogue.Default().WellKnownEntry(entry).Check(v.bytes())); err != nil {
		return Value{}, err
	}
	return v, nil
}

// malformed makes the error for an entry, where there is one.
func (b *Binding) malformed(entry string, err error) error {
	if err == nil {
		return nil
	}
	return &MalformedError{Binding: b.name, Entry: entry, Err: err}
}
