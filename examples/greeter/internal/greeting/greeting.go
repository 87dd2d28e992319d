// Package greeting is the application of this example: it sends greetings through a NATS server and reads them back.
//
// All it knows of the server comes from a binding. It never prints the password, and it does not hide that a server
// refuses it.
package greeting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bowline-dev/bowline/bindings"
)

// Timeout bounds each exchange with the server.
const Timeout = 3 * time.Second

// Server is what a binding says of a NATS server.
type Server struct {
	// Binding is the name of the binding.
	Binding string
	// Provider says whose server it is; it may be empty.
	Provider string
	// Address is host and port, ready to be dialled.
	Address string
	// Username is who to log in as.
	Username string
	// Password proves it.
	Password bindings.Value
	// URI is all of that in one; nil where the binding has no entry uri.
	URI *bindings.Value
}

// ServerOf takes what is needed from a binding, and refuses one that lacks any of it. Where there is an entry uri, nothing
// else is needed.
func ServerOf(b *bindings.Binding) (*Server, error) {
	if whole, ok := b.Value("uri"); ok {
		uri, err := b.URI()
		if err != nil {
			return nil, fmt.Errorf("reading the URI: %w", err)
		}
		return &Server{Binding: b.Name(), Provider: b.Provider(), Address: uri.Host, URI: &whole}, nil
	}
	host, err := b.Host()
	if err != nil {
		return nil, fmt.Errorf("reading the host: %w", err)
	}
	port, err := b.Port()
	if err != nil {
		return nil, fmt.Errorf("reading the port: %w", err)
	}
	username, err := b.Username()
	if err != nil {
		return nil, fmt.Errorf("reading the user name: %w", err)
	}
	password, err := b.Password()
	if err != nil {
		return nil, fmt.Errorf("reading the password: %w", err)
	}
	return &Server{
		Binding: b.Name(), Provider: b.Provider(), Address: net.JoinHostPort(host, strconv.Itoa(port)), Username: username, Password: password,
	}, nil
}

// RefusedError says that the server does not accept the binding's credentials.
type RefusedError struct {
	// Binding names the binding.
	Binding string
	// Address is the server's.
	Address string
	// Err is the server's answer.
	Err error
}

// Error tells who refused whom and what to do.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("NATS at %s refuses the credentials of binding %q (%v): correct username and password in the"+
		" service's Secret", e.Address, e.Binding, e.Err)
}

// Unwrap returns the server's answer.
func (e *RefusedError) Unwrap() error { return e.Err }

// Connect opens a connection to the bound server.
func Connect(s *Server) (*nats.Conn, error) {
	uri, options := "nats://"+s.Address, []nats.Option{
		nats.Name("greeter"), nats.Timeout(Timeout), nats.NoReconnect(), nats.DontRandomize(),
	}
	if s.URI != nil {
		uri = s.URI.Text()
	} else {
		options = append(options, nats.UserInfo(s.Username, s.Password.Text()))
	}
	conn, err := nats.Connect(uri, options...)
	if errors.Is(err, nats.ErrAuthorization) {
		return nil, &RefusedError{Binding: s.Binding, Address: s.Address, Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to NATS at %s (%w): start the server, or correct host and port in the Secret"+
			" of binding %q", s.Address, err, s.Binding)
	}
	return conn, nil
}

// Await connects once the server answers, and gives up when ctx ends. A server that refuses the credentials is not
// asked again.
func Await(ctx context.Context, s *Server, pause time.Duration) (*nats.Conn, error) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		conn, err := Connect(s)
		var refused *RefusedError
		if err == nil || errors.As(err, &refused) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-tick.C:
		}
	}
}

// Job says what to send.
type Job struct {
	// Subject is below what greetings are sent.
	Subject string
	// Count is how many are sent.
	Count int
}

// Greet publishes the greetings of a job on a subject of its own below the job's, reads each of them back and writes what
// it received to out.
func Greet(ctx context.Context, conn *nats.Conn, job Job, out io.Writer) error {
	// Another greeter on the same subject must not have its greetings counted here.
	own := job.Subject + "." + nats.NewInbox()[len(nats.InboxPrefix):]
	sub, err := conn.SubscribeSync(own)
	if err != nil {
		return fmt.Errorf("subscribing to %s: %w", own, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	for i := range job.Count {
		text := fmt.Sprintf("hello %d of %d", i+1, job.Count)
		if err := exchange(ctx, conn, sub, text); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "received %q on %s\n", text, job.Subject); err != nil {
			return fmt.Errorf("reporting a message: %w", err)
		}
	}
	return nil
}

// exchange sends one text and requires it to come back.
func exchange(ctx context.Context, conn *nats.Conn, sub *nats.Subscription, text string) error {
	if err := conn.Publish(sub.Subject, []byte(text)); err != nil {
		return fmt.Errorf("publishing on %s: %w", sub.Subject, err)
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	msg, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return fmt.Errorf("reading back from %s: %w", sub.Subject, err)
	}
	if string(msg.Data) != text {
		return fmt.Errorf("reading back from %s: got %q, sent %q", sub.Subject, msg.Data, text)
	}
	return nil
}
