package admission

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

const day = 24 * time.Hour

func epoch() time.Time {
	return time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
}

func mustIssue(t *testing.T, now time.Time, hosts ...string) *material {
	t.Helper()
	m, err := issue(hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustRenew(t *testing.T, m *material, what renewal, now time.Time) *material {
	t.Helper()
	next, err := renew(m, what, []string{"localhost"}, now)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestNeedsRenewal(t *testing.T) {
	t.Parallel()
	start := epoch()
	fresh := mustIssue(t, start, "localhost", "127.0.0.1")
	foreign := &material{authority: mustIssue(t, start, "localhost").authority, serving: fresh.serving}
	joined := mustRenew(t, fresh, renewAuthority, start)
	switched := mustRenew(t, joined, renewServing, start.Add(60*day))
	for name, c := range map[string]struct {
		reason string
		in     *material
		hosts  []string
		after  time.Duration
		want   renewal
	}{
		"fresh":           {reason: "all is well", in: fresh, hosts: []string{"localhost"}, want: renewNothing},
		"address":         {reason: "addresses count as hosts", in: fresh, hosts: []string{"127.0.0.1"}, want: renewNothing},
		"slow clock":      {reason: "clocks differ a little", in: fresh, after: -4 * time.Minute, want: renewNothing},
		"not valid yet":   {reason: "ours cannot come from the future", in: fresh, after: -6 * time.Minute, want: renewAll},
		"other host":      {reason: "a client would refuse it", in: fresh, hosts: []string{"other"}, want: renewServing},
		"before the time": {reason: "not two thirds yet", in: fresh, after: 59 * day, want: renewNothing},
		"in time":         {reason: "two thirds of 90 days", in: fresh, after: 61 * day, want: renewServing},
		"expired":         {reason: "a client would refuse it", in: fresh, after: 91 * day, want: renewServing},
		"old authority":   {reason: "no client would trust it", in: fresh, after: 731 * day, want: renewAll},
		"foreign":         {reason: "the authority did not sign it", in: foreign, want: renewServing},
		"young authority": {reason: "it only joined", in: joined, after: time.Hour, want: renewNothing},
		"former needed":   {reason: "it vouches for a certificate", in: switched, after: 89 * day, want: renewNothing},
		"former useless":  {reason: "its certificates have expired", in: switched, after: 91 * day, want: renewBundle},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := needsRenewal(c.in, c.hosts, start.Add(c.after)); got != c.want {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

func TestNeedsRenewalOfAuthorityInTime(t *testing.T) {
	t.Parallel()
	start := epoch()
	m := mustIssue(t, start, "localhost")
	later := start.Add(490 * day)
	m = mustRenew(t, m, renewServing, later)
	if got := needsRenewal(m, nil, later); got != renewAuthority {
		t.Errorf("at two thirds of its life an authority needs a successor: got %q", got)
	}
	next := mustRenew(t, m, renewAuthority, later)
	if !next.serving.certificate.Equal(m.serving.certificate) {
		t.Error("the serving certificate must stay when an authority joins")
	}
	if len(next.authorities()) != 2 {
		t.Errorf("the bundle must hold both authorities, got %d", len(next.authorities()))
	}
}

// TestRotationNeverCutsConnections lives through ten years, and lets clients connect that learned the bundle up to a
// day before.
func TestRotationNeverCutsConnections(t *testing.T) {
	t.Parallel()
	now, hosts := epoch(), []string{"localhost"}
	m := mustIssue(t, now, hosts...)
	bundle, servings, authorities := m.bundle(), 1, 1
	for range 10 * 365 {
		now = now.Add(day)
		next, err := renewed(m, hosts, now)
		if err != nil {
			t.Fatal(err)
		}
		if !next.serving.certificate.Equal(m.serving.certificate) {
			servings++
		}
		if !next.authority.certificate.Equal(m.authority.certificate) {
			authorities++
		}
		if len(next.authorities()) > 2 {
			t.Fatalf("%s: the bundle grew to %d authorities", now, len(next.authorities()))
		}
		if !next.serves(hosts, now) {
			t.Fatalf("%s: the certificate does not serve", now)
		}
		if next == m {
			continue
		}
		if err := connect(next, bundle, now); err != nil {
			t.Fatalf("%s: connecting with yesterday's bundle: %v", now, err)
		}
		m, bundle = next, next.bundle()
	}
	if diff := cmp.Diff([]int{61, 8}, []int{servings, authorities}); diff != "" {
		t.Errorf("certificates and authorities in ten years (-want +got):\n%s", diff)
	}
}

// connect lets a client that trusts a bundle shake hands with a server of the material.
func connect(m *material, bundle []byte, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	clock := func() time.Time { return now }
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	server := tls.Server(there, &tls.Config{
		Certificates: []tls.Certificate{*m.tls()}, MinVersion: tls.VersionTLS13, Time: clock, SessionTicketsDisabled: true,
	})
	served := make(chan error, 1)
	go func() { served <- server.Handshake() }()
	client := tls.Client(here, &tls.Config{
		RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS13, Time: clock,
	})
	if err := client.Handshake(); err != nil {
		here.Close()
		return errors.Join(err, <-served)
	}
	return <-served
}

func TestParseReadsWhatDataWrote(t *testing.T) {
	t.Parallel()
	m := mustRenew(t, mustIssue(t, epoch(), "localhost"), renewAuthority, epoch().Add(day))
	data, err := m.data()
	if err != nil {
		t.Fatal(err)
	}
	read, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read.data()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(data, again); diff != "" {
		t.Errorf("content after reading and writing (-want +got):\n%s", diff)
	}
}

func TestParseRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	good, err := mustIssue(t, epoch(), "localhost").data()
	if err != nil {
		t.Fatal(err)
	}
	other, err := mustIssue(t, epoch(), "localhost").data()
	if err != nil {
		t.Fatal(err)
	}
	with := func(key string, value []byte) map[string][]byte {
		data := maps.Clone(good)
		data[key] = value
		return data
	}
	for name, data := range map[string]map[string][]byte{
		"nothing":                 nil,
		"no key of the authority": with(authorityKey, nil),
		"another key":             with(corev1.TLSPrivateKeyKey, other[corev1.TLSPrivateKeyKey]),
		"another authority's key": with(authorityKey, other[authorityKey]),
		"noise for a certificate": with(corev1.TLSCertKey, []byte("noise")),
		"noise in a certificate":  with(corev1.TLSCertKey, noise(blockCertificate)),
		"noise in a key":          with(authorityKey, noise(blockKey)),
		"no authority in the bundle": with(corev1.ServiceAccountRootCAKey,
			slices.Concat(good[corev1.ServiceAccountRootCAKey], good[corev1.TLSCertKey])),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := parse(data); !errors.Is(err, errMaterial) {
				t.Errorf("got %v, want %v", err, errMaterial)
			}
		})
	}
}

func noise(kind string) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte("noise")})
}

func TestRenewedKeepsFormerHosts(t *testing.T) {
	t.Parallel()
	m := mustIssue(t, epoch(), "localhost", "127.0.0.1")
	m, err := renewed(m, []string{"bowline-webhook.bowline-system.svc"}, epoch())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"bowline-webhook.bowline-system.svc", "localhost", "127.0.0.1"}
	if diff := cmp.Diff(want, hostsOf(m.serving.certificate)); diff != "" {
		t.Errorf("hosts, which replicas that differ must agree on in the end (-want +got):\n%s", diff)
	}
}

func TestRenewedGivesUpOnImpossibleHosts(t *testing.T) {
	t.Parallel()
	if _, err := renewed(mustIssue(t, epoch()), []string{"übung.example.com"}, epoch()); err == nil {
		t.Error("no certificate is good for such a host; got no error")
	}
}
