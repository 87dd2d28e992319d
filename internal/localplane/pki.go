package localplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The authorities. etcd has one of its own, so that no certificate signed through the API opens it.
const (
	clusterCA    = "ca"
	frontProxyCA = "front-proxy-ca"
	etcdCA       = "etcd-ca"
)

// The certificates, and the key that signs service account tokens.
const (
	certAPIServer         = "apiserver"
	certAPIServerEtcd     = "apiserver-etcd-client"
	certEtcd              = "etcd"
	certFrontProxy        = "front-proxy-client"
	certAdmin             = "admin"
	certControllerManager = "controller-manager"
	keyServiceAccount     = "service-account"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	renewBefore   = 30 * 24 * time.Hour
	clockSkew     = time.Hour
	serialBits    = 127
	serviceIP     = "10.96.0.1"
)

// identity is one certificate with its key.
type identity struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// leaf describes a certificate that is to exist.
type leaf struct {
	name, authority, commonName, organization string
	server, client                            bool
	hosts                                     []string
	address                                   net.IP // a server's own, beside those that all servers have; nil for none
}

// leaves lists every certificate below an authority.
func leaves() []leaf {
	local := []string{"localhost"}
	inCluster := []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	return []leaf{
		{name: certAPIServer, authority: clusterCA, commonName: "kube-apiserver", server: true, hosts: inCluster},
		{name: certAPIServerEtcd, authority: etcdCA, commonName: "kube-apiserver-etcd-client", client: true},
		{name: certEtcd, authority: etcdCA, commonName: "etcd", server: true, client: true, hosts: local},
		{name: certFrontProxy, authority: frontProxyCA, commonName: certFrontProxy, client: true},
		{name: certAdmin, authority: clusterCA, commonName: "bowline-admin", organization: "system:masters", client: true},
		{
			name: certControllerManager, authority: clusterCA, commonName: "system:kube-controller-manager",
			server: true, client: true, hosts: local,
		},
	}
}

// ensurePKI makes every key and certificate that is missing, broken or about to expire, and reports whether it had to.
func ensurePKI(dir string, now time.Time) (changed bool, err error) {
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return false, fmt.Errorf("making the folder of the keys: %w", err)
	}
	authorities := map[string]identity{}
	for _, name := range []string{clusterCA, frontProxyCA, etcdCA} {
		id, made, err := ensureAuthority(dir, name, now)
		if err != nil {
			return false, fmt.Errorf("making authority %q: %w", name, err)
		}
		authorities[name], changed = id, changed || made
	}
	for _, l := range append(leaves(), nodeLeaves()...) {
		made, err := ensureLeaf(dir, l, authorities[l.authority], now)
		if err != nil {
			return false, fmt.Errorf("making certificate %q: %w", l.name, err)
		}
		changed = changed || made
	}
	made, err := ensureKey(filepath.Join(dir, keyServiceAccount+".key"))
	if err != nil {
		return false, fmt.Errorf("making the key of service account tokens: %w", err)
	}
	return changed || made, nil
}

func ensureAuthority(dir, name string, now time.Time) (id identity, made bool, err error) {
	if id, err := readIdentity(dir, name); err == nil && fresh(id.cert, now) && id.cert.IsCA {
		return id, false, nil
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "bowline-" + name},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	id, err = issue(template, nil)
	if err != nil {
		return identity{}, false, err
	}
	return id, true, writeIdentity(dir, name, id)
}

func ensureLeaf(dir string, l leaf, authority identity, now time.Time) (made bool, err error) {
	if id, err := readIdentity(dir, l.name); err == nil && serves(id.cert, l, authority, now) {
		return false, nil
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: l.commonName},
		NotBefore: now.Add(-clockSkew),
		NotAfter:  now.Add(leafLife),
		KeyUsage:  x509.KeyUsageDigitalSignature,
		DNSNames:  l.hosts,
	}
	if l.organization != "" {
		template.Subject.Organization = []string{l.organization}
	}
	if l.client {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	if l.server {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.IPAddresses = []net.IP{net.ParseIP(loopback), net.IPv6loopback, net.ParseIP(serviceIP)}
		if l.address != nil {
			template.IPAddresses = append(template.IPAddresses, l.address)
		}
	}
	id, err := issue(template, &authority)
	if err != nil {
		return false, err
	}
	return true, writeIdentity(dir, l.name, id)
}

// serves reports whether the certificate still is what the leaf describes.
func serves(cert *x509.Certificate, l leaf, authority identity, now time.Time) bool {
	return fresh(cert, now) && cert.CheckSignatureFrom(authority.cert) == nil &&
		cert.Subject.CommonName == l.commonName && slices.Equal(cert.DNSNames, l.hosts) && l.covers(cert)
}

func fresh(cert *x509.Certificate, now time.Time) bool {
	return cert.NotBefore.Before(now) && cert.NotAfter.After(now.Add(renewBefore))
}

// issue makes a key and a certificate for it, signed by the authority or else by itself.
func issue(template *x509.Certificate, authority *identity) (identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, fmt.Errorf("generating a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits)); err != nil {
		return identity{}, fmt.Errorf("choosing a serial number: %w", err)
	}
	signer := identity{cert: template, key: key}
	if authority != nil {
		signer = *authority
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return identity{}, fmt.Errorf("signing: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return identity{}, fmt.Errorf("parsing what was signed: %w", err)
	}
	return identity{cert: cert, key: key}, nil
}

// errMismatch is what a kill between writing a key and its certificate leaves behind.
var errMismatch = errors.New("key and certificate do not belong together")

func readIdentity(dir, name string) (identity, error) {
	key, err := readKey(filepath.Join(dir, name+".key"))
	if err != nil {
		return identity{}, err
	}
	der, err := readPEM(filepath.Join(dir, name+".crt"))
	if err != nil {
		return identity{}, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return identity{}, fmt.Errorf("parsing certificate %q: %w", name, err)
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return identity{}, fmt.Errorf("checking certificate %q: %w", name, errMismatch)
	}
	return identity{cert: cert, key: key}, nil
}

func writeIdentity(dir, name string, id identity) error {
	if err := writeKey(filepath.Join(dir, name+".key"), id.key); err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: id.cert.Raw})
	return writeFile(filepath.Join(dir, name+".crt"), block)
}

// ensureKey makes a key without a certificate, unless there is one.
func ensureKey(path string) (made bool, err error) {
	if _, err := readKey(path); err == nil {
		return false, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return false, fmt.Errorf("generating a key: %w", err)
	}
	return true, writeKey(path, key)
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	der, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("parsing key %q: %w", path, err)
	}
	return key, nil
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding key %q: %w", path, err)
	}
	return writeFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

var errNoPEM = errors.New("no PEM block")

func readPEM(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a PEM file: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("reading %q: %w", path, errNoPEM)
	}
	return block.Bytes, nil
}
