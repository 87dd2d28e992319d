package canary_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/cli"
	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
)

// childArguments, when set, makes this program the command line itself, so that the controller runs as bowline up runs it.
const childArguments = "BOWLINE_CANARY_ARGUMENTS"

// auditPolicy has the API server write down all that is said, but for the Secrets themselves.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: Metadata
  resources: [{group: "", resources: [secrets]}]
- level: RequestResponse
`

var (
	plane *localplane.Plane //nolint:gochecknoglobals // set once, by TestMain
	admin *rest.Config      //nolint:gochecknoglobals // set once, by TestMain
)

func TestMain(m *testing.M) {
	if code, handled := sandbox.Stage(os.Args); handled {
		os.Exit(code)
	}
	if arguments := os.Getenv(childArguments); arguments != "" {
		os.Exit(cli.Main(strings.Fields(arguments), cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bowline-canary-")
	if err != nil {
		fmt.Fprintf(os.Stderr, "making a folder for the audit policy: %v\n", err)
		return 1
	}
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		fmt.Fprintf(os.Stderr, "writing the audit policy: %v\n", err)
		return 1
	}
	planetest.Main(m, func(c *rest.Config) {
		admin = c
		_ = os.RemoveAll(dir) // it has been read
	}, planetest.WithControllerManager(), planetest.WithAuditLog(), planetest.WithAPIServerArgs("--audit-policy-file="+policy),
		planetest.WithPlane(func(p *localplane.Plane) { plane = p }))
	return 0
}
