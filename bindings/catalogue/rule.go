package catalogue

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rule says what the value of an entry must look like. White space around a value does not count, but for Text and Binary.
type Rule string

// The rules there are.
const (
	// Text is text in UTF-8 without control characters, but for a line break at its end.
	Text Rule = "text"
	// Host is a host name that DNS could resolve, or an IP address.
	Host Rule = "host"
	// Port is a number from 1 to 65535.
	Port Rule = "port"
	// URI is an absolute URI (RFC 3986).
	URI Rule = "uri"
	// Connection is what clients take for a URI: RFC 3986, or with several hosts, or with a scheme before the scheme.
	Connection Rule = "connection"
	// Servers is a comma-separated list of hosts, each with or without a port or a scheme.
	Servers Rule = "servers"
	// Boolean is true or false.
	Boolean Rule = "boolean"
	// Integer is a number that is not negative.
	Integer Rule = "integer"
	// OneOf is one of the entry's values.
	OneOf Rule = "one-of"
	// File is the name of another entry of the same binding.
	File Rule = "file"
	// Certificates is one or more X.509 certificates in PEM.
	Certificates Rule = "pem-certificates"
	// Key is a private key in PEM.
	Key Rule = "pem-key"
	// Binary is anything.
	Binary Rule = "binary"
)

// Bounds of what is parsed, since parsing PEM costs more the longer it is: the largest collection of trusted certificates in
// use is a third of the first, the longest key a quarter of the second.
const (
	// MaxCertificates bounds a value of the rule Certificates, in bytes.
	MaxCertificates = 768 << 10
	// MaxKey bounds a value of the rule Key, in bytes.
	MaxKey = 64 << 10

	labelCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

	maxHost  = 253
	maxLabel = 63
)

// checks are the rules that look at the trimmed text.
var checks = map[Rule]func(text string) error{
	Host: CheckHost, Port: checkPort, URI: checkURI, Connection: checkConnection, Servers: checkServers,
	Boolean: checkBoolean, Integer: checkInteger, File: checkFile,
}

// Known says whether there is such a rule.
func (r Rule) Known() bool {
	_, ok := checks[r]
	return ok || slices.Contains([]Rule{Text, OneOf, Certificates, Key, Binary}, r)
}

// Check says what is wrong with a value; nil for nothing. The error never holds the value.
func (r Rule) Check(value []byte) error {
	if check, ok := checks[r]; ok {
		if len(value) > MaxKey {
			return errors.New("is far too long")
		}
		return check(strings.TrimSpace(string(value)))
	}
	switch r {
	case Certificates:
		_, err := ParseCertificates(value)
		return err
	case Key:
		_, err := ParseKey(value)
		return err
	case Text:
		return checkText(value)
	default:
		return nil
	}
}

func checkText(value []byte) error {
	switch {
	case !utf8.Valid(value):
		return errors.New("is not text in UTF-8")
	case strings.ContainsFunc(TrimLineBreak(string(value)), unicode.IsControl):
		return errors.New("holds a control character")
	default:
		return nil
	}
}

// TrimLineBreak removes one line break from the end of a text: what an editor or echo leaves there.
func TrimLineBreak(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}

// CheckHost says what is wrong with a host name or IP address; nil for nothing.
func CheckHost(text string) error {
	if text == "" {
		return errors.New("is empty")
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return nil
	}
	if len(text) > maxHost {
		return fmt.Errorf("is longer than the %d characters of a host name", maxHost)
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(text, "."), ".") {
		if !isLabel(label) {
			return errors.New("is neither a host name nor an IP address")
		}
	}
	return nil
}

// isLabel takes the underscore, too, which DNS carries and service names use.
func isLabel(label string) bool {
	if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(label, func(r rune) bool { return !strings.ContainsRune(labelCharacters, r) })
}

func checkPort(text string) error {
	_, err := ParsePort(text)
	return err
}

// ParsePort reads a port number.
func ParsePort(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, errors.New("is no port number from 1 to 65535")
	}
	return int(port), nil
}

func checkURI(text string) error {
	_, err := ParseURI(text)
	return err
}

// ParseURI reads an absolute URI and holds it to RFC 3986. Its error never holds the text, which may hold a password.
func ParseURI(text string) (*url.URL, error) {
	if strings.ContainsFunc(text, notInURI) {
		return nil, errors.New("holds a character that a URI may not: write it as %XX")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("is no URI (RFC 3986)")
	}
	if u.Scheme == "" {
		return nil, errors.New("is no absolute URI: it has no scheme")
	}
	if !strings.HasPrefix(u.Host, "[") && strings.Contains(u.Hostname(), ":") {
		return nil, errors.New("is no URI (RFC 3986): it has more than one port") // several hosts, as some clients take them
	}
	if port := u.Port(); port != "" {
		if _, err := ParsePort(port); err != nil {
			return nil, fmt.Errorf("names a port that %w", err)
		}
	}
	return u, nil
}

// notInURI tells the characters that RFC 3986 allows nowhere unescaped.
func notInURI(r rune) bool {
	return r <= ' ' || r >= utf8.RuneSelf-1 || strings.ContainsRune("\"<>\\^`{|}", r)
}

// checkConnection takes what clients take: several hosts make no URI, and jdbc: comes before one.
func checkConnection(text string) error {
	switch scheme, _, found := strings.Cut(text, ":"); {
	case !found || scheme == "":
		return errors.New("has no scheme")
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == utf8.RuneSelf-1 }):
		return errors.New("holds white space or a control character")
	}
	return nil
}

func checkServers(text string) error {
	_, err := ParseServers(text)
	return err
}

// ParseServers reads a comma-separated list of servers, without white space around them.
func ParseServers(text string) ([]string, error) {
	var servers []string
	for server := range strings.SplitSeq(text, ",") {
		server = strings.TrimSpace(server)
		if err := checkServer(server); err != nil {
			return nil, fmt.Errorf("holds, at place %d of the list, what %w", len(servers)+1, err)
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// checkServer takes a host, with a port, a scheme, a user or a path where they are given.
func checkServer(text string) error {
	if _, rest, found := strings.Cut(text, "://"); found {
		text = rest
	}
	text, _, _ = strings.Cut(text[strings.LastIndexByte(text, '@')+1:], "/")
	host, port, found := cutPort(text)
	if found {
		if _, err := ParsePort(port); err != nil {
			return err
		}
	}
	return CheckHost(host)
}

// cutPort knows an IPv6 address by its brackets, or by its colons.
func cutPort(text string) (host, port string, found bool) {
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed {
		host, rest, _ := strings.Cut(inner, "]")
		port, found = strings.CutPrefix(rest, ":")
		return host, port, found
	}
	if strings.Count(text, ":") == 1 {
		return strings.Cut(text, ":")
	}
	return text, "", false
}

// ParseBoolean reads true or false.
func ParseBoolean(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return false, errors.New("is neither true nor false")
	}
}

func checkBoolean(text string) error {
	_, err := ParseBoolean(text)
	return err
}

func checkInteger(text string) error {
	if _, err := strconv.ParseUint(text, 10, 32); err != nil {
		return errors.New("is no number, or is negative or too large")
	}
	return nil
}

func checkFile(text string) error {
	if text == "" || text[0] == '.' || strings.ContainsAny(text, "/\\\x00") {
		return errors.New("is not the name of an entry")
	}
	return nil
}

func oneOf(values []string, value []byte) error {
	if slices.Contains(values, strings.TrimSpace(string(value))) {
		return nil
	}
	return fmt.Errorf("is none of %s", strings.Join(values, ", "))
}

// ParseCertificates reads every certificate of a PEM text, and refuses one that holds none, or a block of another kind that
// is no certificate.
func ParseCertificates(value []byte) ([]*x509.Certificate, error) {
	if len(value) > MaxCertificates {
		return nil, fmt.Errorf("is longer than %d bytes, more than any chain of certificates needs", MaxCertificates)
	}
	var all []*x509.Certificate
	for block, rest := pem.Decode(value); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, errors.New("holds a PEM block that is no certificate")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("holds, as number %d, a certificate that cannot be read", len(all)+1)
		}
		all = append(all, certificate)
	}
	if len(all) == 0 {
		return nil, errors.New("holds no certificate in PEM")
	}
	return all, nil
}

// ParseKey reads the one private key of a PEM text: PKCS #8, PKCS #1 or SEC 1, not encrypted. Blocks before it that are no
// private key, such as parameters of a curve, do not matter.
func ParseKey(value []byte) (crypto.Signer, error) {
	if len(value) > MaxKey {
		return nil, fmt.Errorf("is longer than %d bytes, more than any private key needs", MaxKey)
	}
	for block, rest := pem.Decode(value); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return parseKey(block)
		}
	}
	return nil, errors.New("holds no private key in PEM")
}

func parseKey(block *pem.Block) (crypto.Signer, error) {
	if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
		return nil, errors.New("holds a private key that is encrypted, which no reader of a binding can use")
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, errors.New("holds a private key that cannot sign")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return nil, errors.New("holds a private key that cannot be read")
}
