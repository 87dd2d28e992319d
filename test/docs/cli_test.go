package docs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/cli"
)

const (
	commandPage = "docs/reference/cli.md"
	// home stands for the reader's home directory while help is written, since defaults lie in it.
	home = "/home/reader"

	commandHead = `# Command line

What each command of ` + "`bowline`" + ` says about itself. This page is made from the commands: run
` + "`go test ./test/docs -run TestCommandLine -update`" + ` after changing one.

Results go to standard output; progress, errors and hints go to standard error. The exit code is 0 for success, 2 for arguments
that make no sense, 1 for anything else. The first interrupt ends a command gracefully. ` + "`bowline run`" + ` ends as its program does,
and with 2 where it could not start one: see [bowline run](run.md).
`
)

var subcommand = regexp.MustCompile(`(?m)^  ([a-z]+) +\S`)

// help is what a command says about itself, and its subcommands; those that every command line of this kind has are left out.
func help(t *testing.T, command ...string) (text string, subcommands []string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Main(append(command, "--help"), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
		t.Fatalf("bowline %v --help ended with %d: %s", command, code, errs.String())
	}
	text = strings.ReplaceAll(out.String(), home, "~")
	_, commands, _ := strings.Cut(text, "Available Commands:\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	for _, match := range subcommand.FindAllStringSubmatch(commands, -1) {
		if match[1] != "help" && match[1] != "completion" {
			subcommands = append(subcommands, match[1])
		}
	}
	return text, subcommands
}

func commandReference(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteString(commandHead)
	var write func(command ...string)
	write = func(command ...string) {
		text, subcommands := help(t, command...)
		title := strings.Join(append([]string{"bowline"}, command...), " ")
		fmt.Fprintf(&out, "\n## %s\n\n```text\n%s\n```\n", title, strings.TrimSpace(text))
		for _, name := range subcommands {
			write(append(slices.Clip(command), name)...)
		}
	}
	write()
	return out.String()
}

func TestCommandLine(t *testing.T) {
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("POD_NAMESPACE", "")
	want, path := commandReference(t), filepath.Join(root, commandPage)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not current; run: go test ./test/docs -run TestCommandLine -update (-want +got):\n%s", commandPage, diff)
	}
}

var flagName = regexp.MustCompile(`(?m)^ +(?:-[a-z], )?--([a-z-]+)`)

func TestEveryFlagOfRunIsNamed(t *testing.T) {
	text, _ := help(t, "run")
	reference := page(t, "docs/reference/run.md").text
	found := flagName.FindAllStringSubmatch(text, -1)
	if len(found) < 10 {
		t.Errorf("only %d flags were found: the test looks in the wrong place", len(found))
	}
	for _, flag := range found {
		if flag[1] != "help" && !strings.Contains(reference, "`--"+flag[1]) {
			t.Errorf("docs/reference/run.md does not name --%s", flag[1])
		}
	}
}
