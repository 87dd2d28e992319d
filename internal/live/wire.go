package live

import (
	"fmt"
	"net"

	"k8s.io/client-go/rest"
)

// OpenWireError says that what the cluster answers would cross a network in the clear.
type OpenWireError struct {
	// Server is the address, as the kubeconfig has it.
	Server string
}

// Error names the address.
func (e *OpenWireError) Error() string {
	return fmt.Sprintf("the cluster at %s is reached without TLS, and Secrets would cross the network in the clear", e.Server)
}

// Hint says what to do.
func (e *OpenWireError) Hint() string {
	return "use a kubeconfig with an https address; kubectl proxy on this machine will do as well"
}

// checkWire refuses addresses without TLS, but for those of this machine itself.
func checkWire(config *rest.Config) error {
	url, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return fmt.Errorf("reading the cluster's address: %w", err)
	}
	if url.Scheme == "https" {
		return nil
	}
	host := url.Hostname()
	if address := net.ParseIP(host); host == "localhost" || address != nil && address.IsLoopback() {
		return nil
	}
	return &OpenWireError{Server: url.Scheme + "://" + url.Host} // the rest of an address may hold a password
}
