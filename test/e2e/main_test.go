package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/localplane/image"
)

const (
	enable = "BOWLINE_E2E"
	prefix = "bowline-e2e-"

	greeterImage = "localhost/bowline/greeter:1"
	witnessImage = "localhost/bowline/witness:1"
	readerImage  = "localhost/bowline/reader:1"

	commandLimit = 5 * time.Minute
)

// The one cluster of this package, set by TestMain.
var (
	plane   *localplane.Plane
	admin   *rest.Config
	clients kubernetes.Interface
)

func TestMain(m *testing.M) {
	if err := possible(); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "SKIPPED: pods on a real node: %v\n", err)
		os.Exit(0)
	}
	os.Exit(run(m))
}

// possible says why these tests cannot run here; nil when they can.
func possible() error {
	if os.Getenv(enable) == "" {
		return errors.New("they make a node of this machine, so they run only when asked to: make e2e")
	}
	if err := localplane.CheckNode(); err != nil {
		return err
	}
	for _, program := range []string{"bowline", "greeter", "reader"} {
		if _, err := exec.LookPath(built(program)); err != nil {
			return fmt.Errorf("%s has not been built: make e2e builds it: %w", program, err)
		}
	}
	return nil
}

// built is the path of a program that make builds.
func built(program string) string { return filepath.Join("..", "..", "bin", program) }

func run(m *testing.M) (code int) {
	sweep()
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", prefix, os.Getpid()))
	if err != nil {
		return complain(err)
	}
	defer func() {
		if err := bowline("down", "--wipe", "--dir", dir); err != nil {
			code = complain(err)
			return
		}
		for name := range traces(dir) {
			code = complain(fmt.Errorf("after bowline down there is still %s", name))
		}
	}()
	began := time.Now()
	if err := setUp(dir); err != nil {
		return complain(err)
	}
	if len(traces(dir)) < 5 {
		return complain(errors.New("a node is up, and its traces are not seen: nothing would be found missing or left"))
	}
	_, _ = fmt.Fprintf(os.Stderr, "a node is up and has its images after %v\n", time.Since(began).Round(time.Millisecond))
	return m.Run()
}

func complain(err error) int {
	_, _ = fmt.Fprintf(os.Stderr, "e2e: %v\n", err)
	return 1
}

// bowline runs the command as a person would.
func bowline(args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	output, err := exec.CommandContext(ctx, built("bowline"), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("bowline %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

// setUp brings up the cluster and gives it the images.
func setUp(dir string) error {
	if err := bowline("up", "--node", "--dir", dir); err != nil {
		return err
	}
	var err error
	if plane, err = localplane.Open(dir); err != nil {
		return fmt.Errorf("opening the control plane: %w", err)
	}
	if admin, err = plane.RESTConfig(); err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if clients, err = kubernetes.NewForConfig(admin); err != nil {
		return fmt.Errorf("making clients: %w", err)
	}
	return loadImages(dir)
}

// loadImages makes images of programs of this repository. The witness stays in the data directory, for bowline run.
func loadImages(dir string) error {
	witness := filepath.Join(dir, "witness")
	command := exec.Command("go", "build", "-o", witness, "./witness")
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // nothing but the program is in the image
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the witness: %w\n%s", err, output)
	}
	for _, i := range []image.Image{
		{
			Name: greeterImage, Entrypoint: []string{"greeter"},
			Programs: map[string]string{"/bin/greeter": built("greeter"), "/bin/witness": witness},
		},
		{
			Name: witnessImage, Entrypoint: []string{"witness", "--stay"},
			Programs: map[string]string{"/bin/witness": witness},
		},
		{Name: readerImage, Entrypoint: []string{"reader"}, Programs: map[string]string{"/bin/reader": built("reader")}},
	} {
		if err := plane.Load(context.Background(), i); err != nil {
			return fmt.Errorf("loading image %q: %w", i.Name, err)
		}
	}
	return nil
}

// sweep clears what a killed run of these tests left.
func sweep() {
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*-*"))
	if err != nil {
		return
	}
	for _, folder := range folders {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(folder), prefix), "-")
		_, err := os.Stat(filepath.Join("/proc", owner))
		if _, number := strconv.Atoi(owner); number == nil && errors.Is(err, os.ErrNotExist) {
			_ = bowline("down", "--wipe", "--dir", folder)
			_ = os.RemoveAll(folder)
		}
	}
}

// traces lists what the node of a data directory leaves on a machine while it is there: mounts, a bridge, control groups,
// sockets and processes. Another node may run beside it, so only what carries the directory's name or number counts.
func traces(dir string) map[string]bool {
	sum := sha256.Sum256([]byte(dir))
	number := hex.EncodeToString(sum[:4])
	found := map[string]bool{}
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if point := strings.Fields(line)[1]; strings.HasPrefix(point, dir+"/") || strings.Contains(point, number) {
			found["the mount "+point] = true
		}
	}
	for _, pattern := range []string{
		"/sys/class/net/bow-", "/sys/fs/cgroup/bowline-", "/sys/fs/cgroup/*/bowline-", "/run/bowline-", "/var/lib/cni/results/bowline-",
	} {
		paths, _ := filepath.Glob(pattern + number + "*")
		for _, path := range paths {
			found[path] = true
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range processes {
		if environment, err := os.ReadFile(path); err == nil && bytes.Contains(environment, []byte("BOWLINE_LOCALPLANE="+dir+"/")) {
			found["the process "+path] = true
		}
	}
	return found
}
