package docs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	tutorialTime = 5 * time.Minute
	stopTime     = time.Minute
	// done ends the output of each command.
	done = "===done-3f1c==="
)

// command is one line that the reader types, with what it is said to print.
type command struct {
	line int
	text string
	want []string
}

// commands reads a console block: a command after "$ ", its output below it.
func commands(b block) []command {
	var all []command
	for i, line := range strings.Split(strings.TrimRight(b.text, "\n"), "\n") {
		if text, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, command{line: b.line + 1 + i, text: text})
		} else if len(all) > 0 {
			last := &all[len(all)-1]
			last.want = append(last.want, line)
		}
	}
	return all
}

// matches says whether output is what was said: "..." stands for any text, on a line of its own for any lines. Blanks are
// not compared, since columns are as wide as what is in them.
func matches(want []string, output string) bool {
	var pattern strings.Builder
	for _, line := range want {
		line = strings.Join(strings.Fields(line), " ")
		if line == "..." {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`) + `\n`)
	}
	var got strings.Builder
	for line := range strings.Lines(output) {
		got.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(got.String())
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		want   string
		output string
		match  bool
	}{
		"equal":           {"a b", "a   b\n", true},
		"other":           {"a", "b\n", false},
		"any text":        {"a ... c", "a b c\n", true},
		"any lines":       {"a\n...\nd", "a\nb\nc\nd\n", true},
		"no lines":        {"a\n...\nd", "a\nd\n", true},
		"more than said":  {"a", "a\nb\n", false},
		"signs are signs": {"a+(b)", "a+(b)\n", true},
	} {
		if got := matches(strings.Split(test.want, "\n"), test.output); got != test.match {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// shell is one session, so that what a command exports the next one sees.
type shell struct {
	in  io.Writer
	out *bufio.Reader
}

func newShell(ctx context.Context, t *testing.T, scratch string) *shell {
	t.Helper()
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc")
	cmd.Dir = root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + scratch, "TMPDIR=" + scratch, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting a shell: %v", err)
	}
	t.Cleanup(func() {
		_, _ = io.WriteString(in, "exit\n")
		_ = cmd.Wait()
	})
	return &shell{in, bufio.NewReader(out)}
}

// run types a command and returns what it printed, to either stream.
func (s *shell) run(text string) (string, error) {
	if _, err := fmt.Fprintf(s.in, "{ %s\n} 2>&1 </dev/null; echo %s\n", text, done); err != nil {
		return "", fmt.Errorf("typing: %w", err)
	}
	var output strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if before, ended := strings.CutSuffix(line, done+"\n"); ended {
			return output.String() + before, nil
		}
		output.WriteString(line)
		if err != nil {
			return output.String(), fmt.Errorf("the shell ended: %w", err)
		}
	}
}

// save writes a file into the directory that the session is in.
func (s *shell) save(name, text string) error {
	dir, err := s.run("pwd")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(strings.TrimSpace(dir), name), []byte(text), 0o600)
}

// mayRun says what a tutorial may tell the reader to type.
func mayRun(text string) bool {
	program, _, _ := strings.Cut(text, " ")
	return slices.Contains([]string{"bowline", "kubectl", "export", "cd", "git"}, program)
}

// stopPlanes ends what a tutorial that failed has left running.
func stopPlanes(t *testing.T, scratch string) {
	t.Helper()
	states, err := filepath.Glob(filepath.Join(scratch, "*", "plane", "state.json"))
	if err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	for _, state := range states {
		down := exec.CommandContext(ctx, filepath.Join(root, "bin", "bowline"), "down", "--wipe", "--dir", filepath.Dir(state))
		if output, err := down.CombinedOutput(); err != nil {
			t.Errorf("stopping %s: %v\n%s", filepath.Dir(state), err, output)
		}
	}
}

func TestTutorial(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, "bin", "bowline")); err != nil {
		t.Fatalf("looking for the program: %v; run: make build", err)
	}
	tutorials, err := filepath.Glob(filepath.Join(root, "docs", "tutorials", "*.md"))
	if err != nil || len(tutorials) == 0 {
		t.Fatalf("there are no tutorials: %v", err)
	}
	for _, path := range tutorials {
		t.Run(filepath.Base(path), func(t *testing.T) { follow(t, read(t, path)) })
	}
}

// follow does what a tutorial says, up to the first thing that does not hold.
func follow(t *testing.T, d document) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), tutorialTime)
	defer cancel()
	scratch := t.TempDir()
	t.Cleanup(func() { stopPlanes(t, scratch) })
	s := newShell(ctx, t, scratch)
	for _, b := range d.blocks {
		if name := b.file(); name != "" {
			if err := s.save(name, b.text); err != nil {
				t.Fatalf("%s:%d: saving %s: %v", d.path, b.line, name, err)
			}
		}
		if b.language != "console" {
			continue
		}
		for _, c := range commands(b) {
			if err := s.try(c); err != nil {
				t.Fatalf("%s:%d: %v", d.path, c.line, err)
			}
		}
	}
}

var errNotAllowed = errors.New("a tutorial may not tell to run this")

// try runs a command and compares. What make would build is there before the tests are run.
func (s *shell) try(c command) error {
	if strings.HasPrefix(c.text, "make ") {
		return nil
	}
	if !mayRun(c.text) {
		return fmt.Errorf("%q: %w", c.text, errNotAllowed)
	}
	output, err := s.run(c.text)
	if err != nil {
		return fmt.Errorf("running %q: %w\n%s", c.text, err, output)
	}
	if !matches(c.want, output) {
		return fmt.Errorf("%q is said to print\n%s\nbut prints\n%s", c.text, strings.Join(c.want, "\n"), output) //nolint:err113 // shown
	}
	return nil
}
