// Command bowline ties workloads to the services they use. It hands over to internal/cli and decides nothing itself;
// where it was started as the second stage of a sandbox, it hands over to that.
package main

import (
	"os"

	"github.com/bowline-dev/bowline/internal/cli"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
)

func main() {
	if code, handled := sandbox.Stage(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
