package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"sync"

	"github.com/bowline-dev/bowline/internal/node/storage"
)

// Sandbox is where a program runs: its memory, and the second stage that becomes the program.
type Sandbox struct {
	spec        Spec
	credentials credentials
	unmet       []string
	reservation *storage.Reservation

	stage   *stage              // what becomes the program
	folders map[string]*os.Root // the volumes
	private *private            // the private folder; nil in a namespace
	reason  string              // why there is no namespace

	relay   *relay
	closing sync.Once
	closed  error
}

// New makes the memory and the namespace for a program. Nothing runs in them before Start. The context ends with New: to
// end the program, signal it. A program that is to run again takes a new Sandbox: its namespace ends with it.
func New(ctx context.Context, spec Spec) (*Sandbox, error) {
	spec, err := spec.tidy()
	if err != nil {
		return nil, err
	}
	s := &Sandbox{spec: spec, folders: map[string]*os.Root{}}
	s.credentials, s.unmet, err = credentialsFor(spec.Security, ownIdentity())
	if err != nil {
		return nil, err
	}
	if s.spec.Dir == "" {
		if s.spec.Dir, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("looking for the working directory: %w", err)
		}
	}
	s.reservation, err = storage.Reserve(ctx, spec.Storage, spec.Reserve)
	if err != nil {
		return nil, err
	}
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// build takes the first kind of namespace that can be had, else a private folder.
func (s *Sandbox) build(ctx context.Context) error {
	if s.spec.Namespace == Never {
		s.reason = "no namespace is wanted"
		return s.useFolder(ctx)
	}
	for _, kind := range namespacesFor(ownIdentity(), s.credentials) {
		err := s.useNamespace(ctx, kind)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("making a namespace: %w", err)
		}
		s.reason = "no namespace can be had: " + err.Error()
	}
	return s.useFolder(ctx)
}

func (s *Sandbox) useNamespace(ctx context.Context, kind namespace) error {
	started, err := startStage(kind, s.streams())
	if err != nil {
		return err
	}
	folders, err := started.prepare(ctx, setup{
		Namespace: kind, Volumes: s.spec.Volumes, Mounts: s.spec.Mounts,
		Size: memoryFor(s.spec.Storage.Budget()), Parent: os.Getpid(),
	})
	if err != nil {
		for _, folder := range folders {
			_ = folder.Close()
		}
		return errors.Join(err, started.end())
	}
	s.stage, s.folders = started, folders
	return nil
}

// memoryFor is the size of the file system for a budget: a rotation holds the old and the new files at once, and each
// file fills its last page.
func memoryFor(budget int64) int64 {
	const slack = 16 << 20
	return 2*budget + slack
}

func (s *Sandbox) useFolder(ctx context.Context) error {
	if s.spec.Security.ReadOnlyRoot {
		s.unmet = append(s.unmet, "a read-only root file system takes a namespace")
	}
	uid, gid := s.credentials.owner()
	dir, err := s.reservation.Directory(uid, gid)
	if err != nil {
		return err
	}
	s.private = &private{dir: dir, mounts: s.spec.Mounts}
	if s.folders, err = s.private.build(s.spec.Volumes); err != nil {
		return err
	}
	s.stage, err = startStage(0, s.streams())
	if err != nil {
		return err
	}
	_, err = s.stage.prepare(ctx, setup{Parent: os.Getpid()})
	return err
}

func (s *Sandbox) streams() []*os.File {
	return []*os.File{s.spec.Stdin, s.spec.Stdout, s.spec.Stderr}
}

// Volume returns the folder of a volume, to write to; nil if there is none of that name. It is closed by Close.
func (s *Sandbox) Volume(name string) *os.Root { return s.folders[name] }

// Seen says where the program sees what a container sees at a path: there in a namespace, in the private folder otherwise.
// Without a namespace a folder above a mount is taken to be there for the sake of the mounts, whatever else may be at that
// path on this machine: so ask for what is known to be a folder of bindings, and for other paths look at Inside first.
func (s *Sandbox) Seen(seen string) string {
	if s.private == nil {
		return seen
	}
	return s.private.seen(seen)
}

// Inside says whether a path is that of a mount, or below one.
func (s *Sandbox) Inside(seen string) bool {
	return slices.ContainsFunc(s.spec.Mounts, func(m Mount) bool {
		return within(m.Path, path.Clean(seen))
	})
}

// Isolated says whether the program has a mount namespace of its own, and if not, why.
func (s *Sandbox) Isolated() (bool, string) { return s.private == nil, s.reason }

// Unmet lists what of the security context cannot be honoured here, for people.
func (s *Sandbox) Unmet() []string { return slices.Clone(s.unmet) }

// PID is the process id of the program.
func (s *Sandbox) PID() int { return s.stage.process.pid }

// Resize changes how much memory is set aside for this run's secrets, for a rotation that makes them larger.
func (s *Sandbox) Resize(ctx context.Context, bytes int64) error {
	return s.reservation.Resize(ctx, bytes)
}

// SetCommand takes the place of the command that New was given, for words that name where the program sees its files,
// which is known only now. It is called before Start.
func (s *Sandbox) SetCommand(command []string) { s.spec.Command = command }

// Start mounts what the volumes hold by now and runs the program with the environment given, once. An error means that
// nothing was started. From now on, signals to this process are passed on to the program, until it ends.
func (s *Sandbox) Start(env []string) error {
	if s.private != nil {
		if err := s.private.makeParts(s.folders); err != nil {
			return err
		}
	}
	s.relay = startRelay(s.stage.process)
	err := s.stage.launch(launch{
		Argv: s.spec.Command, Env: env, Dir: s.spec.Dir, Credentials: s.credentials,
		ReadOnlyRoot: s.spec.Security.ReadOnlyRoot && s.private == nil,
	})
	if err != nil {
		s.relay.stop()
		return err
	}
	return nil
}

// Signal sends the program a signal. One that has ended is left alone.
func (s *Sandbox) Signal(signal os.Signal) error { return s.stage.process.signal(signal) }

// Wait returns how the program ended, once it has. Its child processes may live on.
func (s *Sandbox) Wait() (Exit, error) {
	exit, err := s.stage.process.wait()
	if s.relay != nil {
		s.relay.stop()
	}
	return exit, err
}

// Close kills the program if it still runs, and gives back all that New took. Signal the program and Wait before, to let
// it end by itself. Calling it again does nothing.
func (s *Sandbox) Close() error {
	s.closing.Do(func() {
		var problems []error
		if s.stage != nil {
			problems = append(problems, s.stage.end())
		}
		if s.relay != nil {
			s.relay.stop()
		}
		for _, folder := range s.folders {
			problems = append(problems, folder.Close())
		}
		problems = append(problems, s.reservation.Close())
		s.closed = errors.Join(problems...)
	})
	return s.closed
}
