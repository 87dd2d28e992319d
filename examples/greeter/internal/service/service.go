// Package service is the service of this example: a NATS server inside the process.
//
// It listens on loopback only and lets nobody in without the one user name and password it was given. It keeps
// nothing on disk, and it refuses to start without credentials.
package service

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	host         = "127.0.0.1"
	startTimeout = 10 * time.Second

	// UsernameVariable and PasswordVariable hold the credentials when no directory of files is given.
	UsernameVariable = "NATS_USERNAME"
	// PasswordVariable is documented with UsernameVariable.
	PasswordVariable = "NATS_PASSWORD"
)

// ErrNoCredentials is returned when the user name or the password is missing.
var ErrNoCredentials = errors.New("no user name and password: give --credentials a directory with the files" +
	" username and password, or set " + UsernameVariable + " and " + PasswordVariable)

// Credentials are what a client has to show.
type Credentials struct {
	// Username is who may log in.
	Username string
	// Password proves it.
	Password Secret
}

// ReadCredentials takes the credentials from the files username and password in dir, or from the environment when dir
// is empty.
func ReadCredentials(dir string, getenv func(string) string) (Credentials, error) {
	username, password := getenv(UsernameVariable), getenv(PasswordVariable)
	if dir != "" {
		var err error
		if username, err = readFile(dir, "username"); err != nil {
			return Credentials{}, err
		}
		if password, err = readFile(dir, "password"); err != nil {
			return Credentials{}, err
		}
	}
	if username == "" || password == "" {
		return Credentials{}, ErrNoCredentials
	}
	return Credentials{Username: username, Password: NewSecret(password)}, nil
}

func readFile(dir, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return "", fmt.Errorf("reading credentials: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Server is a NATS server that runs.
type Server struct {
	nats *server.Server
	addr *net.TCPAddr
}

// Start starts a server on a port of loopback, 0 for a free one, and returns once clients can connect.
func Start(port int, who Credentials) (*Server, error) {
	if who.Username == "" || who.Password.Reveal() == "" {
		return nil, ErrNoCredentials
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	nats, err := server.NewServer(&server.Options{
		ServerName: "greeter",
		Host:       host,
		Port:       port,
		Username:   who.Username,
		Password:   who.Password.Reveal(),
		NoLog:      true,
		NoSigs:     true,
	})
	if err != nil {
		return nil, fmt.Errorf("configuring the NATS server: %w", err)
	}
	nats.Start()
	if !nats.ReadyForConnections(startTimeout) {
		nats.Shutdown()
		return nil, fmt.Errorf("starting the NATS server: not ready on port %d within %s: is the port taken?",
			port, startTimeout)
	}
	addr, ok := nats.Addr().(*net.TCPAddr)
	if !ok {
		nats.Shutdown()
		return nil, errors.New("starting the NATS server: it listens on no port")
	}
	return &Server{nats: nats, addr: addr}, nil
}

// Host is where clients connect.
func (s *Server) Host() string { return s.addr.IP.String() }

// Port is where clients connect.
func (s *Server) Port() int { return s.addr.Port }

// Stop closes all connections and waits for the server to have stopped.
func (s *Server) Stop() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
