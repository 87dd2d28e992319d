package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
	"github.com/bowline-dev/bowline/internal/node/storage"
	"github.com/bowline-dev/bowline/internal/run"
)

// runFlags are the flags of run, and its arguments.
type runFlags struct {
	cluster   cluster
	namespace string
	files     []string
	workload  string

	name   string
	engine string

	noNamespace bool
	allowDisk   bool
	cleanEnv    bool
	keepUser    bool
	storage     string
	onChange    string

	print   bool
	envFile string
	export  string

	reference string
	command   []string
}

func newRun(streams Streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run (KIND/NAME | -f FILE...) [-- COMMAND ARGS...]",
		Short: "Run a program here with what a workload's container has",
		Long: `Run gives a program on this machine the files and variables of a workload's container: its bindings, and all else that it
takes from Secrets and ConfigMaps. The workload is one of the cluster, or comes from manifests, without any cluster. Files
are held in memory, follow their Secrets while the program runs, and are gone with it.

  bowline run deployment/orders -- ./orders           a program of yours in place of the container's
  bowline run cronjob/report -c main                  the container's own command
  bowline run -f manifests/ -- ./orders               without a cluster
  bowline run deployment/orders --print               what would be there, without values
  bowline run deployment/orders --container=docker    the container's image`,
		Args: f.arguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.execute(cmd.Context(), streams) },
	}
	flags := cmd.Flags()
	f.cluster.bind(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "",
		"namespace of the workload (default: the kubeconfig's; with -f the workload's own, or default)")
	flags.StringArrayVarP(&f.files, "filename", "f", nil,
		"file or folder of manifests to take the workload from, or - for the standard input; may be given again")
	flags.StringVar(&f.workload, "workload", "", "NAME or KIND/NAME of the workload, where -f holds several")
	flags.StringVarP(&f.name, "name", "c", "", "name of the container, where the workload has several")
	flags.StringVar(&f.engine, "container", "", "run the container's image with docker or podman")
	flags.BoolVar(&f.noNamespace, "no-namespace", false,
		"keep the files in a private folder and tell the program by its variables, although it could see the container's paths")
	flags.BoolVar(&f.allowDisk, "allow-disk", false, "let Secrets lie on a disk")
	flags.BoolVar(&f.cleanEnv, "clean-env", false, "inherit nothing but PATH, so that the program has the container's variables only")
	flags.BoolVar(&f.keepUser, "keep-user", false, "run the program as you are, whatever user and groups the container has")
	flags.StringVar(&f.storage, "secret-storage-size", "64Mi", "how much all your runs on this machine may hold together")
	flags.StringVar(&f.onChange, "on-change", "ignore",
		"what to do when something changes that the container sees: ignore, signal:NAME (such as signal:HUP) or restart")
	flags.BoolVar(&f.print, "print", false, "say what would be there, without values, and run nothing")
	flags.StringVar(&f.envFile, "env-file", "", "write the variables to this file and run nothing")
	flags.StringVar(&f.export, "export", "", "write the files below this folder and run nothing")
	return cmd
}

// arguments reads what is no flag: the workload before --, the command behind it.
func (f *runFlags) arguments(cmd *cobra.Command, args []string) error {
	before := args
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		before, f.command = args[:at], args[at:]
	}
	if len(before) == 1 {
		f.reference = before[0]
	}
	if err := errors.Join(f.wrongSource(before), f.wrongCommand()); err != nil {
		return f.usage(oneLine(err))
	}
	return nil
}

// wrongSource says what is wrong with where the workload comes from.
func (f *runFlags) wrongSource(before []string) error {
	switch {
	case len(before) > 1:
		return fmt.Errorf("a command stands behind --: got %q", strings.Join(before[1:], " "))
	case len(before) == 0 && len(f.files) == 0:
		return errors.New("name a workload, as KIND/NAME, or manifests with -f")
	case len(before) == 1 && len(f.files) > 0:
		return fmt.Errorf("%q names a workload of the cluster, and -f manifests: give one of them; "+
			"--workload tells the workloads of manifests apart", before[0])
	case f.workload != "" && len(f.files) == 0:
		return errors.New("--workload tells the workloads of manifests apart, and -f is not given")
	}
	return nil
}

// wrongCommand says what is wrong with what is to be run.
func (f *runFlags) wrongCommand() error {
	switch {
	case len(f.command) > 0 && f.runsNothing() && f.engine == "":
		return errors.New("--print, --env-file and --export run nothing: leave out the command")
	case f.engine != "" && f.writes() && !f.print:
		return errors.New("--container with --env-file or --export prints what to run: add --print")
	}
	return nil
}

func (f *runFlags) writes() bool      { return f.envFile != "" || f.export != "" }
func (f *runFlags) runsNothing() bool { return f.print || f.writes() }

func (f *runFlags) usage(err error) error { return &usageError{err: err, command: "bowline run"} }

// execute does what the flags say. Whatever goes wrong before a program has started ends with 2.
func (f *runFlags) execute(ctx context.Context, streams Streams) error {
	request, err := f.request(streams)
	if err != nil {
		return f.usage(err)
	}
	found, err := f.find(ctx, streams.In)
	if err != nil {
		return unstarted(interrupted(ctx, err))
	}
	request.Target = found.target
	if f.runsNothing() {
		return unstarted(f.show(streams.Out, found, request.Engine))
	}
	exit, err := run.Run(ctx, request)
	switch {
	case err != nil:
		return unstarted(interrupted(ctx, err))
	case exit.Code != 0:
		return &endedError{code: exit.Code}
	}
	return nil
}

// request makes of the flags what does not depend on the workload.
func (f *runFlags) request(streams Streams) (run.Request, error) {
	r := run.Request{
		Command: f.command, Environ: os.Environ(), KeepUser: f.keepUser,
		Say:   func(text string) { _, _ = fmt.Fprintf(streams.Err, "bowline: %s\n", text) },
		Stdin: fileOf(streams.In), Stdout: fileOf(streams.Out), Stderr: fileOf(streams.Err),
	}
	limit, err := resource.ParseQuantity(f.storage)
	if err != nil || limit.Sign() <= 0 {
		return r, fmt.Errorf("--secret-storage-size %q is no size: write it as 64Mi or 1Gi", f.storage)
	}
	r.Storage = storage.Options{Limit: limit.Value(), AllowDisk: f.allowDisk}
	if f.noNamespace {
		r.Namespace = sandbox.Never
	}
	if f.cleanEnv {
		r.Environ = run.Clean(r.Environ)
	}
	switch f.engine {
	case "":
	case "docker", "podman":
		r.Engine = &run.Engine{Program: f.engine, Terminal: isTerminal(streams.In)}
	default:
		return r, fmt.Errorf("--container %q is neither docker nor podman; the name of a container is given with -c", f.engine)
	}
	r.OnChange, err = parseReaction(f.onChange)
	return r, err
}

// parseReaction reads --on-change.
func parseReaction(text string) (run.OnChange, error) {
	name, isSignal := strings.CutPrefix(text, "signal:")
	switch {
	case text == "ignore":
		return run.OnChange{}, nil
	case text == "restart":
		return run.OnChange{Reaction: run.Restart}, nil
	case !isSignal:
		return run.OnChange{}, fmt.Errorf("--on-change %q is none of ignore, signal:NAME and restart", text)
	}
	number := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG"))
	if n, err := strconv.Atoi(name); err == nil && unix.SignalName(syscall.Signal(n)) != "" {
		number = syscall.Signal(n)
	}
	if number == 0 {
		return run.OnChange{}, fmt.Errorf("--on-change %q names no signal: write it as signal:HUP", text)
	}
	return run.OnChange{Reaction: run.Signal, Signal: number}, nil
}

// fileOf returns the file that a stream is; nil, which means the process's own, for anything else.
func fileOf(stream any) *os.File {
	file, _ := stream.(*os.File)
	return file
}

func isTerminal(in io.Reader) bool {
	file := fileOf(in)
	return file != nil && term.IsTerminal(int(file.Fd()))
}

// show prints and writes what a program would have.
func (f *runFlags) show(out io.Writer, found found, engine *run.Engine) error {
	plan, err := found.target.Plan()
	if err != nil {
		return err
	}
	if err := f.write(plan); err != nil {
		return err
	}
	if !f.print {
		return nil
	}
	if engine != nil && plan.Image == "" {
		return &run.NoImageError{Container: found.target.Container}
	}
	text := found.title + "\n" + run.Describe(found.target.Container, plan)
	if engine != nil {
		text = run.Line(append([]string{engine.Program}, engine.Arguments(plan, f.places(plan), f.command)...)) + "\n"
	}
	_, err = io.WriteString(out, text)
	return wrap(err, "printing")
}

// write writes what other tools want.
func (f *runFlags) write(plan *node.Plan) error {
	for _, target := range []struct {
		path  string
		write func(string, *node.Plan) error
	}{{f.envFile, run.WriteEnvFile}, {f.export, run.Export}} {
		if target.path == "" {
			continue
		}
		if err := storage.Check(target.path, f.allowDisk); err != nil {
			return wrap(err, "looking where it lies")
		}
		if err := target.write(target.path, plan); err != nil {
			return wrap(err, "writing "+target.path)
		}
	}
	return nil
}

// places says where an engine would find what was written, or, where nothing was, what stands for it.
func (f *runFlags) places(plan *node.Plan) run.Places {
	folder := "EXPORT"
	if absolute, err := filepath.Abs(f.export); err == nil && f.export != "" {
		folder = absolute // what is relative would name a volume of the engine
	}
	places := run.Places{
		Files: func(path string) string { return strings.TrimSuffix(folder, "/") + path }, Variables: f.envFile, Shown: true,
	}
	if f.envFile == "" {
		for _, v := range plan.Env {
			places.Inherited = append(places.Inherited, v.Name)
		}
	}
	return places
}
