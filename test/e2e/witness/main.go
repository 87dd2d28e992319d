// Command witness writes what it finds in its surroundings as JSON: its variables, and all that is in the folders given.
// It is static and small, so that it runs in a pod and under bowline run alike.
//
//	witness [--stay] [FOLDER...]
//
// With --stay it goes on running until it is told to end, for a pod to have a process to look at.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/bowline-dev/bowline/test/e2e/witness/testimony"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	stay := flag.Bool("stay", false, "go on running")
	flag.Parse()
	if err := testify(os.Stdout, flag.Args()); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "witness: %v\n", err)
		os.Exit(1)
	}
	if *stay {
		<-signals
	}
}

func testify(w io.Writer, folders []string) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(testimony.Take(folders...)); err != nil {
		return fmt.Errorf("writing the testimony: %w", err)
	}
	return nil
}
