package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bindings/bindingstest"
	"github.com/bowline-dev/bowline/internal/check"
	"github.com/bowline-dev/bowline/internal/cli"
)

const (
	// password is what no output may hold.
	password = "hunter2hunter2"

	goodSecret = `
apiVersion: v1
kind: Secret
metadata: {name: good}
type: servicebinding.io/redis
stringData: {type: redis, provider: p, host: cache, password: ` + password + `}
`
	badSecret = `
apiVersion: v1
kind: Secret
metadata: {name: bad}
type: servicebinding.io/redis
stringData: {type: redis, provider: p, host: cache, port: ` + password + `}
`
	warnedSecret = `
apiVersion: v1
kind: Secret
metadata: {name: warned}
type: servicebinding.io/redis
stringData: {provider: p, host: cache}
`
)

// checked runs check with some standard input.
func checked(input string, args ...string) outcome {
	var out, errs bytes.Buffer
	code := cli.Main(append([]string{"check"}, args...), cli.Streams{In: strings.NewReader(input), Out: &out, Err: &errs})
	return outcome{code: code, out: out.String(), err: errs.String()}
}

func file(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (o outcome) is(t *testing.T, code int, parts ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("it ended with %d, want %d: %s%s", o.code, code, o.out, o.err)
	}
	for _, part := range parts {
		if !strings.Contains(o.out+o.err, part) {
			t.Errorf("%q is not in the output: %s%s", part, o.out, o.err)
		}
	}
	if strings.Contains(o.out+o.err, password) {
		t.Errorf("the output holds a value: %s%s", o.out, o.err)
	}
	if code == 2 && (strings.Count(o.err, "\n") != 2 || !strings.Contains(o.err, "\nhint: ")) {
		t.Errorf("the error is not one line with a hint: %s", o.err)
	}
}

func TestCheckManifests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, bad, warned := file(t, dir, "good.yaml", goodSecret), file(t, dir, "bad.yml", badSecret), file(t, dir, "warned.json", warnedSecret)
	file(t, dir, "notes.txt", "{no YAML")
	checked("", "-f", good).is(t, 0, "secret/good ("+good+":2), type redis", "1 checked: 0 errors")
	checked("", "-f", bad).is(t, 1, "error", "well-known", "port", "1 checked: 1 errors", "hint: ")
	checked("", "-f", warned).is(t, 0, "warning")
	checked("", "-f", warned, "--strict").is(t, 1, "warning")
	checked("", "-f", dir).is(t, 1, "3 checked")
	checked("", "-f", good, "-f", warned).is(t, 0, "2 checked")
	checked(badSecret, "-f", "-").is(t, 1, "secret/bad (standard input:2)")
}

// Objects without a namespace are in the one that --namespace names, as they are for kubectl apply.
func TestCheckManifestsInANamespace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file(t, dir, "secret.yaml", strings.Replace(goodSecret, "name: good", "name: good, namespace: prod", 1))
	file(t, dir, "binding.yaml", `
apiVersion: servicebinding.io/v1
kind: ServiceBinding
metadata: {name: orders}
spec:
  service: {apiVersion: v1, kind: Secret, name: good}
  workload: {apiVersion: apps/v1, kind: Deployment, name: orders}
`)
	checked("", "-f", dir, "-n", "prod").is(t, 0, "servicebinding/orders", "1 checked: 0 errors, 0 warnings, 0 notes")
	checked("", "-f", dir, "-n", "other").is(t, 0, "is not among the manifests", "2 checked")
}

// Names and types are whatever somebody wrote. They must not steer a terminal, nor look like lines of their own.
func TestCheckWritesOneLineForEachFinding(t *testing.T) {
	t.Parallel()
	odd := strings.Replace(badSecret, "type: redis, ", `type: "re\e[31mdis\nx", "a\e[2J\nb": c, `, 1)
	got := checked(odd, "-f", "-")
	got.is(t, 1, `type "re\x1b[31mdis\nx"`, `"a\x1b[2J\nb"`)
	if strings.ContainsRune(got.out+got.err, '\x1b') {
		t.Errorf("the output steers a terminal: %q", got.out+got.err)
	}
	for line := range strings.Lines(got.out) {
		if !strings.HasPrefix(line, "secret/") && !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "1 checked") {
			t.Errorf("there is a line %q", line)
		}
	}
}

func TestCheckNamesAnEntryThatIsTooLarge(t *testing.T) {
	t.Parallel()
	root := bindingstest.New(t)
	root.AddPlain("db", bindingstest.Entries{"type": "redis", "dump": "x"})
	if err := os.Truncate(filepath.Join(root.Path(), "db", "dump"), 9<<20); err != nil {
		t.Fatal(err)
	}
	got := checked("", "--dir", root.Path())
	got.is(t, 2, "entry dump: it is larger than 8388608 bytes")
	if strings.Contains(got.err, "run it as a user") {
		t.Errorf("the hint does not help: %s", got.err)
	}
}

func TestCheckWritesJSON(t *testing.T) {
	t.Parallel()
	got := checked(badSecret, "-f", "-", "--output", "json")
	got.is(t, 1)
	var document struct {
		Errors  int            `json:"errors"`
		Checked []check.Report `json:"checked"`
	}
	if err := json.Unmarshal([]byte(got.out), &document); err != nil {
		t.Fatalf("%v: %s", err, got.out)
	}
	if document.Errors != 1 || document.Checked[0].Name != "secret/bad" || document.Checked[0].Findings[0].Entry != "port" {
		t.Errorf("the document is %+v", document)
	}
}

func TestCheckDirectory(t *testing.T) {
	root := bindingstest.New(t)
	root.Add("good", bindingstest.Entries{"type": "redis", "provider": "p", "host": "cache"})
	good := filepath.Join(root.Path(), "good")
	checked("", "--dir", root.Path()).is(t, 0, good+", type redis", "1 checked")
	checked("", "--dir", good).is(t, 0, good+", type redis", "1 checked")
	root.Setenv()
	checked("").is(t, 0, "1 checked")
	root.Add("no-type", bindingstest.Entries{"host": "cache", "port": password})
	checked("").is(t, 1, "2 checked: 2 errors")
	checked("", "--dir", filepath.Join(root.Path(), "no-type")).is(t, 1, "1 checked: 2 errors")
}

func TestCheckRefuses(t *testing.T) {
	t.Setenv("SERVICE_BINDING_ROOT", "")
	config, dir := writeKubeconfig(t), t.TempDir()
	empty := file(t, dir, "empty.yaml", "# nothing\n")
	for reason, test := range map[string]struct {
		input string
		args  []string
		want  string
	}{
		"nothing named":       {args: nil, want: "there is nothing to check"},
		"two kinds of input":  {args: []string{"secret/x", "-f", "-"}, want: "do not go together"},
		"no such form":        {args: []string{"-o", "yaml"}, want: `--output "yaml" is neither text nor json`},
		"no such file":        {args: []string{"-f", filepath.Join(dir, "none")}, want: "no such file"},
		"nothing in the file": {args: []string{"-f", empty}, want: "there is nothing to check in"},
		"no YAML":             {input: "a: [" + password, args: []string{"-f", "-"}, want: "standard input:1: this is no YAML"},
		"no text in a Secret": {input: "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {port: 1}", args: []string{"-f", "-"}, want: "stringData.port"},
		"no such directory":   {args: []string{"--dir", filepath.Join(dir, "none")}, want: "reading the directory of bindings"},
		"no binding in it":    {args: []string{"--dir", t.TempDir()}, want: "there is no binding in"},
		"no kubeconfig":       {args: []string{"secret/x", "--kubeconfig", filepath.Join(dir, "none")}, want: "reading the kubeconfig"},
		"no kind":             {args: []string{"orders", "--kubeconfig", config}, want: `"orders" is not of the form KIND/NAME`},
		"nobody serves it":    {args: []string{"secret/x", "--kubeconfig", config}, want: "asking the cluster for its kinds"},
	} {
		t.Run(reason, func(t *testing.T) { checked(test.input, test.args...).is(t, 2, test.want) })
	}
}
