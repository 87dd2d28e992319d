// Command greeter is a real program and the real service it uses, to try service bindings with.
//
//	greeter [--count N] [--every D]       sends greetings through the bound NATS server and reads them back
//	greeter check [--wait D]              waits until the bound server lets it in
//	greeter serve [--port N] [--credentials DIR] [--until-stdin-closes]
//
// The first two take all they know of the server from $SERVICE_BINDING_ROOT, and the subject from $GREETING_SUBJECT.
// The third is the server. No command ever prints a password, and none runs without one.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/examples/greeter/internal/greeting"
	"github.com/bowline-dev/bowline/examples/greeter/internal/service"
)

const (
	serviceType     = "nats"
	subjectVariable = "GREETING_SUBJECT"
	defaultCount    = 3
	defaultWait     = 30 * time.Second
	retryPause      = 200 * time.Millisecond
)

// streams is what a command reads from and writes to.
type streams struct {
	in     io.Reader
	out    io.Writer
	getenv func(string) string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, getenv: os.Getenv})
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "greeter: %v\n", err)
		os.Exit(1)
	}
}

// run picks the command by its name.
func run(ctx context.Context, args []string, std streams) error {
	if len(args) > 0 {
		switch args[0] {
		case "serve":
			return serve(ctx, args[1:], std)
		case "check":
			return check(ctx, args[1:], std)
		}
	}
	return greet(ctx, args, std)
}

// parse reads the flags and refuses what is left over.
func parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(os.Stderr)
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("reading flags: %w", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: the commands are serve and check", flags.Arg(0))
	}
	return nil
}

// greet sends greetings once, or again and again until ctx ends.
func greet(ctx context.Context, args []string, std streams) error {
	flags := flag.NewFlagSet("greeter", flag.ContinueOnError)
	count := flags.Int("count", defaultCount, "how many greetings to send")
	every := flags.Duration("every", 0, "send them again after this time, forever; 0 sends them once")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := greetOnce(ctx, *count, std); err != nil || *every <= 0 {
		return err
	}
	tick := time.NewTicker(*every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := greetOnce(ctx, *count, std); err != nil {
				return err
			}
		}
	}
}

// find reads the bindings, and takes the one of a NATS server.
func find(std streams) (*greeting.Server, error) {
	set, err := bindings.FromDir(std.getenv(bindings.RootVariable))
	if err != nil {
		return nil, fmt.Errorf("no binding of type %q: %w", serviceType, err)
	}
	bound, err := set.One(serviceType)
	if err != nil {
		return nil, fmt.Errorf("choosing a binding: %w", err)
	}
	return greeting.ServerOf(bound)
}

// greetOnce reads the binding anew, so that a changed password is used from the next round on.
func greetOnce(ctx context.Context, count int, std streams) error {
	server, err := find(std)
	if err != nil {
		return fmt.Errorf("finding the service: %w", err)
	}
	subject := std.getenv(subjectVariable)
	if subject == "" {
		return fmt.Errorf("%s is not set: map an entry of the Secret to it in .spec.env of the ServiceBinding",
			subjectVariable)
	}
	conn, err := greeting.Connect(server)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer conn.Close()
	if err := greeting.Greet(ctx, conn, greeting.Job{Subject: subject, Count: count}, std.out); err != nil {
		return fmt.Errorf("using binding %q: %w", server.Binding, err)
	}
	_, err = fmt.Fprintf(std.out, "done: %d greetings through %s (binding %q, provider %q)\n",
		count, server.Address, server.Binding, server.Provider)
	if err != nil {
		return fmt.Errorf("reporting: %w", err)
	}
	return nil
}

// check connects as soon as the server answers.
func check(ctx context.Context, args []string, std streams) error {
	flags := flag.NewFlagSet("greeter check", flag.ContinueOnError)
	wait := flags.Duration("wait", defaultWait, "how long to wait for the server")
	if err := parse(flags, args); err != nil {
		return err
	}
	server, err := find(std)
	if err != nil {
		return fmt.Errorf("finding the service: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, *wait)
	defer cancel()
	conn, err := greeting.Await(ctx, server, retryPause)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	conn.Close()
	return nil
}

// ready is the line that serve prints once clients can connect.
type ready struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// serve runs the NATS server until ctx ends or, when asked to, standard input is closed: the sign that whoever started
// it is gone, however it went.
func serve(ctx context.Context, args []string, std streams) error {
	flags := flag.NewFlagSet("greeter serve", flag.ContinueOnError)
	port := flags.Int("port", 0, "port on loopback; 0 takes a free one")
	dir := flags.String("credentials", "", "directory with the files username and password")
	attached := flags.Bool("until-stdin-closes", false, "stop when standard input ends")
	if err := parse(flags, args); err != nil {
		return err
	}
	who, err := service.ReadCredentials(*dir, std.getenv)
	if err != nil {
		return fmt.Errorf("starting the service: %w", err)
	}
	server, err := service.Start(*port, who)
	if err != nil {
		return fmt.Errorf("starting the service: %w", err)
	}
	defer server.Stop()
	if err := json.NewEncoder(std.out).Encode(ready{Host: server.Host(), Port: server.Port()}); err != nil {
		return fmt.Errorf("reporting the port: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *attached {
		go drain(std.in, cancel)
	}
	<-ctx.Done()
	return nil
}

// drain reads to the end and says so.
func drain(in io.Reader, done func()) {
	_, _ = io.Copy(io.Discard, in)
	done()
}
