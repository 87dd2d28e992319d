package localplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	probeTimeout  = 2 * time.Second
	probeInterval = 25 * time.Millisecond
)

// errAnswer is the answer of a component that is not ready.
var errAnswer = errors.New("not ready")

// prober asks components for their health. It trusts nobody but the plane's own authorities, so that another program
// on a recorded port is never taken for a component.
type prober struct{ client *http.Client }

func (p *Plane) newProber() (*prober, error) {
	roots := x509.NewCertPool()
	for _, authority := range []string{clusterCA, etcdCA} {
		pem, err := os.ReadFile(p.cert(authority))
		if err != nil {
			return nil, fmt.Errorf("reading authority %q: %w", authority, err)
		}
		roots.AppendCertsFromPEM(pem)
	}
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	for _, name := range []string{certAdmin, certAPIServerEtcd} {
		cert, err := tls.LoadX509KeyPair(p.cert(name), p.key(name))
		if err != nil {
			return nil, fmt.Errorf("reading certificate %q: %w", name, err)
		}
		// The server names the authorities that it accepts, and the client takes the certificate that fits.
		config.Certificates = append(config.Certificates, cert)
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	return &prober{client: &http.Client{Transport: transport, Timeout: probeTimeout}}, nil
}

// get returns a check that wants status 200 from the path at the address.
func (p *prober) get(address, path string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+path, nil)
		if err != nil {
			return fmt.Errorf("composing a probe: %w", err)
		}
		response, err := p.client.Do(request)
		if err != nil {
			return fmt.Errorf("probing: %w", err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("probing %s: %w: status %d", path, errAnswer, response.StatusCode)
		}
		return nil
	}
}

// all returns a check that wants every one of the checks to pass.
func all(checks ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, check := range checks {
			if err := check(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
