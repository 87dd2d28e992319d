package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
)

const (
	controllerUser = "system:serviceaccount:" + install.DefaultNamespace + ":bowline-controller"
	readyPoll      = 20 * time.Millisecond
	stopTimeout    = 30 * time.Second
	toldLines      = 15
)

// controller is Bowline's controller as a process of its own, run as "bowline up" runs it.
type controller struct {
	binary  string
	args    []string
	logPath string
	probe   string // URL
	metrics string // URL

	process *exec.Cmd
	ended   chan error
}

// newController chooses the controller's ports.
func newController(plane *localplane.Plane, set settings) (*controller, error) {
	binary, err := filepath.Abs(set.Bowline)
	if err != nil {
		return nil, fmt.Errorf("resolving %q: %w", set.Bowline, err)
	}
	var addresses [3]string
	for i := range addresses {
		port, err := localplane.FreePort(0)
		if err != nil {
			return nil, fmt.Errorf("choosing the controller's ports: %w", err)
		}
		addresses[i] = "127.0.0.1:" + strconv.Itoa(port)
	}
	probe, metrics, webhook := addresses[0], addresses[1], addresses[2]
	_, webhookPort, _ := strings.Cut(webhook, ":")
	return &controller{
		binary: binary, logPath: filepath.Join(plane.Dir(), "bowline.log"),
		probe: "http://" + probe + "/readyz", metrics: "http://" + metrics + "/metrics",
		args: append([]string{
			"controller", "--kubeconfig", plane.Kubeconfig(), "--as", controllerUser, "--leader-elect=false",
			"--metrics-address", metrics, "--probe-address", probe,
			"--webhook-host", "127.0.0.1", "--webhook-port", webhookPort, "--webhook-url", "https://" + webhook,
		}, set.Arguments...),
	}, nil
}

// start starts the process and returns how long it took to be ready.
func (c *controller) start(ctx context.Context) (time.Duration, error) {
	log, err := os.OpenFile(c.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("opening the controller's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	c.process = exec.Command(c.binary, c.args...) //nolint:noctx // it is ended by stop, with time to finish
	c.process.Stdout, c.process.Stderr, c.process.SysProcAttr = log, log, attached()
	began := time.Now()
	if err := c.launch(); err != nil {
		c.process = nil
		return 0, fmt.Errorf("starting %q: %w", c.binary, err)
	}
	if err := c.awaitReady(ctx); err != nil {
		return 0, errors.Join(fmt.Errorf("waiting for the controller to be ready: %w%s", err, c.tail()), c.stop())
	}
	return time.Since(began), nil
}

// launch starts the process from a thread that lives as long as it: the process ends with the thread, so that it never
// outlives this program.
func (c *controller) launch() error {
	process, ended, started := c.process, make(chan error, 1), make(chan error)
	c.ended = ended
	go func() {
		runtime.LockOSThread()
		err := process.Start()
		started <- err
		if err == nil {
			ended <- process.Wait()
		}
		close(ended)
	}()
	return <-started
}

// controllerProcess names it among the processes that are measured.
const controllerProcess = "controller"

func (c *controller) pid() int             { return c.process.Process.Pid }
func (c *controller) pids() map[string]int { return map[string]int{controllerProcess: c.pid()} }

var errEnded = errors.New("it ended by itself")

func (c *controller) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		_, err := fetch(ctx, c.probe)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case err := <-c.ended:
			return errors.Join(errEnded, err)
		case <-ticker.C:
		}
	}
}

// stop asks the process to end and waits until it has; one that does not is killed, which is an error.
func (c *controller) stop() error {
	if c.process == nil {
		return nil
	}
	process := c.process
	c.process = nil
	if err := process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending the controller: %w", err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case err := <-c.ended:
		if err != nil {
			return fmt.Errorf("ending the controller: %w", err)
		}
		return nil
	case <-timer.C:
		late := fmt.Errorf("ending the controller: it did not within %s", stopTimeout)
		return errors.Join(late, process.Process.Kill(), <-c.ended)
	}
}

// idle says whether the controller has nothing to do.
func (c *controller) idle(ctx context.Context) (bool, error) {
	page, err := fetch(ctx, c.metrics)
	if err != nil {
		return false, fmt.Errorf("reading the controller's metrics: %w", err)
	}
	samples, err := readMetrics(bytes.NewReader(page), "workqueue_depth", "controller_runtime_active_workers")
	if err != nil {
		return false, fmt.Errorf("reading the controller's metrics: %w", err)
	}
	busy := slices.ContainsFunc(samples, func(s sample) bool { return s.value != 0 })
	return len(samples) > 0 && !busy, nil
}

// tail returns the last lines of the controller's log, to be added to an error.
func (c *controller) tail() string {
	text, err := os.ReadFile(c.logPath)
	if err != nil || len(text) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-toldLines):]
	return "; the controller's log ends with:\n  " + strings.Join(lines, "\n  ")
}

// fetch returns what a URL holds.
func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	var page bytes.Buffer
	if _, err := page.ReadFrom(response.Body); err != nil {
		return nil, fmt.Errorf("reading %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking %s: %s", url, response.Status)
	}
	return page.Bytes(), nil
}
