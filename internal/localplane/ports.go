package localplane

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"net"
	"strconv"
)

const (
	loopback = "127.0.0.1"
	// Ports are taken from below the range that kernels hand out to outgoing connections, so that a recorded port is
	// rarely in use when its owner comes back.
	lowestPort  = 16000
	portCount   = 16000
	portRetries = 100
)

// PortError says that the port asked for cannot be used.
type PortError struct {
	// Port is the port asked for.
	Port int
	// Running is the port on which the control plane runs already; zero when Port is taken by another program.
	Running int
	// Err is what the attempt to listen on Port gave; nil when Running is set.
	Err error
}

func (e *PortError) Error() string {
	if e.Running != 0 {
		return fmt.Sprintf("API server port %d was asked for, but the control plane runs on port %d already: "+
			"stop it first, or leave the port open", e.Port, e.Running)
	}
	return fmt.Sprintf("API server port %d cannot be used: %v: choose another, or leave the port open", e.Port, e.Err)
}

// Unwrap returns what the attempt to listen gave.
func (e *PortError) Unwrap() error { return e.Err }

// ports are the loopback ports of the components; zero is not chosen yet.
type ports struct {
	Etcd              int `json:"etcd"`
	EtcdPeer          int `json:"etcdPeer"`
	APIServer         int `json:"apiServer"`
	ControllerManager int `json:"controllerManager"`
}

// address returns a loopback address with the port.
func address(port int) string {
	return net.JoinHostPort(loopback, strconv.Itoa(port))
}

// tryPort returns nil when one can listen on the port now.
func tryPort(port int) error {
	listener, err := net.Listen("tcp", address(port)) //nolint:noctx // it does not wait
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	if err := listener.Close(); err != nil {
		return fmt.Errorf("closing the listener: %w", err)
	}
	return nil
}

// keepOrChoose leaves port as it is when it can be used, and otherwise chooses another.
func keepOrChoose(port *int) error {
	if *port != 0 && tryPort(*port) == nil {
		return nil
	}
	var last error
	for range portRetries {
		offset, err := rand.Int(rand.Reader, big.NewInt(portCount))
		if err != nil {
			return fmt.Errorf("choosing a port: %w", err)
		}
		candidate := lowestPort + int(offset.Int64())
		if last = tryPort(candidate); last == nil {
			*port = candidate
			return nil
		}
	}
	return fmt.Errorf("choosing a port: %d attempts: %w", portRetries, last)
}
