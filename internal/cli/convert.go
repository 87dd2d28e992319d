package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/check"
	"github.com/bowline-dev/bowline/internal/convert"
)

// convertFlags are the flags of convert.
type convertFlags struct {
	files  []string
	output string
}

// objectWriters write objects in each of the forms that --output names.
var objectWriters = map[string]func(io.Writer, []*unstructured.Unstructured) error{"yaml": writeYAML, "json": writeJSON}

func newConvert(streams Streams) *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert",
		Short: "Rewrite bindings of the early draft as those of the specification",
		Long: `Convert reads manifests and writes them again, each ServiceBinding of service.binding/v1alpha1 as one of servicebinding.io/v1 that
projects the same. What needs a template becomes a SyntheticProvisionedService in front of the binding. A binding that cannot be
rewritten faithfully is kept as it is, with a warning that says what to do, and the command ends with 1; with 2 when there is nothing that
it can read. Other objects are passed on. Comments are lost.

  bowline convert -f bindings.yaml > converted.yaml
  bowline convert -f manifests/ -o json | kubectl apply -f -`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return f.execute(streams) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.files, "filename", "f", nil, "manifest, folder of manifests, or - for standard input; may be repeated")
	flags.StringVarP(&f.output, "output", "o", "yaml", "form of the output: yaml or json")
	return cmd
}

func (f *convertFlags) execute(streams Streams) error {
	write, ok := objectWriters[f.output]
	if !ok {
		return f.refuse(fmt.Errorf("--output %q is neither yaml nor json", f.output), "")
	}
	if len(f.files) == 0 {
		return f.refuse(errors.New("there is nothing to convert"), "name a manifest, as in: bowline convert -f bindings.yaml")
	}
	objects, err := manifests{in: streams.In, refuse: f.refuse}.all(f.files)
	if err != nil {
		return err
	}
	given := make([]*unstructured.Unstructured, 0, len(objects))
	for i := range objects {
		given = append(given, &objects[i].Unstructured)
	}
	result := convert.Convert(given)
	if err := write(streams.Out, result.Objects); err != nil {
		return wrap(err, "writing the objects")
	}
	return tellRemarks(streams.Err, objects, result.Remarks)
}

// refuse makes the error for input that cannot be converted, with advice where there is better than the help.
func (f *convertFlags) refuse(err error, hint string) error {
	if hint != "" {
		err = &hinted{err: err, hint: hint}
	}
	return &usageError{err: err, command: "bowline convert"}
}

// tellRemarks says each in a line; it is an error where a binding was kept.
func tellRemarks(w io.Writer, objects []check.Object, remarks []convert.Remark) error {
	kept := 0
	for _, remark := range remarks {
		severity := "note"
		if remark.Kept {
			severity = "warning"
			kept++
		}
		line := fmt.Sprintf("%s: ServiceBinding %q (%s): %s: %s", severity, remark.Name, objects[remark.Object].Origin, remark.Field, remark.Text)
		if _, err := fmt.Fprintln(w, check.Printable(line)); err != nil {
			return wrap(err, "writing the remarks")
		}
	}
	if kept == 0 {
		return nil
	}
	return &hinted{
		err:  fmt.Errorf("%d ServiceBinding(s) of the early draft stand in the output as they were", kept),
		hint: "docs/reference/convert.md says what can be converted",
	}
}

// writeYAML writes a stream of documents.
func writeYAML(w io.Writer, objects []*unstructured.Unstructured) error {
	for i, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("encoding object %d: %w", i+1, err)
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return err //nolint:wrapcheck // wrapped by the caller
		}
	}
	return nil
}

// writeJSON writes a list.
func writeJSON(w io.Writer, objects []*unstructured.Unstructured) error {
	items := make([]any, 0, len(objects))
	for _, object := range objects {
		items = append(items, object.Object)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}) //nolint:wrapcheck // wrapped by the caller
}
