// Command shell is what images made on this machine have for a shell: the language of sh, with cat and sleep beside what
// is built into it. Probes and small pods need no more, and no image has to be fetched for them.
//
// It acts as the command that it is called by: sh, cat, sleep, test.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

const (
	exitUsage      = 2
	exitTerminated = 128 + int(syscall.SIGTERM)
)

func main() {
	// As the first process of a container it would not be ended by a signal that nobody takes.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		os.Exit(exitTerminated)
	}()
	os.Exit(run(context.Background(), os.Args))
}

// run runs what the arguments ask for and returns the exit code.
func run(ctx context.Context, argv []string) int {
	err := execute(ctx, filepath.Base(argv[0]), argv[1:])
	if err == nil {
		return 0
	}
	if status, ended := errors.AsType[interp.ExitStatus](err); ended {
		return int(status)
	}
	_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(argv[0]), err)
	return exitUsage
}

func execute(ctx context.Context, name string, args []string) error {
	switch {
	case name != "sh" && name != "shell": // one command of the language
		words := append([]string{name}, args...)
		return interpret(ctx, `"$@"`, words)
	case len(args) == 0:
		return interpretFile(ctx, os.Stdin.Name(), nil)
	case args[0] == "-c" && len(args) > 1:
		return interpret(ctx, args[1], args[min(len(args), 3):]) // the third would be $0
	case !strings.HasPrefix(args[0], "-"):
		return interpretFile(ctx, args[0], args[1:])
	default:
		return errors.New("usage: sh [-c COMMANDS | FILE] [ARGUMENT ...]")
	}
}

// interpretFile runs the script in a file.
func interpretFile(ctx context.Context, path string, args []string) error {
	script, err := os.ReadFile(path) //nolint:gosec // whoever names it could read it
	if err != nil {
		return fmt.Errorf("reading a script: %w", err)
	}
	return interpret(ctx, string(script), args)
}

// interpret runs a script with its arguments.
func interpret(ctx context.Context, script string, args []string) error {
	program, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(script), "")
	if err != nil {
		return fmt.Errorf("parsing: %w", err)
	}
	runner, err := interp.New(
		interp.StdIO(os.Stdin, os.Stdout, os.Stderr),
		interp.Params(append([]string{"--"}, args...)...),
		interp.ExecHandlers(commands),
	)
	if err != nil {
		return fmt.Errorf("preparing the shell: %w", err)
	}
	return runner.Run(ctx, program)
}

// commands adds cat and sleep to the language.
func commands(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		handler := interp.HandlerCtx(ctx)
		var err error
		switch args[0] {
		case "cat":
			err = concatenate(handler, args[1:])
		case "sleep":
			err = pause(ctx, args[1:])
		default:
			return next(ctx, args)
		}
		if err != nil {
			_, _ = fmt.Fprintf(handler.Stderr, "%s: %v\n", args[0], err)
			return interp.ExitStatus(1)
		}
		return nil
	}
}

// concatenate writes the files, or the standard input when there are none.
func concatenate(handler interp.HandlerContext, names []string) error {
	if len(names) == 0 {
		if handler.Stdin == nil {
			return nil
		}
		_, err := io.Copy(handler.Stdout, handler.Stdin)
		return err
	}
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(handler.Dir, name)
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(handler.Stdout, file)
		_ = file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// pause waits for a number of seconds, or for any time that says its unit.
func pause(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: sleep SECONDS")
	}
	text := args[0]
	if strings.Trim(text, "0123456789.") == "" {
		text += "s"
	}
	wait, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("reading a time: %w", err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
	return nil
}
