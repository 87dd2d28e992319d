package admission

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

const (
	servingLife   = 90 * 24 * time.Hour
	authorityLife = 2 * 365 * 24 * time.Hour

	// skew is how far behind ours the clock of an API server may be: certificates are valid from that long ago.
	skew = 5 * time.Minute

	// settling is how long a new authority is only trusted before it signs, so that each API server knows it by then.
	settling = 24 * time.Hour

	maxRenewals = 4
)

// renewal is what is to be done about a certificate.
type renewal string

const (
	renewNothing   renewal = "nothing"   // all is well
	renewBundle    renewal = "bundle"    // forget former authorities that have nothing left to vouch for
	renewServing   renewal = "serving"   // sign a new serving certificate
	renewAuthority renewal = "authority" // add a new authority; the serving certificate stays
	renewAll       renewal = "all"       // begin anew
)

// needsRenewal decides from the content of the Secret, the hosts that the certificate must be good for, and the time.
//
// A change of authority never cuts a connection: at two thirds of its life a second one joins the bundle and does not
// sign yet. When the serving certificate is due, the new authority signs, known to all by then. The former one leaves
// when no certificate of it can be valid any more.
func needsRenewal(m *material, hosts []string, now time.Time) renewal {
	authority, serving := m.authority.certificate, m.serving.certificate
	switch {
	case !valid(authority, now):
		return renewAll
	case !m.serves(hosts, now):
		return renewServing
	case due(authority, now):
		return renewAuthority
	case due(serving, now) && (now.Sub(authority.NotBefore) > settling || serving.NotAfter.Sub(now) < settling):
		return renewServing
	case len(m.former) > 0 && now.Sub(authority.NotBefore) > servingLife+skew:
		return renewBundle
	default:
		return renewNothing
	}
}

// renew returns the material with the renewal made. What it is given stays as it is.
func renew(m *material, what renewal, hosts []string, now time.Time) (*material, error) {
	switch what {
	case renewAll:
		return issue(hosts, now)
	case renewAuthority:
		authority, err := newAuthority(now)
		if err != nil {
			return nil, err
		}
		former := append([]*x509.Certificate{m.authority.certificate}, m.former...)
		return &material{authority: authority, serving: m.serving, former: former}, nil
	case renewServing:
		// The hosts so far stay, lest replicas that want different ones replace each other's certificate without end.
		serving, err := newServing(m.authority, slices.Concat(hosts, hostsOf(m.serving.certificate)), now)
		if err != nil {
			return nil, err
		}
		return &material{authority: m.authority, serving: serving, former: m.former}, nil
	case renewBundle:
		return &material{authority: m.authority, serving: m.serving}, nil
	case renewNothing:
	}
	return m, nil
}

// issue makes an authority and a certificate signed by it.
func issue(hosts []string, now time.Time) (*material, error) {
	authority, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	serving, err := newServing(authority, hosts, now)
	if err != nil {
		return nil, err
	}
	return &material{authority: authority, serving: serving}, nil
}

// renewed makes all renewals that are needed now. There are few that one can lead to; more than that means that no
// certificate would ever do.
func renewed(m *material, hosts []string, now time.Time) (*material, error) {
	for range maxRenewals {
		what := needsRenewal(m, hosts, now)
		if what == renewNothing {
			return m, nil
		}
		var err error
		if m, err = renew(m, what, hosts, now); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("making a certificate for %q: a client would not accept it for one of them", hosts)
}

// serves says whether a client that trusts the bundle would accept the serving certificate for each host.
func (m *material) serves(hosts []string, now time.Time) bool {
	roots := x509.NewCertPool()
	for _, authority := range m.authorities() {
		roots.AddCert(authority)
	}
	verify := func(host string) bool {
		_, err := m.serving.certificate.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: host})
		return err == nil
	}
	return verify("") && !slices.ContainsFunc(hosts, func(host string) bool { return !verify(host) })
}

func valid(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotBefore) && now.Before(c.NotAfter)
}

// due says whether two thirds of a certificate's life are over.
func due(c *x509.Certificate, now time.Time) bool {
	return now.Sub(c.NotBefore) > c.NotAfter.Sub(c.NotBefore)*2/3
}
