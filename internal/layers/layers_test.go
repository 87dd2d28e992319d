package layers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	module = "github.com/bowline-dev/bowline"
	// root is the module's folder, as seen from this package's tests.
	root = "../.."
	// mostDependencies is how many packages outside the standard library a public package may bring along.
	mostDependencies = 85
)

// layers lists the packages from the top to the bottom. A package may import those of lower layers and none of its own or
// a higher one. Some are named before they exist, so that their place is known.
func layers() [][]string {
	return [][]string{
		{"cmd/bowline"},
		{"internal/cli"},
		{"internal/check", "internal/convert"},
		{"internal/explain"},
		{"internal/controller"},
		{"internal/produce"},
		{"internal/admission"},
		{"internal/authority"},
		{"internal/watch"},
		{"internal/run"},
		{"internal/offline", "internal/live"},
		{"internal/service"},
		{"internal/generate"},
		{"internal/compose"},
		{"internal/access", "internal/identity", "internal/rotation"},
		{"internal/node/volume"},
		{"internal/node"},
		{"internal/node/sandbox"},
		{"internal/node/storage"},
		{"internal/binding"},
		{"internal/template"},
		{"projection"},
		{"internal/jsonpath"},
		{"bindings"},
		{"bindings/bindingstest", "bindings/catalogue"},
		{"api/servicebinding"},
		{"api/servicebinding/v1beta1", "api/servicebinding/v1alpha3", "api/draft/v1alpha1"},
		{"api/servicebinding/v1"},
		{"internal/feature"},
	}
}

// beside lists the packages that stand beside the layers, with all that each may import of this module. Of the layers only
// the command line imports them; tests do as they need.
func beside() map[string][]string {
	return map[string][]string{
		"config":                        nil,
		"conformance":                   {"api/servicebinding/v1"}, // it knows nothing of Bowline
		"internal/install":              {"config", "internal/admission", "internal/feature", "api/servicebinding/v1"},
		"internal/localplane":           {"internal/localplane/image", "internal/localplane/machine"},
		"internal/localplane/image":     nil,
		"internal/localplane/machine":   nil,
		"internal/localplane/planetest": {"internal/localplane"},
		"internal/layers":               nil,
	}
}

// programs are the folders of programs that only this repository uses. Nothing imports what is in them.
func programs() []string { return []string{"test/", "hack/"} }

const commandLine = "internal/cli"

// mayRunTheCommandLine says who imports the command line, beside the command itself: who documents it, who looks for what
// it must not tell, and its own tests.
func mayRunTheCommandLine() []string {
	return []string{"cmd/bowline", "test/docs", "test/canary", commandLine}
}

// pkg is a package as the go command lists it.
//
//nolint:tagliatelle // the go command's own names
type pkg struct {
	ImportPath   string   `json:"ImportPath"`
	Name         string   `json:"Name"`
	Doc          string   `json:"Doc"`
	GoFiles      []string `json:"GoFiles"`
	Imports      []string `json:"Imports"`
	TestImports  []string `json:"TestImports"`
	XTestImports []string `json:"XTestImports"`
	Deps         []string `json:"Deps"`
}

// name is the package's path within the module.
func (p pkg) name() string { return within(p.ImportPath) }

func within(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// ours keeps the imports from this module, by their path within it.
func ours(imports []string) []string {
	var found []string
	for _, i := range imports {
		if i == module || strings.HasPrefix(i, module+"/") {
			found = append(found, within(i))
		}
	}
	return found
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list",
		"-json=ImportPath,Name,Doc,GoFiles,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = root
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing the packages: %v\n%s", err, problems.String())
	}
	var found []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		found = append(found, p)
	}
}

// layerOf returns the layer of a package, 0 for the top one; -1 for none.
func layerOf(name string) int {
	return slices.IndexFunc(layers(), func(layer []string) bool { return slices.Contains(layer, name) })
}

func isProgram(name string) bool {
	return slices.ContainsFunc(programs(), func(folder string) bool { return strings.HasPrefix(name, folder) })
}

func isBeside(name string) bool {
	_, ok := beside()[name]
	return ok
}

// crossings lists what is wrong with a package's place and with its imports.
func crossings(p pkg) []string {
	from := p.name()
	if layerOf(from) < 0 && !isBeside(from) && !isProgram(from) {
		return []string{from + " has no place: give it one in the table of this test"}
	}
	var wrong []string
	for _, to := range ours(p.Imports) {
		if why := objection(from, to); why != "" {
			wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", from, to, why))
		}
	}
	for _, to := range ours(slices.Concat(p.TestImports, p.XTestImports)) {
		if why := objectionToTest(from, to); why != "" {
			wrong = append(wrong, fmt.Sprintf("a test of %s imports %s: %s", from, to, why))
		}
	}
	return wrong
}

// objection says why a package may not import another; "" when it may.
func objection(from, to string) string {
	switch {
	case to == commandLine && !slices.Contains(mayRunTheCommandLine(), from):
		return "only cmd/bowline runs the command line"
	case isProgram(to) && !strings.HasPrefix(to, from+"/"):
		return "nothing imports a program"
	case isProgram(from):
		return ""
	case isBeside(from):
		return objectionBeside(from, to)
	case isBeside(to):
		return objectionToBeside(from)
	case layerOf(to) <= layerOf(from):
		return "dependencies point down"
	}
	return ""
}

func objectionToBeside(from string) string {
	if from != commandLine {
		return "of the layers only the command line reaches beside"
	}
	return ""
}

func objectionBeside(from, to string) string {
	if allowed := beside()[from]; !slices.Contains(allowed, to) {
		return fmt.Sprintf("it stands beside the layers and may import %v", allowed)
	}
	return ""
}

// objectionToTest says the same of a test, which may reach beside the layers, and import the package that it tests.
func objectionToTest(from, to string) string {
	if from == to || isBeside(to) {
		return ""
	}
	if isBeside(from) && to != commandLine && !isProgram(to) {
		return ""
	}
	return objection(from, to)
}

func TestLayers(t *testing.T) {
	t.Parallel()
	packages := list(t)
	if len(packages) < 10 {
		t.Fatalf("only %d packages found", len(packages))
	}
	for _, p := range packages {
		for _, wrong := range crossings(p) {
			t.Error(wrong)
		}
	}
}

func TestPublicPackagesAreLight(t *testing.T) {
	t.Parallel()
	heavy := []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"}
	for _, p := range list(t) {
		if name := p.name(); name != "projection" && !strings.HasPrefix(name, "api/") {
			continue
		}
		var foreign []string
		for _, dependency := range p.Deps {
			if standard(dependency) {
				continue
			}
			foreign = append(foreign, dependency)
			if slices.ContainsFunc(heavy, func(root string) bool { return dependency == root || strings.HasPrefix(dependency, root+"/") }) {
				t.Errorf("%s depends on %s: who imports it would get a client along", p.name(), dependency)
			}
		}
		if len(foreign) > mostDependencies {
			t.Errorf("%s depends on %d packages outside the standard library, more than %d:\n%s",
				p.name(), len(foreign), mostDependencies, strings.Join(foreign, "\n"))
		}
	}
}

// TestBindingsIsStandard sees that a program that reads its bindings depends on nothing else for it.
func TestBindingsIsStandard(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range list(t) {
		if name := p.name(); name != "bindings" && !strings.HasPrefix(name, "bindings/") {
			continue
		}
		seen++
		for _, dependency := range p.Deps {
			if !standard(dependency) && !strings.HasPrefix(dependency, module+"/bindings") {
				t.Errorf("%s depends on %s", p.name(), dependency)
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d packages seen: the test looks in the wrong place", seen)
	}
}

// standard tells the standard library's packages, whose paths begin with no host.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func TestPackagesAreNamedAndDocumented(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment: say what it promises and what it refuses", p.name())
		}
		for _, name := range []string{p.Name, path.Base(p.ImportPath)} {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "error", "errors"}, name) {
				t.Errorf("%s is called %s, which says nothing about what it is for", p.name(), name)
			}
		}
	}
}

// TestCrossingsAreSeen makes sure that the test above would fail.
func TestCrossingsAreSeen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		from   string
		to     string
		test   bool
		want   []string
	}{
		{reason: "down is the way", from: "internal/controller", to: "internal/watch"},
		{
			reason: "up is not", from: "projection", to: "internal/binding",
			want: []string{"projection imports internal/binding: dependencies point down"},
		},
		{
			reason: "nor is sideways", from: "internal/access", to: "internal/identity",
			want: []string{"internal/access imports internal/identity: dependencies point down"},
		},
		{
			reason: "a test points down, too", from: "internal/binding", to: "internal/watch", test: true,
			want: []string{"a test of internal/binding imports internal/watch: dependencies point down"},
		},
		{reason: "an outside test imports its package", from: "projection", to: "projection", test: true},
		{reason: "a test needs a control plane", from: "internal/watch", to: "internal/localplane/planetest", test: true},
		{
			reason: "a controller needs none", from: "internal/controller", to: "internal/localplane",
			want: []string{"internal/controller imports internal/localplane: of the layers only the command line reaches beside"},
		},
		{reason: "the command line starts one", from: "internal/cli", to: "internal/localplane"},
		{
			reason: "what starts one knows nothing of bindings", from: "internal/localplane", to: "projection",
			want: []string{"internal/localplane imports projection: it stands beside the layers and may import [internal/localplane/image internal/localplane/machine]"},
		},
		{
			reason: "the command line is at the top", from: "test/bench", to: "internal/cli",
			want: []string{"test/bench imports internal/cli: only cmd/bowline runs the command line"},
		},
		{reason: "its documentation is made from it", from: "test/docs", to: "internal/cli", test: true},
		{
			reason: "a program is nobody's library", from: "internal/cli", to: "test/demo",
			want: []string{"internal/cli imports test/demo: nothing imports a program"},
		},
		{
			reason: "each package has a place", from: "internal/new", to: "projection",
			want: []string{"internal/new has no place: give it one in the table of this test"},
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			p := pkg{ImportPath: module + "/" + test.from}
			if test.test {
				p.XTestImports = []string{module + "/" + test.to, "testing"}
			} else {
				p.Imports = []string{module + "/" + test.to, "fmt"}
			}
			if diff := cmp.Diff(test.want, crossings(p)); diff != "" {
				t.Errorf("crossings (-want +got):\n%s", diff)
			}
		})
	}
}
