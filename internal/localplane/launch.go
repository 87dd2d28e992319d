package localplane

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// bringUp starts a component unless it runs, waits until it is ready, and reports whether it started it.
func (p *Plane) bringUp(ctx context.Context, cfg Config, c component) (started bool, err error) {
	process, begin := readRecord(p.recordPath(c.name)), int64(0)
	if !process.alive() {
		cfg.Progress("starting " + c.name)
		if process, begin, err = p.launch(cfg.Binary, c); err != nil {
			return false, fmt.Errorf("starting %s: %w", c.name, err)
		}
		started = true
	}
	if err := waitReady(ctx, process, c.ready); err != nil {
		return started, &ComponentError{
			Component: c.name, Log: p.Log(c.name), Tail: tail(p.Log(c.name), begin), Err: err,
			found: !started && errors.Is(err, errEnded),
		}
	}
	if started && c.settle != nil {
		return started, c.settle(ctx)
	}
	return started, nil
}

// launch starts the process of a component and records it.
func (p *Plane) launch(binary string, c component) (r record, logBegin int64, err error) {
	if c.path != "" {
		return p.launchProgram(c.path, c.name, c.args)
	}
	return p.launchProgram(binary, c.name, append([]string{c.name}, c.args...))
}

// launchProgram starts a program under a name and records it.
func (p *Plane) launchProgram(path, name string, args []string) (r record, logBegin int64, err error) {
	log, begin, err := openLog(p.Log(name))
	if err != nil {
		return record{}, 0, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(path, args...) //nolint:noctx // it outlives the caller
	cmd.Dir, cmd.Env = p.dir, environment(markOf(p.dir, name))
	cmd.Stdout, cmd.Stderr = log, log
	if err := p.launcher.start(cmd); err != nil {
		return record{}, 0, err
	}
	r, _ = identify(cmd.Process.Pid, time.Now()) // one that is gone already will be found not to be alive
	return r, begin, r.write(p.recordPath(name))
}

// waitReady waits until the check passes, the process is gone or ctx ends.
func waitReady(ctx context.Context, process record, ready func(context.Context) error) error {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		if !process.alive() {
			return errEnded
		}
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for it to be ready: %w: %w", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}
