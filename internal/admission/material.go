package admission

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// authorityKey holds, in the Secret, the key of the authority beside the entries that the type kubernetes.io/tls has.
	authorityKey = "ca.key"

	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
)

// errMaterial says that the content of the Secret is not what issue makes.
var errMaterial = errors.New("not a certificate with its authority")

// pair is a certificate with its key.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// material is the content of the Secret.
type material struct {
	authority pair
	serving   pair
	former    []*x509.Certificate // authorities that no longer sign
}

// authorities returns all that are to be trusted, the one that signs first.
func (m *material) authorities() []*x509.Certificate {
	return append([]*x509.Certificate{m.authority.certificate}, m.former...)
}

// bundle returns the authorities as PEM.
func (m *material) bundle() []byte {
	var out bytes.Buffer
	for _, authority := range m.authorities() {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: authority.Raw}))
	}
	return out.Bytes()
}

// tls returns the serving certificate as a server uses it.
func (m *material) tls() *tls.Certificate {
	return &tls.Certificate{
		Certificate: [][]byte{m.serving.certificate.Raw}, PrivateKey: m.serving.key, Leaf: m.serving.certificate,
	}
}

// data writes the content of the Secret.
func (m *material) data() (map[string][]byte, error) {
	key, err := encodeKey(m.serving.key)
	if err != nil {
		return nil, err
	}
	signer, err := encodeKey(m.authority.key)
	if err != nil {
		return nil, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: m.serving.certificate.Raw})
	return map[string][]byte{
		corev1.TLSCertKey:              certificate,
		corev1.TLSPrivateKeyKey:        key,
		corev1.ServiceAccountRootCAKey: m.bundle(),
		authorityKey:                   signer,
	}, nil
}

// parse reads what data wrote. Anything else, also what is well-formed but made by others, is errMaterial.
func parse(data map[string][]byte) (*material, error) {
	serving, err := parsePair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	authority, err := parsePair(data[corev1.ServiceAccountRootCAKey], data[authorityKey])
	if err != nil {
		return nil, fmt.Errorf("reading the authority: %w", err)
	}
	trusted, err := parseCertificates(data[corev1.ServiceAccountRootCAKey])
	if err != nil {
		return nil, fmt.Errorf("reading the authorities: %w", err)
	}
	if slices.ContainsFunc(trusted, func(c *x509.Certificate) bool { return !c.IsCA }) {
		return nil, fmt.Errorf("reading the authorities: one is none: %w", errMaterial)
	}
	return &material{authority: authority, serving: serving, former: trusted[1:]}, nil
}

// parsePair reads the first certificate of a list with its key.
func parsePair(certificates, key []byte) (pair, error) {
	list, err := parseCertificates(certificates)
	if err != nil {
		return pair{}, err
	}
	block, _ := pem.Decode(key)
	if block == nil {
		return pair{}, fmt.Errorf("finding no key: %w", errMaterial)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return pair{}, fmt.Errorf("reading the key: %w", errMaterial) // The cause might quote the key.
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !private.PublicKey.Equal(list[0].PublicKey) {
		return pair{}, fmt.Errorf("comparing key and certificate: %w", errMaterial)
	}
	return pair{certificate: list[0], key: private}, nil
}

func parseCertificates(raw []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errMaterial, err)
		}
		list = append(list, certificate)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("finding no certificate: %w", errMaterial)
	}
	return list, nil
}

func newAuthority(now time.Time) (pair, error) {
	return sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "bowline admission"},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}, nil)
}

func newServing(authority pair, hosts []string, now time.Time) (pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "bowline webhook"},
		NotBefore:             now.Add(-skew),
		NotAfter:              earlier(now.Add(servingLife), authority.certificate.NotAfter),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, host := range slices.Compact(slices.Sorted(slices.Values(hosts))) {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(template, &authority)
}

// sign makes a key and the certificate for it, signed by an authority or, without one, by itself.
func sign(template *x509.Certificate, authority *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("making a key for %q: %w", template.Subject.CommonName, err)
	}
	if authority == nil {
		authority = &pair{certificate: template, key: key}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, authority.certificate, &key.PublicKey, authority.key)
	if err != nil {
		return pair{}, fmt.Errorf("signing a certificate for %q: %w", template.Subject.CommonName, err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		return pair{}, fmt.Errorf("reading the certificate for %q: %w", template.Subject.CommonName, err)
	}
	return pair{certificate: certificate, key: key}, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("writing a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: raw}), nil
}

func hostsOf(certificate *x509.Certificate) []string {
	hosts := slices.Clone(certificate.DNSNames)
	for _, ip := range certificate.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}
