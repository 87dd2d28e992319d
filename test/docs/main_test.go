package docs_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

// root is the repository, as seen from this package's tests.
const root = "../.."

var (
	update = flag.Bool("update", false, "write docs/reference/cli.md anew")
	// admin is the administrator of this package's control plane, which has Bowline's kinds.
	admin *rest.Config //nolint:gochecknoglobals // set once, by TestMain
)

func TestMain(m *testing.M) {
	planetest.Main(m, func(c *rest.Config) {
		admin = c
		// The controller does not run: what its webhooks would refuse, the tests ask package binding about.
		err := install.Apply(context.Background(), c, install.Options{External: true}, nil)
		if err != nil {
			fmt.Fprintf(os.Stderr, "installing Bowline: %v\n", err)
			os.Exit(1)
		}
	})
}
