package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli"
)

// outcome is what came of a command.
type outcome struct {
	code     int
	out, err string
}

func bowline(args ...string) outcome {
	var out, errs bytes.Buffer
	code := cli.Main(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return outcome{code: code, out: out.String(), err: errs.String()}
}

// kubeconfig names a cluster that nobody serves.
const kubeconfig = `
apiVersion: v1
kind: Config
current-context: none
contexts: [{name: none, context: {cluster: none, user: none}}]
clusters: [{name: none, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: none}]
`

func writeKubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMainAnswers(t *testing.T) {
	t.Parallel()
	config, dir := writeKubeconfig(t), t.TempDir()
	tests := []struct {
		reason string
		args   []string
		code   int
		out    []string // parts of it; none for no output
		err    []string
	}{
		{reason: "nothing asked for gets help", out: []string{"Available Commands:", "bowline up"}},
		{reason: "version", args: []string{"version"}, out: []string{"bowline ", "go1."}},
		{
			reason: "no such command", args: []string{"bind"}, code: 2,
			err: []string{`bowline: there is no command "bind"` + "\n", "hint: try: bowline --help\n"},
		},
		{
			reason: "no such flag", args: []string{"up", "--fast"}, code: 2,
			err: []string{"bowline: unknown flag: --fast\n", "hint: try: bowline up --help\n"},
		},
		{
			reason: "a flag that is none of any command", args: []string{"--fast"}, code: 2,
			err: []string{"unknown flag: --fast", "hint: try: bowline --help\n"},
		},
		{
			reason: "a flag with a value that is none", args: []string{"up", "--port", "high"}, code: 2,
			err: []string{`invalid argument "high" for "--port"`, "hint: try: bowline up --help\n"},
		},
		{
			reason: "an argument where none belongs", args: []string{"down", "now"}, code: 2,
			err: []string{`bowline: bowline down takes no argument, but got "now"` + "\n", "hint: try: bowline down --help\n"},
		},
		{
			reason: "no kubeconfig", args: []string{"install", "--kubeconfig", filepath.Join(dir, "none")}, code: 1,
			err: []string{"bowline: reading the kubeconfig: ", "hint: set --kubeconfig or $KUBECONFIG; for a control plane on this machine: bowline up\n"},
		},
		{
			reason: "no such context", args: []string{"uninstall", "--kubeconfig", config, "--context", "other"}, code: 1,
			err: []string{"bowline: reading the kubeconfig: ", "other", "hint: "},
		},
		{
			reason: "a webhook cannot be reached without encryption",
			args:   []string{"controller", "--kubeconfig", config, "--webhook-url", "http://127.0.0.1:9443"}, code: 2,
			err: []string{`--webhook-url "http://127.0.0.1:9443" is not of the form https://HOST:PORT`, "hint: try: bowline controller --help\n"},
		},
		{
			reason: "a namespace that cannot be one", args: []string{"install", "--print", "--namespace", "No_Name"}, code: 1,
			err: []string{`bowline: printing the manifests: namespace "No_Name": `},
		},
		{reason: "nothing to stop", args: []string{"down", "--dir", dir}, err: []string{"nothing runs in " + dir}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			got := bowline(test.args...)
			if got.code != test.code {
				t.Errorf("bowline %v ended with %d, want %d", test.args, got.code, test.code)
			}
			hasParts(t, "standard output", got.out, test.out)
			hasParts(t, "standard error", got.err, test.err)
		})
	}
}

func hasParts(t *testing.T, stream, text string, parts []string) {
	t.Helper()
	if len(parts) == 0 && text != "" {
		t.Errorf("%s is %q, want nothing", stream, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s is %q, want %q in it", stream, text, part)
		}
	}
}

// printed returns what install prints, by kind and name.
func printed(t *testing.T, args ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	got := bowline(append([]string{"install", "--print"}, args...)...)
	if got.code != 0 || got.err != "" {
		t.Fatalf("install --print ended with %d: %s", got.code, got.err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for i, document := range strings.Split(got.out, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			t.Fatalf("document %d: %v\n%s", i, err, document)
		}
		if object.GetAPIVersion() == "" || object.GetKind() == "" || object.GetName() == "" {
			t.Fatalf("document %d is no object:\n%s", i, document)
		}
		name := object.GetKind() + " " + object.GetName()
		if objects[name] != nil {
			t.Errorf("%s is printed twice", name)
		}
		objects[name] = object
	}
	return objects
}

func TestInstallPrintsWhatCanBeApplied(t *testing.T) {
	t.Parallel()
	objects := printed(t, "--image", "registry.example/bowline:v1", "--namespace", "bindings")
	for _, name := range []string{
		"CustomResourceDefinition servicebindings.servicebinding.io", "Namespace bindings",
		"ClusterRole bowline-services-secrets", "Deployment bowline-controller",
	} {
		if objects[name] == nil {
			t.Fatalf("%s is not printed", name)
		}
	}
	deployment := objects["Deployment bowline-controller"]
	if deployment.GetNamespace() != "bindings" {
		t.Errorf("the controller is in namespace %q", deployment.GetNamespace())
	}
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 || containers[0].(map[string]any)["image"] != "registry.example/bowline:v1" {
		t.Errorf("the controller's containers are %v", containers)
	}
}

func TestInstallPrintsLessWhenAsked(t *testing.T) {
	t.Parallel()
	all := printed(t)
	tests := []struct {
		flag string
		want []string
	}{
		{flag: "--external", want: []string{
			"Deployment bowline-controller", "PodDisruptionBudget bowline-controller", "Service bowline-webhook",
		}},
		{flag: "--without-secrets", want: []string{"ClusterRole bowline-services-secrets"}},
	}
	for _, test := range tests {
		t.Run(test.flag, func(t *testing.T) {
			t.Parallel()
			less := printed(t, test.flag)
			var left []string
			for name := range all {
				if less[name] == nil {
					left = append(left, name)
				}
			}
			slices.Sort(left)
			if diff := cmp.Diff(test.want, left); diff != "" || len(less)+len(left) != len(all) {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHelpOfEachCommandNamesItsFlags(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"up", "down", "controller", "install", "uninstall", "version"} {
		got := bowline(command, "--help")
		if got.code != 0 || !strings.Contains(got.out, fmt.Sprintf("Usage:\n  bowline %s [flags]", command)) {
			t.Errorf("bowline %s --help ended with %d: %s%s", command, got.code, got.out, got.err)
		}
	}
}
