package localplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// marker is the environment variable by which a child is recognised whose starter was killed before it could
	// record it.
	marker       = "BOWLINE_LOCALPLANE"
	processPoll  = 20 * time.Millisecond
	killPatience = 10 * time.Second
)

// record identifies a process beyond its pid, which the system uses again.
type record struct {
	PID       int       `json:"pid"`
	StartTime uint64    `json:"startTime"`
	Boot      string    `json:"boot"`
	Started   time.Time `json:"started"`
}

// identify returns the record of a running process.
func identify(pid int, now time.Time) (record, bool) {
	ticks, ok := startTime(pid)
	return record{PID: pid, StartTime: ticks, Boot: bootID(), Started: now}, ok
}

// alive reports whether the recorded process runs.
func (r record) alive() bool {
	if r.PID <= 0 || r.Boot != bootID() {
		return false
	}
	ticks, ok := startTime(r.PID)
	return ok && ticks == r.StartTime
}

func readRecord(path string) record {
	var r record
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return record{} // a process that nobody can name is found by its marker
	}
	return r
}

func (r record) write(path string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding the record of process %d: %w", r.PID, err)
	}
	return writeFile(path, append(data, '\n'))
}

// terminate asks the recorded process to end, waits as long as grace says, then kills it. A grace of zero kills at once.
func (r record) terminate(ctx context.Context, grace time.Duration) error {
	process, err := os.FindProcess(r.PID)
	if err != nil {
		return fmt.Errorf("finding process %d: %w", r.PID, err)
	}
	defer func() { _ = process.Release() }()
	// The handle was taken first: what is checked now is what the signals will reach.
	if !r.alive() {
		return nil
	}
	if grace > 0 {
		if err := send(process, syscall.SIGTERM); err != nil {
			return err
		}
		if r.waitGone(ctx, grace) {
			return nil
		}
	}
	if err := send(process, syscall.SIGKILL); err != nil {
		return err
	}
	if !r.waitGone(context.WithoutCancel(ctx), killPatience) {
		return fmt.Errorf("ending process %d: %w", r.PID, errStillThere)
	}
	return nil
}

var errStillThere = errors.New("it runs on after it was killed")

func send(process *os.Process, signal os.Signal) error {
	if err := process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %v to process %d: %w", signal, process.Pid, err)
	}
	return nil
}

// waitGone reports whether the process ended within the time and before ctx did.
func (r record) waitGone(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(processPoll)
	defer ticker.Stop()
	for r.alive() {
		select {
		case <-ctx.Done():
			return !r.alive()
		case <-ticker.C:
		}
	}
	return true
}

// launcher starts processes. An attached one does so from a single thread that it keeps: Linux kills attached children
// when the thread that started them ends, and Go ends threads at will.
type launcher struct {
	attached bool
	work     chan func()
}

func newLauncher(attached bool) *launcher {
	l := &launcher{attached: attached, work: make(chan func())}
	if attached {
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			for do := range l.work {
				do()
			}
		}()
	}
	return l
}

// close ends the launcher, and with it whatever attached process still runs.
func (l *launcher) close() { close(l.work) }

// start starts the command and sees to it that it leaves no zombie.
func (l *launcher) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes(l.attached)
	result := make(chan error, 1)
	do := func() { result <- cmd.Start() }
	if l.attached {
		l.work <- do
	} else {
		do()
	}
	if err := <-result; err != nil {
		return fmt.Errorf("running %q: %w", cmd.Path, err)
	}
	go func() { _ = cmd.Wait() }() // how it ended is in its log
	return nil
}

// environment is what children see: none of the caller's proxies, credentials or component settings.
func environment(mark string) []string {
	env := []string{mark}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TZ", "GOMAXPROCS", "GOMEMLIMIT", "GOGC"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// strays returns the processes that carry the mark but are not the recorded one.
func strays(mark string, recorded record) ([]record, error) {
	pids, err := processesWith(mark)
	if err != nil {
		return nil, err
	}
	var found []record
	for _, pid := range pids {
		if r, ok := identify(pid, time.Time{}); ok && (pid != recorded.PID || !recorded.alive()) {
			found = append(found, r)
		}
	}
	return found, nil
}

// markOf returns the environment entry of a component in a data directory.
func markOf(dir, component string) string {
	return marker + "=" + filepath.Join(dir, strings.ReplaceAll(component, "/", "-"))
}
