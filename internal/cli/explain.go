package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/check"
	"github.com/bowline-dev/bowline/internal/explain"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	cluster   cluster
	namespace string
	output    string
}

// explainWriters write a report in each of the forms that --output names.
var explainWriters = map[string]func(io.Writer, *explain.Report) error{
	"text": writeExplainText, "json": writeExplainJSON, "yaml": writeExplainYAML,
}

func newExplain(streams Streams) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Say how a service can be bound, and where each entry comes from",
		Long: `Explain says of a service whether it can be bound, and entry by entry which Secret, ConfigMap, field or constant holds the value,
and which annotation, definition, known operator or descriptor says so. It names entries and never shows a value. Of a binding it explains
the service. It ends with 1 when something stands in the way, and with 2 when there is nothing that it can explain.

  bowline explain databases.example.com/orders
  bowline explain cluster.postgresql.cnpg.io/orders --namespace shop
  bowline explain servicebinding/orders --output yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.execute(cmd.Context(), args, streams) },
	}
	flags := cmd.Flags()
	f.cluster.bind(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the service (default: the context's)")
	flags.StringVarP(&f.output, "output", "o", "text", "form of the report: text, json or yaml")
	return cmd
}

func (f *explainFlags) execute(ctx context.Context, args []string, streams Streams) error {
	write, ok := explainWriters[f.output]
	if !ok {
		return f.refuse(fmt.Errorf("--output %q is none of text, json and yaml", f.output), "")
	}
	if len(args) != 1 {
		return f.refuse(errors.New("one service is expected"), "name it, as in: bowline explain databases.example.com/orders")
	}
	if !objectName.MatchString(args[0]) {
		return f.refuse(fmt.Errorf("%q is not of the form KIND/NAME", args[0]), "try: bowline explain databases.example.com/orders")
	}
	from, err := f.cluster.finder(f.namespace)
	if err != nil {
		return f.refuse(err, "")
	}
	report, err := (&explainer{finder: from}).explain(ctx, args[0])
	if err != nil {
		return f.refuse(err, "")
	}
	if err := write(streams.Out, report); err != nil {
		return wrap(err, "writing the explanation")
	}
	if !report.Bindable {
		return &hinted{
			err:  fmt.Errorf("%s cannot be bound: problems: %d", check.Printable(report.Service), len(report.Problems)),
			hint: "each problem says what to do; docs/reference/explain.md says more",
		}
	}
	return nil
}

// refuse makes the error for what cannot be explained, with advice where there is better than the help.
func (f *explainFlags) refuse(err error, hint string) error {
	if hint != "" {
		err = &hinted{err: err, hint: hint}
	}
	return &usageError{err: err, command: "bowline explain"}
}

// manners say what people make of each.
var manners = map[explain.Manner]string{
	explain.MannerSecret:      "is a Secret, and is bound as it is",
	explain.MannerProvisioned: "is provisioned: it names the Secret to bind",
	explain.MannerDescribed:   "is described: its Secret is made once it is bound",
	explain.MannerNone:        "tells nothing of how to bind it",
}

func writeExplainText(w io.Writer, r *explain.Report) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "%s in namespace %s %s\n", check.Printable(r.Service), check.Printable(r.Namespace), manners[r.Manner])
	for _, e := range r.Entries {
		line := []string{check.Printable(e.Name), check.Printable(sourceOf(e))}
		if e.Rule != "" {
			line = append(line, check.Printable(e.Rule))
		}
		_, _ = fmt.Fprintf(table, "  %s\n", strings.Join(line, "\t"))
	}
	for _, problem := range r.Problems {
		for line := range strings.SplitSeq(problem, "\n") {
			_, _ = fmt.Fprintf(table, "problem: %s\n", check.Printable(line))
		}
	}
	for _, note := range r.Notes {
		_, _ = fmt.Fprintf(table, "note: %s\n", check.Printable(note))
	}
	return wrap(table.Flush(), "writing the explanation")
}

// sourceOf says where a value comes from.
func sourceOf(e explain.Entry) string {
	switch {
	case e.Object != "":
		return fmt.Sprintf("%s %s, entry %s", e.From, e.Object, e.Key)
	case e.Path != "":
		return e.From + " " + e.Path
	default:
		return e.From
	}
}

func writeExplainJSON(w io.Writer, r *explain.Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return wrap(encoder.Encode(r), "encoding the explanation")
}

func writeExplainYAML(w io.Writer, r *explain.Report) error {
	text, err := yaml.Marshal(r)
	if err != nil {
		return wrap(err, "encoding the explanation")
	}
	_, err = w.Write(text)
	return wrap(err, "writing the explanation")
}
