package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is a child of this process, looked after by one thread: the kernel sends the signal for a parent's death when
// the thread that forked is gone.
type process struct {
	pid   int
	child *os.Process
	done  chan struct{}
	exit  Exit
	err   error
}

// startProcess runs the second stage. Files are its standard streams and what follows them.
func startProcess(path string, argv []string, attributes *os.ProcAttr) (*process, error) {
	p := &process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		child, err := os.StartProcess(path, argv, attributes)
		if err != nil {
			started <- err
			return
		}
		p.pid, p.child = child.Pid, child
		started <- nil
		defer close(p.done)
		state, err := child.Wait()
		if err != nil {
			p.err = fmt.Errorf("waiting for the program: %w", err)
			return
		}
		p.exit = exitOf(state)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func exitOf(state *os.ProcessState) Exit {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		const signalled = 128
		return Exit{Code: signalled + int(status.Signal()), Signal: status.Signal()}
	}
	return Exit{Code: state.ExitCode()}
}

func (p *process) wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

func (p *process) signal(signal os.Signal) error {
	err := p.child.Signal(signal)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("passing signal %v on: %w", signal, err)
	}
	return nil
}

// kill ends the process and waits for its end, so that no zombie is left.
func (p *process) kill() error {
	err := p.signal(os.Kill)
	<-p.done
	return err
}

// namespace is a set of flags for clone.
type namespace uintptr

const (
	mountNamespace namespace = unix.CLONE_NEWNS
	userNamespace  namespace = unix.CLONE_NEWUSER
)

// namespacesFor lists the kinds of namespaces to try, the better first. In a user namespace there is one uid only, so it
// is none for who is to become another.
func namespacesFor(own identity, wanted credentials) []namespace {
	var kinds []namespace
	if own.uid == 0 {
		kinds = append(kinds, mountNamespace)
	}
	if wanted.keepsIdentity() {
		kinds = append(kinds, mountNamespace|userNamespace)
	}
	return kinds
}

// attributesFor maps the own uid and gid to themselves, and keeps what it takes to mount across the execve of the second
// stage: in a user namespace, a process with another uid than 0 would lose it.
func attributesFor(kind namespace, files []*os.File) *os.ProcAttr {
	system := &syscall.SysProcAttr{Cloneflags: uintptr(kind), Pdeathsig: syscall.SIGTERM}
	if kind&userNamespace != 0 {
		system.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		system.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		system.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	}
	// The environment of the second stage is empty: the program's comes through the socket.
	return &os.ProcAttr{Env: []string{}, Files: files, Sys: system}
}

// stage is the second stage, seen from the supervisor.
type stage struct {
	process *process
	line    *line
	ending  sync.Once
	ended   error
}

// startStage starts the second stage with the streams of the program.
func startStage(kind namespace, streams []*os.File) (*stage, error) {
	ours, theirs, err := newLine()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	files := append(append([]*os.File{}, streams...), theirs)
	started, err := startProcess("/proc/self/exe", []string{stageName}, attributesFor(kind, files))
	if err != nil {
		return nil, errors.Join(refusal(err), ours.close())
	}
	return &stage{process: started, line: ours}, nil
}

// refusal says in words why Linux does not start a process in a namespace.
func refusal(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("namespaces are forbidden or used up here (sysctl user.max_mnt_namespaces, user.max_user_namespaces): %w", err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("this user may not make namespaces here: %w", err)
	}
	return fmt.Errorf("starting the second stage: %w", err)
}

// end kills what runs and closes the line. It may be called at any time, and again.
func (s *stage) end() error {
	s.ending.Do(func() { s.ended = errors.Join(s.process.kill(), s.line.close()) })
	return s.ended
}
