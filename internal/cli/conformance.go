package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/conformance"
)

// conformanceFlags are the flags of conformance.
type conformanceFlags struct {
	cluster  cluster
	api      string
	output   string
	run      string
	list     bool
	parallel int
	timeout  time.Duration
	image    string
}

// reportWriters write a report in each of the forms that --output names.
var reportWriters = map[string]func(conformance.Report, io.Writer) error{
	"text":  conformance.Report.WriteText,
	"json":  conformance.Report.WriteJSON,
	"junit": conformance.Report.WriteJUnit,
}

func newConformance(streams Streams) *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Test an implementation of the specification, clause by clause",
		Long: `Conformance tests the implementation of the Service Binding Specification that runs in the cluster, be it Bowline or
another. It needs an administrator's rights: it makes namespaces, kinds and roles of its own, and removes them again. The
command fails when a MUST or MUST NOT is broken.

  bowline conformance --list
  bowline conformance --api draft
  bowline conformance --run '^mapping-' --parallel 8
  bowline conformance --output junit > report.xml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.execute(cmd.Context(), streams) },
	}
	flags := cmd.Flags()
	f.cluster.bind(flags)
	flags.StringVar(&f.api, "api", string(conformance.Specification),
		"text to test against: "+string(conformance.Specification)+", or "+string(conformance.EarlyDraft)+" for service.binding/v1alpha1")
	flags.StringVarP(&f.output, "output", "o", "text", "form of the report: text, json or junit")
	flags.StringVar(&f.run, "run", "", "test the clauses whose names match this regular expression only")
	flags.BoolVar(&f.list, "list", false, "list the clauses and test none")
	flags.IntVar(&f.parallel, "parallel", conformance.DefaultParallel, "how many clauses are tested at a time")
	flags.DurationVar(&f.timeout, "timeout", conformance.DefaultTimeout, "how long one clause may take")
	flags.StringVar(&f.image, "image", conformance.DefaultImage, "image with sh, test and cat, for clauses that need a node")
	return cmd
}

func (f *conformanceFlags) execute(ctx context.Context, streams Streams) error {
	write, ok := reportWriters[f.output]
	if !ok {
		return f.usage(fmt.Errorf("--output %q is none of text, json and junit", f.output))
	}
	if f.parallel < 1 {
		return f.usage(fmt.Errorf("--parallel %d is less than 1", f.parallel))
	}
	match, err := regexp.Compile(f.run)
	if err != nil {
		return f.usage(fmt.Errorf("--run %q is no regular expression: %w", f.run, err))
	}
	clauses, err := conformance.ClausesOf(conformance.API(f.api))
	if err != nil {
		return f.usage(fmt.Errorf("--api: %w", err))
	}
	if f.list {
		return advise(wrap(listClauses(streams.Out, clauses, match), "listing the clauses"))
	}
	return f.test(ctx, streams, write, match)
}

// test runs the clauses whose names match.
func (f *conformanceFlags) test(
	ctx context.Context, streams Streams, write func(conformance.Report, io.Writer) error, match *regexp.Regexp,
) error {
	config, err := f.cluster.config()
	if err != nil {
		return err
	}
	report, err := conformance.Run(ctx, config, conformance.Options{
		API: conformance.API(f.api), Run: match, Parallel: f.parallel, Timeout: f.timeout, Image: f.image, Progress: f.progress(streams.Err),
	})
	if len(report.Results) > 0 {
		if err := write(report, streams.Out); err != nil {
			return wrap(err, "writing the report")
		}
	}
	if err != nil {
		return advise(wrap(err, "testing the clauses"))
	}
	if !report.Conformant() {
		return &hinted{
			err:  errors.New(report.Summary()),
			hint: "the report says what is broken; one clause alone: bowline conformance --run '^NAME$'",
		}
	}
	return nil
}

func (f *conformanceFlags) usage(err error) error {
	return &usageError{err: err, command: "bowline conformance"}
}

// advise says what to do about an error of a run.
func advise(err error) error {
	switch {
	case errors.Is(err, conformance.ErrNoClause):
		return &hinted{err: err, hint: "try: bowline conformance --list"}
	case errors.Is(err, conformance.ErrNotServed):
		return &hinted{err: err, hint: "install an implementation first; for Bowline: bowline install"}
	default:
		return err
	}
}

// progress tells of each result as it comes.
func (f *conformanceFlags) progress(w io.Writer) func(conformance.Result) {
	tell := progress(w)
	return func(r conformance.Result) { tell(fmt.Sprintf("%-12s %s", r.Outcome, r.Clause)) }
}

func listClauses(w io.Writer, all []conformance.Clause, match *regexp.Regexp) error {
	clauses := slices.DeleteFunc(slices.Clone(all), func(c conformance.Clause) bool { return !match.MatchString(c.Name) })
	if len(clauses) == 0 {
		return conformance.ErrNoClause
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "CLAUSE\tLEVEL\tSECTION\tNEEDS NODE\tTEXT")
	for i := range clauses {
		c := &clauses[i]
		needs := "no"
		if c.NeedsNode {
			needs = "yes"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", c.Name, c.Level, c.SpecRef, needs, c.Text)
	}
	return wrap(table.Flush(), "writing the list")
}
