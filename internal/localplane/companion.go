package localplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Companion is a process that belongs to a control plane without being part of it, such as a controller.
type Companion struct {
	// Name names its log and its record. It MUST NOT be a component's.
	Name string
	// Path is the program, Args its arguments.
	Path string
	Args []string
	// Ready returns nil once it is of use.
	Ready func(ctx context.Context) error
}

// Accompany starts a companion unless it runs, waits until it is ready, and reports whether it started it. Stop ends
// companions before it ends the control plane. The plane must come from Start.
func (p *Plane) Accompany(ctx context.Context, c Companion) (started bool, err error) {
	unlock, err := lock(ctx, p.path(lockFile))
	if err != nil {
		return false, err
	}
	defer unlock()
	process, begin := readRecord(p.recordPath(c.Name)), int64(0)
	if !process.alive() {
		if err := p.stopComponent(ctx, c.Name); err != nil {
			return false, fmt.Errorf("stopping what is left of %s: %w", c.Name, err)
		}
		// Its name is on record before it runs, so that Stop looks for it should this process die in between.
		if err := (record{}).write(p.recordPath(c.Name)); err != nil {
			return false, err
		}
		process, begin, err = p.launchProgram(c.Path, c.Name, c.Args)
		if err != nil {
			return false, fmt.Errorf("starting %s: %w", c.Name, err)
		}
		started = true
	}
	err = waitReady(ctx, process, c.Ready)
	if err == nil {
		return started, nil
	}
	failed := &ComponentError{Component: c.Name, Log: p.Log(c.Name), Tail: tail(p.Log(c.Name), begin), Err: err}
	if !started {
		return false, failed
	}
	return false, errors.Join(failed, p.stopComponent(context.WithoutCancel(ctx), c.Name))
}

// Accompanied reports whether the companion of this name runs.
func (p *Plane) Accompanied(name string) bool {
	return readRecord(p.recordPath(name)).alive()
}

// Dismiss stops the companion of this name; one that does not run is none to stop.
func (p *Plane) Dismiss(ctx context.Context, name string) error {
	unlock, err := lock(ctx, p.path(lockFile))
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.stopComponent(ctx, name); err != nil {
		return fmt.Errorf("stopping %s: %w", name, err)
	}
	return nil
}

// companions lists the names of the companions that are on record.
func (p *Plane) companions() ([]string, error) {
	entries, err := os.ReadDir(p.path("run"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for companions: %w", err)
	}
	var names []string
	for _, entry := range entries {
		name, isRecord := strings.CutSuffix(filepath.Base(entry.Name()), ".json")
		if isRecord && !slices.Contains(everything(), name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// FreePort returns preferred when one can listen on it on loopback now, and else another such port.
func FreePort(preferred int) (int, error) {
	port := preferred
	err := keepOrChoose(&port)
	return port, err
}
