package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/projection"
)

const (
	// boundTo is how many bindings the workload has that is run here.
	boundTo = 10
	// warmUps are the first rounds, which are not counted.
	warmUps = 3
	// lookGap is how often a file is looked at for its change.
	lookGap = time.Millisecond
	// rotated is what is changed, and bindingOf is the directory of it.
	rotated = "password"
)

// local is a control plane with a bound workload in it, and the same in a manifest.
type local struct {
	settings settings
	plane    *localplane.Plane
	client   dynamic.Interface
	manifest string
	// memory is a folder in memory for the manifest.
	memory string
}

// benchRun measures what it costs to run a program with the bindings of a workload, beside running it directly.
func benchRun(ctx context.Context, set settings, out io.Writer) (err error) {
	dir, err := scratch()
	if err != nil {
		return err
	}
	set.tellf("starting a fresh control plane")
	plane, err := localplane.Start(ctx, localplane.Config{
		Dir: dir, Ephemeral: true, Attached: true, ExtraAPIServerArgs: []string{"--disable-admission-plugins=ServiceAccount"},
	})
	if err != nil {
		return errors.Join(fmt.Errorf("starting the control plane: %w", err), os.RemoveAll(dir))
	}
	if set.Bowline, err = filepath.Abs(set.Bowline); err != nil {
		return fmt.Errorf("finding the program: %w", err)
	}
	l := &local{settings: set, plane: plane}
	defer func() {
		closing := context.WithoutCancel(ctx)
		err = errors.Join(err, plane.Wipe(closing), os.RemoveAll(dir), os.RemoveAll(l.memory))
	}()
	if err := l.prepare(ctx); err != nil {
		return err
	}
	starts, err := l.measureStarts(ctx)
	if err != nil {
		return err
	}
	delays, peak, err := l.measureRotation(ctx)
	if err != nil {
		return err
	}
	return writeRun(out, starts, delays, peak)
}

// prepare makes a workload that is bound as the controller would bind it, without a controller.
func (l *local) prepare(ctx context.Context) error {
	config, err := l.plane.RESTConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	if l.client, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	home := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}}
	if _, err := l.client.Resource(namespaces()).Create(ctx, home, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %q: %w", namespace, err)
	}
	workload, err := object(deploymentManifest, nameOf(0))
	if err != nil {
		return err
	}
	var bindings []projection.Binding
	var text strings.Builder
	for i := range boundTo {
		secret, err := object(serviceManifest, nameOf(i))
		if err != nil {
			return err
		}
		if _, err := l.client.Resource(secrets()).Namespace(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating Secret %q: %w", nameOf(i), err)
		}
		bindings = append(bindings, projection.Binding{UID: "uid-" + nameOf(i), Name: nameOf(i), Secret: nameOf(i)})
		addManifest(&text, secret)
	}
	if workload.Object, err = projection.Project(workload.Object, projection.Default(), bindings); err != nil {
		return fmt.Errorf("projecting: %w", err)
	}
	if _, err = l.client.Resource(deployments()).Namespace(namespace).Create(ctx, workload, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the Deployment: %w", err)
	}
	addManifest(&text, workload)
	return l.writeManifest(text.String())
}

func addManifest(text *strings.Builder, object *unstructured.Unstructured) {
	document, _ := yaml.Marshal(object.Object) // what was YAML before
	text.WriteString("---\n")
	text.Write(document)
}

func (l *local) writeManifest(text string) error {
	var err error
	if l.memory, err = os.MkdirTemp("/dev/shm", "bowline-bench-"); err != nil {
		return fmt.Errorf("making a folder in memory: %w", err)
	}
	l.manifest = filepath.Join(l.memory, "manifest.yaml")
	if err := os.WriteFile(l.manifest, []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	return nil
}

// way is one way to run the program.
type way struct {
	name  string
	args  []string
	times []time.Duration
}

// measureStarts runs a program that does nothing in each way, in turn, so that whatever disturbs disturbs all.
func (l *local) measureStarts(ctx context.Context) ([]*way, error) {
	program, err := exec.LookPath("true")
	if err != nil {
		return nil, fmt.Errorf("looking for a program: %w", err)
	}
	cluster := l.fromCluster()
	ways := []*way{
		{name: "directly", args: []string{program}},
		{name: "bowline version", args: []string{l.settings.Bowline, "version"}},
		{name: "bowline run, from the cluster", args: append(slices.Clone(cluster), "--", program)},
		{name: "bowline run, without a namespace", args: append(slices.Clone(cluster), "--no-namespace", "--", program)},
		{name: "bowline run, from a manifest", args: []string{l.settings.Bowline, "run", "-f", l.manifest, "-c", "orders", "--", program}},
	}
	l.settings.tellf("running %d times in each of %d ways", l.settings.Repeat, len(ways))
	for i := range l.settings.Repeat + warmUps {
		for _, w := range ways {
			took, err := timed(ctx, w.args)
			if err != nil {
				return nil, err
			}
			if i >= warmUps {
				w.times = append(w.times, took)
			}
		}
	}
	return ways, nil
}

// fromCluster is the command line of bowline run, but for the program.
func (l *local) fromCluster() []string {
	return []string{
		l.settings.Bowline, "run", "deployment/" + nameOf(0), "-n", namespace, "-c", "orders", "--kubeconfig", l.plane.Kubeconfig(),
	}
}

func timed(ctx context.Context, args []string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = "/" // where no volume of the workload is
	var said strings.Builder
	cmd.Stderr = &said
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("running %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	return time.Since(began), nil
}

// measureRotation changes a Secret again and again while a program runs, and measures from the API server's answer until
// the file is another.
func (l *local) measureRotation(ctx context.Context) (delays []time.Duration, peak float64, err error) {
	cmd := exec.CommandContext(ctx, l.settings.Bowline,
		append(l.fromCluster()[1:], "--no-namespace", "--", "sh", "-c", "echo $SERVICE_BINDING_ROOT; cat")...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, 0, fmt.Errorf("preparing a run: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, fmt.Errorf("preparing a run: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("starting a run: %w", err)
	}
	defer func() { err = errors.Join(err, stdin.Close(), cmd.Wait()) }()
	root, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, 0, fmt.Errorf("reading where the files are: %w", err)
	}
	file := filepath.Join(strings.TrimSpace(root), nameOf(0), rotated)
	l.settings.tellf("changing a Secret %d times", l.settings.Repeat)
	for i := range l.settings.Repeat {
		took, err := l.rotate(ctx, file, fmt.Sprintf("rotated-%d", i))
		if err != nil {
			return nil, 0, err
		}
		delays = append(delays, took)
	}
	peak, err = peakMemory(cmd.Process.Pid)
	return delays, peak, err
}

func (l *local) rotate(ctx context.Context, file, value string) (time.Duration, error) {
	patch := fmt.Appendf(nil, `{"stringData":{%q:%q}}`, rotated, value)
	_, err := l.client.Resource(secrets()).Namespace(namespace).Patch(ctx, nameOf(0), types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return 0, fmt.Errorf("changing Secret %q: %w", nameOf(0), err)
	}
	answered := time.Now()
	ctx, cancel := context.WithTimeout(ctx, l.settings.Timeout)
	defer cancel()
	for {
		if text, err := os.ReadFile(file); err == nil && string(text) == value {
			return time.Since(answered), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("waiting for the new value in %s: %w", file, ctx.Err())
		case <-time.After(lookGap):
		}
	}
}

// writeRun writes the report for people.
func writeRun(out io.Writer, ways []*way, delays []time.Duration, peak float64) error {
	const middle, most = 50, 95
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	number := func(d time.Duration) string { return strconv.FormatFloat(milliseconds(d), 'f', 1, 64) }
	_, _ = fmt.Fprintf(table, "%d bindings, ms\tmedian\tp95\tover directly\t\n", boundTo)
	direct := percentile(slices.Sorted(slices.Values(ways[0].times)), middle)
	for _, w := range ways {
		sorted := slices.Sorted(slices.Values(w.times))
		half := percentile(sorted, middle)
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t\n", w.name, number(half), number(percentile(sorted, most)), number(half-direct))
	}
	sorted := slices.Sorted(slices.Values(delays))
	_, _ = fmt.Fprintf(table, "a changed Secret is in its file after\t%s\t%s\t\t\n",
		number(percentile(sorted, middle)), number(percentile(sorted, most)))
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	_, err := fmt.Fprintf(out, "peak memory of bowline run: %.1f MiB\n", peak)
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
