package localplane

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TestLife follows one control plane through everything that may happen to it.
func TestLife(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := Config{Dir: dir, ControllerManager: true, Progress: func(step string) { t.Log(step) }}
	plane := mustStart(t, cfg)
	port := plane.Port()
	keep(t, plane)
	checkVersion(t, plane)
	checkClosed(t, plane)

	before := pids(plane)
	if diff := cmp.Diff(before, pids(mustStart(t, cfg))); diff != "" {
		t.Errorf("a second Start did not find the first (-first +second):\n%s", diff)
	}
	for _, victims := range [][]string{
		{Etcd}, {APIServer}, {ControllerManager}, Components(),
	} {
		kill(t, plane, victims...)
		began := time.Now()
		plane = mustStart(t, cfg)
		t.Logf("recovered from the death of %v in %v", victims, time.Since(began))
		checkKept(t, plane)
		checkProcesses(t, dir, Components()...)
	}
	if err := plane.Stop(t.Context()); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	checkProcesses(t, dir)
	stopped, err := Open(dir)
	if err != nil || stopped.Running() {
		t.Fatalf("Open after Stop: running %v, error %v", stopped.Running(), err)
	}
	plane = mustStart(t, cfg)
	checkKept(t, plane)
	if plane.Port() != port {
		t.Errorf("the port changed from %d to %d, though nobody took it", port, plane.Port())
	}
}

func checkVersion(t *testing.T, p *Plane) {
	t.Helper()
	version, err := clientOf(t, p).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{version.GitVersion, version.Major, version.Minor}
	if diff := cmp.Diff([]string{"v1.36.3", "1", "36"}, got); diff != "" {
		t.Errorf("version (-want +got):\n%s", diff)
	}
}

// checkClosed wants that nobody without the right certificate gets an answer, and that nobody else reads the keys.
func checkClosed(t *testing.T, p *Plane) {
	t.Helper()
	admin, err := tls.LoadX509KeyPair(p.cert(certAdmin), p.key(certAdmin))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		url    string
		certs  []tls.Certificate
	}{
		{"etcd answers no stranger", "https://" + address(p.state.Ports.Etcd) + "/health", nil},
		{"etcd does not know the API's users", "https://" + address(p.state.Ports.Etcd) + "/health", []tls.Certificate{admin}},
		{"etcd's peers need a certificate too", "https://" + address(p.state.Ports.EtcdPeer) + "/version", nil},
		{"etcd speaks no plain text", "http://" + address(p.state.Ports.Etcd) + "/health", nil},
		{"the API knows nobody without a name", "https://" + address(p.Port()) + "/version", nil},
	} {
		config := &tls.Config{InsecureSkipVerify: true, Certificates: c.certs}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		response, err := client.Get(c.url)
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			t.Errorf("%s: %s answered with status %d", c.reason, c.url, response.StatusCode)
		}
	}
	for _, path := range []string{p.Kubeconfig(), p.key(clusterCA), p.key(certEtcd), p.key(keyServiceAccount)} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != privateFile {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
}

func TestConcurrentStartsAndTakenPorts(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir(), Ephemeral: true, Attached: true}
	planes := make([]*Plane, 4)
	var group sync.WaitGroup
	for i := range planes {
		group.Go(func() {
			var err error
			if planes[i], err = Start(t.Context(), cfg); err != nil {
				t.Errorf("Start %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	t.Cleanup(func() {
		for _, p := range planes {
			if err := p.Stop(context.Background()); err != nil {
				t.Errorf("Stop: %v", err)
			}
		}
	})
	for _, p := range planes[1:] {
		if diff := cmp.Diff(pids(planes[0]), pids(p)); diff != "" {
			t.Errorf("concurrent Starts differ (-first +other):\n%s", diff)
		}
	}
	checkProcesses(t, cfg.Dir, Etcd, APIServer)
	checkTakenPorts(t, cfg, planes[0])
}

func checkTakenPorts(t *testing.T, cfg Config, plane *Plane) {
	t.Helper()
	keep(t, plane)
	var refused *PortError
	elsewhere := cfg
	elsewhere.Port = plane.Port() + 1
	if _, err := Start(t.Context(), elsewhere); !errors.As(err, &refused) || refused.Running != plane.Port() {
		t.Errorf("Start of a running plane on another port: %v", err)
	}

	kill(t, plane, Etcd, APIServer)
	squat(t, plane.state.Ports.Etcd)
	squat(t, plane.Port())
	insisting := cfg
	insisting.Port = plane.Port()
	if _, err := Start(t.Context(), insisting); !errors.As(err, &refused) || !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("Start on a taken port: %v", err)
	}
	again := mustStart(t, cfg)
	if again.Port() == plane.Port() {
		t.Errorf("Start kept port %d, which another program listens on", plane.Port())
	}
	checkKept(t, again) // through the rewritten kubeconfig
}

// squat takes a port until the test ends.
func squat(t *testing.T, port int) {
	t.Helper()
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
}

func TestKilledInTheMiddleOfStarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, moment := range []struct {
		reason, line string
		wait         time.Duration
	}{
		{"before much happened", "", 20 * time.Millisecond},
		{"keys are being made", "", 40 * time.Millisecond},
		{"keys are being made", "", 60 * time.Millisecond},
		{"etcd is about to be forked", "starting etcd", 0},
		{"the API server is about to be forked", "starting kube-apiserver", 0},
		{"the API server has begun to write", "", 1500 * time.Millisecond},
	} {
		if moment.line == "starting etcd" {
			leaveNothing(t, dir) // else it may run already, and need not be started
		}
		cmd, lines := startHelper(t, dir, false)
		within(t, lines, moment.line, 30*time.Second)
		<-time.After(moment.wait)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		t.Logf("killed when %s: leaves %d etcd, %d API server", moment.reason,
			len(processesOf(t, dir, Etcd)), len(processesOf(t, dir, APIServer)))
	}
	if len(processesOf(t, dir, Etcd)) == 0 {
		t.Fatal("the killed helpers left no process to find")
	}
	// As if each had been killed between starting a process and recording it.
	if err := os.RemoveAll(dir + "/run"); err != nil {
		t.Fatal(err)
	}
	plane := mustStart(t, Config{Dir: dir, Ephemeral: true})
	checkProcesses(t, dir, Etcd, APIServer)
	checkVersion(t, plane)
}

func TestAttachedOrNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, lines := startHelper(t, dir, false)
	port := portOf(t, within(t, lines, "up ", time.Minute))
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	plane, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	checkProcesses(t, dir, Etcd, APIServer)
	checkVersion(t, plane)
	if plane.Port() != port {
		t.Errorf("Open found port %d, the helper said %d", plane.Port(), port)
	}
	if err := plane.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	cmd, lines = startHelper(t, dir, true)
	within(t, lines, "up ", time.Minute)
	records := append(processesOf(t, dir, Etcd), processesOf(t, dir, APIServer)...)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, r := range records {
		if !r.waitGone(t.Context(), killPatience) {
			t.Errorf("process %d outlived the one it was attached to", r.PID)
		}
	}
	if err := plane.Wipe(t.Context()); err != nil {
		t.Errorf("Wipe: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrAbsent) {
		t.Errorf("Open after Wipe: %v", err)
	}
}

func TestFailuresLeaveNothingRunning(t *testing.T) {
	t.Parallel()
	t.Run("a component that dies", func(t *testing.T) {
		t.Parallel()
		cfg := Config{Dir: t.TempDir(), Ephemeral: true, Attached: true, ExtraAPIServerArgs: []string{"--no-such-flag"}}
		_, err := Start(t.Context(), cfg)
		var failed *ComponentError
		if !errors.As(err, &failed) || failed.Component != APIServer || !errors.Is(err, errEnded) || len(failed.Tail) == 0 {
			t.Errorf("Start: %v", err)
		}
		checkProcesses(t, cfg.Dir)
	})
	t.Run("a caller that gives up", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cfg := Config{Dir: t.TempDir(), Ephemeral: true, Attached: true, Progress: func(step string) {
			if step == "starting "+APIServer {
				cancel()
			}
		}}
		if _, err := Start(ctx, cfg); !errors.Is(err, context.Canceled) {
			t.Errorf("Start: %v", err)
		}
		checkProcesses(t, cfg.Dir)
	})
	t.Run("a binary that is not there", func(t *testing.T) {
		t.Parallel()
		var missing *BinaryError
		_, err := Start(t.Context(), Config{Dir: t.TempDir(), Binary: t.TempDir() + "/none"})
		if !errors.As(err, &missing) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Start: %v", err)
		}
	})
}

func TestAssetsServeEnvtest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // the second time finds the links
		if err := WriteAssets(dir, ""); err != nil {
			t.Fatal(err)
		}
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: dir}
	if _, err := environment.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	checkKubectl(t, environment)
}

func checkKubectl(t *testing.T, environment *envtest.Environment) {
	t.Helper()
	user, err := environment.AddUser(envtest.User{Name: "someone"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubectl, err := user.Kubectl()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := kubectl.Run("version")
	if err != nil {
		t.Fatalf("kubectl version: %v", err)
	}
	if out, err := io.ReadAll(stdout); err != nil || !strings.Contains(string(out), "Server Version: v1.36.3") {
		complaint, _ := io.ReadAll(stderr)
		t.Errorf("kubectl version: %q, %q, %v", out, complaint, err)
	}
}

func TestStartFindsAComponentThatIsAboutToEnd(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir(), Ephemeral: true}
	plane := mustStart(t, cfg)
	keep(t, plane)
	for _, name := range []string{APIServer, Etcd} { // as by a Stop that was killed after its first signal
		if err := syscall.Kill(readRecord(plane.recordPath(name)).PID, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		plane = mustStart(t, cfg)
		checkKept(t, plane)
		checkProcesses(t, cfg.Dir, Etcd, APIServer)
	}
}
