// Package cli is the command line: flags in, calls out, words for people. Each command is one file. What a command does
// is decided in the packages it calls.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Streams are where a command reads and writes.
type Streams struct {
	// In is the standard input.
	In io.Reader
	// Out gets what was asked for.
	Out io.Writer
	// Err gets progress, errors and hints.
	Err io.Writer
}

// Exit codes of the command.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main runs the command with its arguments (without the program's name) and returns the exit code: 0 for success, 2 for
// arguments that make no sense and for a program that could not be started, 1 for anything else; where a program was
// started, its own. The first interrupt ends the command gracefully.
func Main(args []string, streams Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	root := newRoot(streams)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if program, ok := errors.AsType[*endedError](err); ok {
		return program.code
	}
	_, _ = fmt.Fprintf(streams.Err, "bowline: %v\n", err)
	if hint := hintFor(err); hint != "" {
		_, _ = fmt.Fprintf(streams.Err, "hint: %s\n", hint)
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*notStartedError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// endings are the signals that end a command gracefully. An interrupt that it was started to ignore stays ignored: a shell
// has it so for what runs in its background.
func endings() []os.Signal {
	if signal.Ignored(os.Interrupt) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM}
}

func newRoot(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "bowline",
		Short: "Tie workloads to the services they use",
		Long: `Bowline implements the Service Binding Specification for Kubernetes: it gives the containers of a workload the
credentials of the services that the workload is bound to, as files and as environment variables.

  bowline up        a control plane on this machine, with Bowline in it
  bowline install   Bowline in the cluster that your kubeconfig names
  bowline run       a program on this machine, with what a workload's container has`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() }, // without it cobra looks at no argument
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{err: err, command: cmd.CommandPath()}
	})
	root.AddCommand(
		newUp(streams), newDown(streams), newController(streams), newInstall(streams), newUninstall(streams),
		newCheck(streams), newConvert(streams), newExplain(streams), newConformance(streams), newRun(streams), newVersion(streams),
	)
	return root
}

// usageError says that the arguments make no sense.
type usageError struct {
	err     error
	command string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// noArguments refuses arguments where a command takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return &usageError{err: fmt.Errorf("there is no command %q", args[0]), command: cmd.CommandPath()}
	}
	return &usageError{err: fmt.Errorf("%s takes no argument, but got %q", cmd.CommandPath(), args[0]), command: cmd.CommandPath()}
}

// hinted carries advice along with an error.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }
func (e *hinted) Unwrap() error { return e.err }

// hintFor returns the advice for an error; "" for none.
func hintFor(err error) string {
	if advised := (*hinted)(nil); errors.As(err, &advised) {
		return advised.hint
	}
	if usage := (*usageError)(nil); errors.As(err, &usage) {
		return "try: " + usage.command + " --help"
	}
	return ""
}
