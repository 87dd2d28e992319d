// Command demo plays the whole story of one binding, from a machine without a cluster to an unbound workload, and
// shows each step. Then it binds the same workload to a service that was not made to be bound.
//
// All of it is real: the API server, the controller, the service that wants a password, the program that needs it. A
// step that does not hold ends the demo with status 1 and the reason. It never prints a password, listens on loopback
// only, and removes what it made however it ends, short of being killed by SIGKILL.
//
// It runs from the root of the repository, after "make build".
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	root := flag.String("root", ".", "root of the repository, with the binaries in bin/")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, *root, os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

// run plays the story and cleans up behind it.
func run(ctx context.Context, root string, out io.Writer) error {
	s, err := newStory(root, out)
	if err != nil {
		return err
	}
	return s.play(ctx, steps())
}

// steps is the story.
func steps() []step {
	return []step{
		{"Start a Kubernetes API server and Bowline on this machine", startPlane},
		{"Start a service that wants a password: a NATS server", startService},
		{"Run the program without a binding: it must fail", runUnbound},
		{"Apply the Secret and the Deployment", applyWorkload},
		{"Apply the ServiceBinding and wait until it is ready", bind},
		{"Look at what the binding did to the Deployment", showProjection},
		{"Run the Deployment's program on this machine with what was projected", runBound},
		{"Delete the binding: the Deployment must be what it was", unbind},
		{"Run the program once more: without the binding it must fail", runAgain},
		{"Let a service be bound that was not made for it: describe its kind", defineKind},
		{"Apply a service of that kind, and bind it", bindDescribed},
		{"Run the Deployment's program with the Secret that Bowline made", runDescribed},
		{"Replace the service's password: all that was made follows", changePassword},
		{"Compose one URL of three resources, and bind that", composeURL},
		{"Delete the binding: the Deployment must be what it was, again", unbindDescribed},
		{"Check that no password was logged", checkLogs},
		{"Check that no password was printed", checkTranscript},
	}
}
