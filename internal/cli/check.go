package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/internal/check"
)

// checkFlags are the flags of check.
type checkFlags struct {
	cluster   cluster
	namespace string
	files     []string
	dir       string
	output    string
	strict    bool
}

// checkWriters write reports in each of the forms that --output names.
var checkWriters = map[string]func(io.Writer, []check.Report) error{"text": writeCheckText, "json": writeCheckJSON}

func newCheck(streams Streams) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [KIND/NAME...]",
		Short: "Say what is wrong with a binding before a program trips over it",
		Long: `Check says what of a binding breaks the specification, and what the libraries that read such bindings will miss or pass
over. It names entries and never shows a value. It looks at objects of the cluster, at manifests, or at a directory as a container
sees it, and at $SERVICE_BINDING_ROOT when nothing is named. It ends with 1 when there are errors, with --strict also when there are
warnings, and with 2 when there is nothing that it can check.

  bowline check secret/orders-db
  bowline check servicebinding/orders databases.example.com/orders
  bowline check -f manifests/ --strict
  bowline check --dir /bindings --output json`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.execute(cmd.Context(), args, streams) },
	}
	flags := cmd.Flags()
	f.cluster.bind(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the objects, and of manifests that name none (default: the context's)")
	flags.StringArrayVarP(&f.files, "filename", "f", nil, "manifest, folder of manifests, or - for standard input; may be repeated")
	flags.StringVar(&f.dir, "dir", "", "directory of bindings, or of one binding")
	flags.StringVarP(&f.output, "output", "o", "text", "form of the report: text or json")
	flags.BoolVar(&f.strict, "strict", false, "fail on warnings, too")
	return cmd
}

func (f *checkFlags) execute(ctx context.Context, args []string, streams Streams) error {
	write, ok := checkWriters[f.output]
	if !ok {
		return f.refuse(fmt.Errorf("--output %q is neither text nor json", f.output), "")
	}
	subjects, err := f.subjects(ctx, args, streams)
	if err != nil {
		return err
	}
	reports := make([]check.Report, 0, len(subjects))
	for i := range subjects {
		reports = append(reports, check.Check(&subjects[i], time.Now()))
	}
	if err := write(streams.Out, reports); err != nil {
		return wrap(err, "writing the report")
	}
	return f.verdict(reports)
}

// verdict is an error where the findings are bad enough.
func (f *checkFlags) verdict(reports []check.Report) error {
	bad := check.Count(reports, check.Error)
	if f.strict {
		bad += check.Count(reports, check.Warning)
	}
	if bad == 0 {
		return nil
	}
	return &hinted{err: errors.New(checkSummary(reports)), hint: "docs/reference/check.md says what each rule asks for"}
}

// subjects reads what is to be checked.
func (f *checkFlags) subjects(ctx context.Context, args []string, streams Streams) ([]check.Subject, error) {
	given := 0
	for _, is := range []bool{len(args) > 0, len(f.files) > 0, f.dir != ""} {
		if is {
			given++
		}
	}
	root := os.Getenv(bindings.RootVariable)
	switch {
	case given > 1:
		return nil, f.refuse(errors.New("objects, --filename and --dir do not go together"), "run check once for each")
	case len(args) > 0:
		return f.fromCluster(ctx, args)
	case len(f.files) > 0:
		return f.fromManifests(streams.In)
	case f.dir != "":
		return f.fromDirectory(f.dir)
	case root != "":
		return f.fromDirectory(root)
	default:
		return nil, f.refuse(errors.New("there is nothing to check"), "name an object, as in: bowline check secret/NAME; or use -f, or --dir")
	}
}

// refuse makes the error for input that cannot be checked, with advice where there is better than the help.
func (f *checkFlags) refuse(err error, hint string) error {
	if hint != "" {
		err = &hinted{err: err, hint: hint}
	}
	return &usageError{err: err, command: "bowline check"}
}

func checkSummary(reports []check.Report) string {
	return fmt.Sprintf("%d checked: %d errors, %d warnings, %d notes", len(reports),
		check.Count(reports, check.Error), check.Count(reports, check.Warning), check.Count(reports, check.Info))
}

func writeCheckText(w io.Writer, reports []check.Report) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range reports {
		r := &reports[i]
		_, _ = fmt.Fprint(table, check.Printable(r.Name))
		if r.Origin != "" {
			_, _ = fmt.Fprintf(table, " (%s)", check.Printable(r.Origin))
		}
		if r.Type != "" {
			_, _ = fmt.Fprintf(table, ", type %s", check.Printable(r.Type))
		}
		_, _ = fmt.Fprintln(table)
		for _, finding := range r.Findings {
			about := finding.Entry
			if about == "" {
				about = "-"
			}
			message := finding.Message
			if finding.Library != "" {
				message = finding.Library + ": " + message
			}
			_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", finding.Severity, finding.Rule, check.Printable(about), check.Printable(message))
		}
	}
	_, _ = fmt.Fprintln(table, checkSummary(reports))
	return wrap(table.Flush(), "writing the findings")
}

// checkDocument is the report for machines.
type checkDocument struct {
	Errors   int            `json:"errors"`
	Warnings int            `json:"warnings"`
	Notes    int            `json:"notes"`
	Checked  []check.Report `json:"checked"`
}

func writeCheckJSON(w io.Writer, reports []check.Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return wrap(encoder.Encode(checkDocument{
		Errors: check.Count(reports, check.Error), Warnings: check.Count(reports, check.Warning), Notes: check.Count(reports, check.Info),
		Checked: reports,
	}), "encoding the findings")
}
