// Command bowline ties workloads to the services they use. It hands over to internal/cli and decides nothing itself.
package main

import (
	"os"

	"github.com/bowline-dev/bowline/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
