package run

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/internal/live"
	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
	"github.com/bowline-dev/bowline/internal/node/storage"
)

// Source is where a program's objects come from.
type Source interface {
	// Objects returns what there is now.
	Objects() node.Objects
	// Follow tells of changes until the context ends.
	Follow(ctx context.Context, tell func(live.Event))
}

// Fixed is a source that never changes, such as manifests.
type Fixed struct {
	// Held are the objects.
	Held node.Objects
}

// Objects returns them.
func (f Fixed) Objects() node.Objects { return f.Held }

// Follow waits for the end.
func (Fixed) Follow(ctx context.Context, _ func(live.Event)) { <-ctx.Done() }

// Target is the container whose place a program takes.
type Target struct {
	// Pod is what the workload says of its pods.
	Pod *node.Pod
	// Container is the name of one of its containers.
	Container string
	// Machine is where the program runs.
	Machine node.Machine
	// Source is where the container's objects come from.
	Source Source
}

// Plan decides what the container gets as its objects are now.
func (t Target) Plan() (*node.Plan, error) {
	return node.NewPlan(node.Request{Pod: t.Pod, Container: t.Container, Objects: t.Source.Objects(), Machine: t.Machine})
}

// Request is all that a run needs to know.
type Request struct {
	Target

	// Command is run in place of the container's own; empty for that.
	Command []string
	// Engine runs the container's image instead of a program of this machine; nil for none.
	Engine *Engine
	// Environ is what the program inherits. What the container sets wins.
	Environ []string
	// OnChange says what happens when something changes that the container sees.
	OnChange OnChange
	// Namespace says whether the program is to see its files where the container does.
	Namespace sandbox.Policy
	// KeepUser runs the program as this process runs, whatever user and groups the container has.
	KeepUser bool
	// Storage says where files are held, and how much of them.
	Storage storage.Options
	// Say gets what a person should know, in one line without a value.
	Say func(text string)
	// Stdin, Stdout and Stderr are the program's; nil for this process's own.
	Stdin, Stdout, Stderr *os.File
}

// Reaction is a way to react to a change.
type Reaction int

const (
	// Ignore does nothing: the program watches its files itself.
	Ignore Reaction = iota
	// Signal sends a signal when a file has changed.
	Signal
	// Restart ends the program and starts it again when a file or a variable has changed.
	Restart
)

// OnChange says how to react to a change.
type OnChange struct {
	// Reaction is what is done.
	Reaction Reaction
	// Signal is what is sent; for the reaction of that name.
	Signal syscall.Signal
}

const (
	// quiet is how long nothing must change before a change is reacted to, so that several of them cause one reaction.
	quiet = 300 * time.Millisecond
	// linger is how long files stay that others have taken the place of: much longer than it takes to open one.
	linger = 50 * time.Millisecond
	// grace is how long a program has to end before it is killed for a restart, as a pod has it.
	grace = 30 * time.Second
)

// NoCommandError says that it is not known what to run.
type NoCommandError struct {
	// Container is its name.
	Container string
	// Image is what knows.
	Image string
}

// Error names the container and its image.
func (e *NoCommandError) Error() string {
	if e.Image == "" {
		return "container \"" + e.Container + "\" names no command"
	}
	return "container \"" + e.Container + "\" names no command: its image " + e.Image + " does"
}

// Hint says what to do.
func (e *NoCommandError) Hint() string {
	if e.Image == "" {
		return "give a command behind --"
	}
	return "give a command behind --, or run the image: --container=docker"
}

// HiddenError says that the container has a volume where this process works.
type HiddenError struct {
	// Directory is the working directory.
	Directory string
}

// Error names the directory.
func (e *HiddenError) Error() string {
	return "the container has a volume at the working directory " + e.Directory + ", which hides what is there"
}

// Hint says what to do.
func (*HiddenError) Hint() string {
	return "change to another directory, or keep the files in a private folder: --no-namespace"
}
