// Command reader shows the bindings of the process it runs in, and follows them: what a program that reads its bindings in Go
// looks like, and what an end-to-end test runs in a pod.
//
//	reader [--type TYPE] [--provider PROVIDER] [--show ENTRY,ENTRY] [--watch]
//
// It prints one line of JSON for each state: the bindings, and the names of their entries. It prints the value of no entry but
// of those that --show names.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/bowline-dev/bowline/bindings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "reader: %v\n", err)
		os.Exit(1)
	}
}

// options say what to show.
type options struct {
	query bindings.Query
	show  []string
	watch bool
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("reader", flag.ContinueOnError)
	flags.StringVar(&o.query.Type, "type", "", "show bindings of this type only")
	flags.StringVar(&o.query.Provider, "provider", "", "show bindings of this provider only")
	show := flags.String("show", "", "entries whose values are shown, separated by commas; none of a password, please")
	flags.BoolVar(&o.watch, "watch", false, "go on until interrupted, and print each new state")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("reading flags: %w", err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q: reader takes flags only", flags.Arg(0))
	}
	if *show != "" {
		o.show = strings.Split(*show, ",")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	states := once
	if o.watch {
		states = func() iter.Seq2[bindings.Set, error] { return bindings.Watch(ctx) }
	}
	encoder := json.NewEncoder(out)
	for set, err := range states() {
		if err != nil && !o.watch {
			return fmt.Errorf("reading bindings: %w", err)
		}
		if err := encoder.Encode(stateOf(set, err, o)); err != nil {
			return fmt.Errorf("printing the state: %w", err)
		}
		if !o.watch && len(set.Select(o.query)) == 0 {
			_, err := set.Find(o.query)
			return fmt.Errorf("looking for a binding: %w", err)
		}
	}
	return nil
}

func once() iter.Seq2[bindings.Set, error] {
	return func(yield func(bindings.Set, error) bool) { yield(bindings.FromEnv()) }
}

// state is what is printed.
type state struct {
	Error    string    `json:"error,omitempty"`
	Bindings []binding `json:"bindings"`
}

type binding struct {
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	Provider string            `json:"provider,omitempty"`
	Entries  []string          `json:"entries"`
	Shown    map[string]string `json:"shown,omitempty"`
}

func stateOf(set bindings.Set, err error, o options) state {
	s := state{Bindings: []binding{}}
	if err != nil {
		s.Error = err.Error()
	}
	for _, b := range set.Select(o.query) {
		one := binding{Name: b.Name(), Type: b.Type(), Provider: b.Provider(), Entries: b.Entries(), Shown: map[string]string{}}
		for _, entry := range o.show {
			if value, ok := b.Value(entry); ok {
				one.Shown[entry] = value.Text()
			}
		}
		s.Bindings = append(s.Bindings, one)
	}
	return s
}
