package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/internal/live"
	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
)

// Exit says how a program ended.
type Exit = sandbox.Exit

// LateError says that something went wrong after a program had been started.
type LateError struct {
	// Err is what.
	Err error
}

// Error says what went wrong.
func (e *LateError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *LateError) Unwrap() error { return e.Err }

// Run runs a program and returns how it ended. The error is a *LateError where a program was started: it could not be
// started again, or something could not be cleaned up. Otherwise nothing was started. The context is that of the start: what
// has started ends by itself or by a signal, and signals to this process are passed on to it.
func Run(ctx context.Context, request Request) (exit Exit, err error) {
	s := &supervisor{request: request, told: map[string]bool{}}
	if s.plan, err = request.Plan(); err != nil {
		return Exit{}, err
	}
	first, err := s.start(ctx)
	if err != nil {
		return Exit{}, err
	}
	if exit, err = s.supervise(context.WithoutCancel(ctx), first); err != nil {
		return exit, &LateError{Err: err}
	}
	return exit, nil
}

// supervisor keeps one program and its files.
type supervisor struct {
	request Request
	plan    *node.Plan
	// told are the lines that were said, each of which is said once.
	told map[string]bool
	// due fires when changes are to be reacted to; nil while there are none.
	due <-chan time.Time
	// files and env say what has changed since the last reaction.
	files, env bool
}

// ending is how a program ended.
type ending struct {
	exit Exit
	err  error
}

// process is a program that runs.
type process struct {
	box   *sandbox.Sandbox
	ended chan ending
	// restarting says that the program was asked to end, to be started again; kill fires when it had enough time.
	restarting bool
	kill       <-chan time.Time
}

// supervise keeps the files of a running program current until it ends.
func (s *supervisor) supervise(ctx context.Context, p *process) (Exit, error) {
	ctx, stop := context.WithCancel(ctx)
	events := make(chan live.Event)
	var following sync.WaitGroup
	following.Go(func() {
		s.request.Source.Follow(ctx, func(e live.Event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
		})
	})
	defer following.Wait()
	defer stop()
	asked := askedToEnd()
	defer signal.Stop(asked)
	for {
		select {
		case e := <-p.ended:
			next, err := s.next(ctx, p, e, asked)
			if next == nil {
				return e.exit, err
			}
			p = next
		case <-asked:
			p.restarting = false // whoever asked wants it to end, not to be started again
		case e := <-events:
			s.receive(ctx, p, e)
		case <-s.due:
			s.react(p)
		case <-p.kill:
			_ = p.box.Signal(syscall.SIGKILL)
		}
	}
}

// askedToEnd gets the signals that ask a program to end. Those that this process was started to ignore stay ignored, so that
// a program that is started again ignores them, too.
func askedToEnd() chan os.Signal {
	asked := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(asked, s)
		}
	}
	return asked
}

// next starts a program again where it ended for that, and nobody asked it to end in the meantime; otherwise it cleans up.
func (s *supervisor) next(ctx context.Context, p *process, e ending, asked <-chan os.Signal) (*process, error) {
	closed := p.box.Close()
	if !p.restarting || len(asked) > 0 {
		return nil, errors.Join(e.err, closed)
	}
	next, err := s.start(ctx)
	if err != nil {
		return nil, fmt.Errorf("starting again: %w", err)
	}
	select {
	case signal := <-asked: // it may have come when there was no program; one that has it already gets it twice
		_ = next.box.Signal(signal)
	default:
	}
	return next, nil
}

// receive takes in one piece of news.
func (s *supervisor) receive(ctx context.Context, p *process, e live.Event) {
	switch e.Kind {
	case live.Gone:
		s.say(e.What + " is gone; its files stay as they were last")
	case live.Troubled:
		s.say(fmt.Sprintf("changes of %s may be seen late: %v", e.What, e.Err))
	case live.Changed:
		s.update(ctx, p)
	}
}

// update brings the files up to date. What cannot be is said, and leaves them as they are.
func (s *supervisor) update(ctx context.Context, p *process) {
	plan, err := s.request.Plan()
	if err == nil {
		err = p.box.Resize(ctx, plan.Size())
	}
	if err != nil {
		s.say(fmt.Sprintf("a change is not taken over: %v", err))
		return
	}
	before := s.plan
	s.plan = plan
	changed, err := write(p.box, plan, linger)
	if err != nil {
		s.say(fmt.Sprintf("a change is not taken over in full: %v", err))
	}
	s.files = s.files || changed
	s.env = s.env || !sameEnv(before, plan)
	if s.reacts() && !p.restarting {
		s.due = time.After(quiet)
	}
}

// reacts says whether what has changed is to be reacted to. A signal tells of files: the variables of a program that runs
// stay what they were.
func (s *supervisor) reacts() bool {
	switch s.request.OnChange.Reaction {
	case Signal:
		return s.files
	case Restart:
		return s.files || s.env
	default:
		return false
	}
}

// react does what a change calls for.
func (s *supervisor) react(p *process) {
	s.due, s.files, s.env = nil, false, false
	if s.request.OnChange.Reaction == Signal {
		if err := p.box.Signal(s.request.OnChange.Signal); err != nil {
			s.say(fmt.Sprintf("the program could not be told of a change: %v", err))
		}
		return
	}
	s.request.Say("what the program sees has changed: starting it again")
	p.restarting, p.kill = true, time.After(grace)
	_ = p.box.Signal(syscall.SIGTERM) // one that has ended by itself is started again, too
}

// say tells a person something, once.
func (s *supervisor) say(text string) {
	if !s.told[text] {
		s.told[text] = true
		s.request.Say(text)
	}
}

// sameEnv says whether two plans give a program the same variables and the same words.
func sameEnv(a, b *node.Plan) bool {
	variable := func(a, b node.Variable) bool { return a.Name == b.Name && a.Value.Equal(b.Value) }
	word := func(a, b node.Word) bool { return a.Value.Equal(b.Value) }
	return slices.EqualFunc(a.Env, b.Env, variable) && slices.EqualFunc(a.Command, b.Command, word) &&
		slices.EqualFunc(a.Args, b.Args, word)
}
