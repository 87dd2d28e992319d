// Package planetest gives tests a real control plane that is theirs alone and leaves nothing behind, even when the
// test run is killed.
//
// It promises a real API server, never a fake one. It refuses to skip: without the control plane's binary the tests
// fail, and say how to get it.
package planetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/localplane"
)

const (
	prefix      = "bowline-planetest-"
	stopTimeout = 30 * time.Second
)

// Option changes how a test's control plane runs.
type Option func(*options)

type options struct {
	config localplane.Config
	plane  func(*localplane.Plane)
}

// WithControllerManager runs kube-controller-manager too, for tests that need garbage collection, the removal of
// namespaces, service accounts, or Deployments that make pods. Without it the API server admits pods that name no
// service account.
func WithControllerManager() Option {
	return func(o *options) { o.config.ControllerManager = true }
}

// WithAuditLog makes the API server log every request to the path Plane.AuditLog returns.
func WithAuditLog() Option {
	return func(o *options) { o.config.AuditLog = true }
}

// WithAPIServerArgs adds arguments to the API server's own.
func WithAPIServerArgs(args ...string) Option {
	return func(o *options) { o.config.ExtraAPIServerArgs = append(o.config.ExtraAPIServerArgs, args...) }
}

// WithPlane hands the control plane itself to use, for tests that want more of it than a client configuration.
func WithPlane(use func(*localplane.Plane)) Option {
	return func(o *options) { o.plane = use }
}

// Main starts one control plane for a test package, hands its administrator's configuration to use, runs the tests
// and exits. It is the body of a TestMain:
//
//	func TestMain(m *testing.M) { planetest.Main(m, func(c *rest.Config) { config = c }) }
func Main(m *testing.M, use func(*rest.Config), opts ...Option) {
	os.Exit(run(m, use, opts))
}

func run(m *testing.M, use func(*rest.Config), opts []Option) (code int) {
	plane, stop, err := start(opts)
	if err != nil {
		fmt.Fprintf(os.Stderr, "planetest: %v\n", err)
		return 1
	}
	defer func() {
		if err := stop(); err != nil {
			fmt.Fprintf(os.Stderr, "planetest: %v\n", err)
			code = 1
		}
	}()
	config, err := plane.RESTConfig()
	if err != nil {
		fmt.Fprintf(os.Stderr, "planetest: %v\n", err)
		return 1
	}
	if use != nil {
		use(config)
	}
	return m.Run()
}

// Start starts a control plane for one test, which ends with it. It takes some seconds: tests that can share one use
// Main.
func Start(tb testing.TB, opts ...Option) *localplane.Plane {
	tb.Helper()
	plane, stop, err := start(opts)
	if err != nil {
		tb.Fatalf("planetest: %v", err)
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Errorf("planetest: %v", err)
		}
	})
	return plane
}

// start starts an ephemeral control plane in a folder of its own. The returned function stops it and removes the folder.
func start(opts []Option) (*localplane.Plane, func() error, error) {
	sweep()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if !o.config.ControllerManager {
		// Nobody makes the service account that admission would ask for.
		o.config.ExtraAPIServerArgs = append(
			[]string{"--disable-admission-plugins=ServiceAccount"}, o.config.ExtraAPIServerArgs...)
	}
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", prefix, os.Getpid()))
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for the control plane: %w", err)
	}
	o.config.Dir, o.config.Ephemeral, o.config.Attached = dir, true, true
	plane, err := localplane.Start(context.Background(), o.config)
	if err != nil {
		// The folder stays when there is a log in it to read.
		_ = os.Remove(dir)
		return nil, nil, fmt.Errorf("starting the tests' control plane: %w", err)
	}
	if o.plane != nil {
		o.plane(plane)
	}
	return plane, func() error { return remove(plane) }, nil
}

func remove(plane *localplane.Plane) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := plane.Wipe(ctx); err != nil {
		return fmt.Errorf("stopping the tests' control plane: %w", err)
	}
	return nil
}

// sweep removes the folders of test runs that were killed. Their processes died with them.
func sweep() {
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*-*"))
	if err != nil {
		return
	}
	for _, folder := range folders {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(folder), prefix), "-")
		if pid, err := strconv.Atoi(owner); err == nil && !exists(pid) {
			_ = os.RemoveAll(folder)
		}
	}
}

// exists reports whether there is a process with the pid, be it the one that made the folder or another.
func exists(pid int) bool {
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	return err == nil
}
