package sandbox

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// relay passes signals that this process gets on to the program.
//
// The terminal sends its signals to the whole foreground process group, the program included; who is in it passes INT,
// QUIT, TSTP and WINCH on no second time. So of those, one sent to this process alone from elsewhere, while it is in the
// foreground of a terminal, does not reach the program: TERM, HUP, USR1, USR2 and CONT always do.
type relay struct {
	signals chan os.Signal
	done    chan struct{}
	over    sync.WaitGroup
	once    sync.Once
}

const pendingSignals = 16

// startRelay begins to pass signals on. Signals that this process was started to ignore (nohup) stay ignored.
func startRelay(to *process) *relay {
	r := &relay{signals: make(chan os.Signal, pendingSignals), done: make(chan struct{})}
	for _, s := range []os.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP,
	} {
		if !signal.Ignored(s) {
			signal.Notify(r.signals, s)
		}
	}
	r.over.Go(func() { r.run(to) })
	return r
}

func (r *relay) run(to *process) {
	for {
		select {
		case <-r.done:
			return
		case <-to.done:
			return
		case s := <-r.signals:
			pass(s, to)
		}
	}
}

// pass sends a signal on. What cannot be delivered has no receiver any more.
func pass(s os.Signal, to *process) {
	if !fromTerminal(s) || !inForeground() {
		_ = to.signal(s)
	}
	if s == syscall.SIGTSTP {
		// This process stops too, so that the shell sees the job stopped; CONT reaches both or is passed on.
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// stop ends the relay. Signals do again what they did before.
func (r *relay) stop() {
	r.once.Do(func() {
		signal.Stop(r.signals)
		close(r.done)
	})
	r.over.Wait()
}

func fromTerminal(s os.Signal) bool {
	switch s {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGWINCH:
		return true
	}
	return false
}

// inForeground says whether this process is in the foreground process group of its terminal.
func inForeground() bool {
	terminal, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(terminal) }()
	group, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
