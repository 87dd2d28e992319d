package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/cli"
)

func TestControllerFlagsWithFewValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, argument, want string
	}{
		{"a mode that does not exist must not pass for one that refuses", "--authorize=maybe", `--authorize "maybe"`},
		{"a type that is spelt wrongly would allow nothing", "--allow-secret-type=dockerconfigjson", "kubernetes.io/dockerconfigjson"},
	} {
		for _, command := range [][]string{{"controller", "--kubeconfig", "testdata/nothing"}, {"up", "--dir", t.TempDir()}} {
			var out, errs bytes.Buffer
			code := cli.Main(append(command, test.argument), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if code != 2 || !strings.Contains(errs.String(), test.want) {
				t.Errorf("%s: %s: exit code %d, want 2 and a word about %s: %s", command[0], test.reason, code, test.want, errs.String())
			}
		}
	}
}
