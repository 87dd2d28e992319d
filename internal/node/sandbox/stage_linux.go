package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// stageName is how the second stage is called: no name that a person would give a program.
	stageName = "bowline: second stage"
	// lineNumber is the descriptor of the line: the first after the standard streams.
	lineNumber = 3
	stageEnded = 2
	// usualPath is where programs are looked for if the program's environment has no PATH, as in containers.
	usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// Stage is the second stage, and the first thing that main calls: where a process was started as one, it becomes the
// program or ends. Otherwise it returns at once, and not handled. The code is the one to exit with.
func Stage(args []string) (code int, handled bool) {
	if len(args) != 1 || args[0] != stageName {
		return 0, false
	}
	// Credentials and the signal for the parent's death are a thread's, and the thread that calls execve is the program's.
	runtime.LockOSThread()
	l, err := lineOn(lineNumber)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "this is a part of bowline run, and is started by it only")
		return stageEnded, true
	}
	_ = l.send(replyFor(serve(l))) // if that fails, nobody is left to tell
	return stageEnded, true
}

// replyFor puts what went wrong into one line.
func replyFor(err error) reply {
	if missing := (*NotFoundError)(nil); errors.As(err, &missing) {
		return reply{Problem: missing.Problem, NotFound: true}
	}
	r := reply{Problem: strings.ReplaceAll(err.Error(), "\n", "; ")}
	if known, ok := errors.AsType[*StageError](err); ok {
		r.Advice = known.Advice
	}
	return r
}

// serve makes what it is told to make, waits, and becomes the program. It returns only if that does not work.
func serve(l *line) error {
	var made setup
	if _, err := l.receive(&made); err != nil {
		return fmt.Errorf("reading what to make: %w", err)
	}
	mask := unix.Umask(0) // modes are as they are given
	v, err := newView(made)
	if err != nil {
		return err
	}
	if err := l.send(reply{}, v.descriptors()...); err != nil {
		return err
	}
	var next launch
	if _, err := l.receive(&next); err != nil {
		return fmt.Errorf("reading what to run: %w", err)
	}
	if made.Namespace != 0 {
		if err := v.finish(next.ReadOnlyRoot); err != nil {
			return err
		}
	}
	unix.Umask(mask)
	return become(l, made, next)
}

// become takes the credentials and calls execve.
func become(l *line, made setup, next launch) error {
	if err := next.Credentials.assume(made.Namespace); err != nil {
		return err
	}
	// After the credentials: they clear it.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("asking for a signal when bowline ends: %w", err)
	}
	if os.Getppid() != made.Parent {
		return &StageError{Doing: "bowline has ended"}
	}
	if err := enter(next.Dir); err != nil {
		return err
	}
	program, err := find(next.Argv[0], next.Env)
	if err != nil {
		return err
	}
	if err := l.send(reply{}); err != nil {
		return err
	}
	err = unix.Exec(program, next.Argv, next.Env)
	if errors.Is(err, unix.E2BIG) {
		return &StageError{Doing: fmt.Sprintf("running %s: arguments and environment are too large: %v", program, err), Advice: tooLarge}
	}
	return &NotFoundError{Name: next.Argv[0], Problem: explain(err)}
}

// enter changes to the working directory.
func enter(dir string) error {
	err := unix.Chdir(dir)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return &StageError{
			Doing:  fmt.Sprintf("entering the working directory %s: %v", dir, err),
			Advice: "make that folder on this machine, or give a command behind --, which starts in your own working directory",
		}
	case err != nil:
		return fmt.Errorf("entering the working directory %s: %w", dir, err)
	}
	return nil
}

// find looks a program up as a shell would, in the program's own PATH.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	var last error
	for _, folder := range filepath.SplitList(pathIn(env)) {
		if folder == "" {
			continue // the working directory is meant only where it is named
		}
		candidate := filepath.Join(folder, name)
		err := executable(candidate)
		if err == nil {
			return candidate, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			last = err
		}
	}
	if last != nil {
		return "", last
	}
	return "", &NotFoundError{Name: name, Problem: "it is in no folder of PATH"}
}

func pathIn(env []string) string {
	found := usualPath
	for _, variable := range env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			found = value
		}
	}
	return found
}

// executable says why a file cannot be run, if it cannot.
func executable(name string) error {
	var is unix.Stat_t
	err := unix.Stat(name, &is)
	if err == nil && is.Mode&unix.S_IFMT == unix.S_IFDIR {
		return &unrunnable{NotFoundError{Name: name, Problem: "it is a folder"}, unix.EACCES}
	}
	if err == nil {
		err = unix.Faccessat(unix.AT_FDCWD, name, unix.X_OK, unix.AT_EACCESS)
	}
	if err != nil {
		return &unrunnable{NotFoundError{Name: name, Problem: explain(err)}, err}
	}
	return nil
}

// unrunnable keeps the reason beside the words for it.
type unrunnable struct {
	NotFoundError

	reason error
}

// Unwrap gives both.
func (e *unrunnable) Unwrap() []error { return []error{&e.NotFoundError, e.reason} }

func explain(err error) string {
	switch {
	case errors.Is(err, unix.ENOENT):
		return "there is no such file, or its interpreter is not there"
	case errors.Is(err, unix.EACCES):
		return "permission denied"
	case errors.Is(err, unix.ENOEXEC):
		return "it is no program for this machine"
	}
	return err.Error()
}
