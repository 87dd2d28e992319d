package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/cli"
)

func TestConformanceArguments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args string
		code int
		out  string
		errs string
	}{
		"list":              {"--list --run ^direct-secret$", 0, "direct-secret", ""},
		"list of the draft": {"--api draft --list --run selector", 0, "draft-selector-binds-each", ""},
		"unknown text":      {"--api v1", 2, "", `--api: the suite knows no text "v1"; it knows: specification, draft`},
		"nothing to list":   {"--list --run ^none$", 1, "", "hint: try: bowline conformance --list"},
		"unknown form":      {"--output yaml", 2, "", `--output "yaml" is none of text, json and junit`},
		"no expression":     {"--run [", 2, "", `--run "[" is no regular expression`},
		"too few":           {"--parallel 0", 2, "", "--parallel 0 is less than 1"},
		"nothing to test":   {"--run ^none$ --kubeconfig testdata/none", 1, "", "reading the kubeconfig"},
		"an argument more":  {"direct-secret", 2, "", "takes no argument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			args := append([]string{"conformance"}, strings.Fields(test.args)...)
			code := cli.Main(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if code != test.code {
				t.Errorf("the exit code is %d, want %d", code, test.code)
			}
			if !strings.Contains(out.String(), test.out) {
				t.Errorf("the output does not hold %q: %s", test.out, out.String())
			}
			if !strings.Contains(errs.String(), test.errs) {
				t.Errorf("the errors do not hold %q: %s", test.errs, errs.String())
			}
		})
	}
}
