package live

import (
	"errors"
	"testing"

	"k8s.io/client-go/rest"
)

func TestOpenWiresAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason  string
		config  rest.Config
		refused bool
	}{
		{reason: "TLS", config: rest.Config{Host: "https://cluster.example.com:6443"}},
		{reason: "TLS without a scheme", config: rest.Config{
			Host: "cluster.example.com", TLSClientConfig: rest.TLSClientConfig{CAFile: "ca.crt"},
		}},
		{reason: "no TLS", config: rest.Config{Host: "http://cluster.example.com:8080"}, refused: true},
		{reason: "no TLS and no scheme", config: rest.Config{Host: "cluster.example.com:8080"}, refused: true},
		{reason: "no TLS, another machine by its address", config: rest.Config{Host: "http://192.0.2.1"}, refused: true},
		{reason: "a name that only looks like this machine's", config: rest.Config{Host: "http://localhost.example.com"}, refused: true},
		{reason: "this machine, as kubectl proxy", config: rest.Config{Host: "http://127.0.0.1:8001"}},
		{reason: "this machine by its name", config: rest.Config{Host: "http://localhost:8001"}},
		{reason: "this machine in IPv6", config: rest.Config{Host: "http://[::1]:8001"}},
	}
	for _, test := range tests {
		_, err := New(&test.config)
		refusal := (*OpenWireError)(nil)
		if test.refused != errors.As(err, &refusal) {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
}
