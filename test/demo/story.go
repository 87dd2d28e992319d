package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/node"
)

const (
	cleanupTimeout = time.Minute
	waitTimeout    = 30 * time.Second
	upTimeout      = 2 * time.Minute
)

// errInterrupted ends a story that somebody ended.
var errInterrupted = errors.New("interrupted")

// step is one part of the story. It returns an error when what it tells does not hold.
type step struct {
	name string
	run  func(ctx context.Context, s *story) error
}

// cleanup undoes something that a step did to the machine.
type cleanup struct {
	name string
	run  func(ctx context.Context) error
}

// story is what the steps hand on to each other.
type story struct {
	*narrator
	root     string
	scratch  string // for the control plane
	private  string // for what is secret; in memory where the machine can
	cleanups []cleanup
	// keepScratch is set when the directory is needed to find what could not be stopped.
	keepScratch bool

	service   service
	cluster   *cluster
	manifests manifests
	before    *unstructured.Unstructured // the Deployment, before the binding
	bound     *unstructured.Unstructured // the Deployment, with the binding projected

	described described
	made      *unstructured.Unstructured // the Secret that Bowline made, by its name
	former    []node.Value               // passwords that count no more
}

// newStory makes the directories and checks that there is something to run.
func newStory(root string, out io.Writer) (*story, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("finding the root of the repository: %w", err)
	}
	for _, name := range []string{"bowline", "bowline-controlplane", "greeter"} {
		if _, err := os.Stat(filepath.Join(root, "bin", name)); err != nil {
			return nil, fmt.Errorf("looking for the binaries: %w: run make build, then make demo, in the repository's root", err)
		}
	}
	files, err := loadManifests(filepath.Join(root, "examples", "greeter", "manifests"))
	if err != nil {
		return nil, err
	}
	more, err := loadDescribed(filepath.Join(root, describedFolder))
	if err != nil {
		return nil, err
	}
	return &story{narrator: &narrator{out: out}, root: root, manifests: files, described: more}, nil
}

// makeDirs makes the directories of the story and sees to their removal.
func (s *story) makeDirs() error {
	var err error
	if s.scratch, err = os.MkdirTemp("", "bowline-demo-"); err != nil {
		return fmt.Errorf("making a directory for the control plane: %w", err)
	}
	s.later("remove "+s.scratch, func(context.Context) error {
		if s.keepScratch {
			return errors.New("left in place")
		}
		return os.RemoveAll(s.scratch)
	})
	if s.private, err = newPrivateDir(); err != nil {
		return fmt.Errorf("making a directory for secrets: %w", err)
	}
	s.later("remove "+s.private, func(context.Context) error { return os.RemoveAll(s.private) })
	return nil
}

// newPrivateDir makes an empty directory that only this user can enter, in memory where the machine has /dev/shm.
func newPrivateDir() (string, error) {
	const memoryDir = "/dev/shm"
	dir, err := os.MkdirTemp(memoryDir, "bowline-demo-")
	if err != nil {
		dir, err = os.MkdirTemp("", "bowline-demo-")
	}
	if err != nil {
		return "", fmt.Errorf("making a private directory: %w", err)
	}
	return dir, nil
}

// later registers what undoes a step; the last registered runs first.
func (s *story) later(name string, run func(ctx context.Context) error) {
	s.cleanups = append(s.cleanups, cleanup{name, run})
}

// play runs the steps in order up to the first that fails, then cleans up in any case.
func (s *story) play(ctx context.Context, list []step) (err error) {
	begin := time.Now()
	defer func() { err = errors.Join(err, s.cleanUp(ctx)) }()
	if err := s.makeDirs(); err != nil {
		return err
	}
	took := make([]time.Duration, len(list))
	for i, st := range list {
		s.heading(i+1, len(list), st.name)
		start := time.Now()
		if err := st.run(ctx, s); err != nil {
			if ctx.Err() != nil {
				return errInterrupted
			}
			s.sayf("FAILED")
			return fmt.Errorf("step %d (%s): %w", i+1, st.name, err)
		}
		took[i] = time.Since(start)
		s.sayf("ok (%s)", rounded(took[i]))
	}
	s.write("\nAll of it held:\n")
	for i, st := range list {
		s.sayf("%8s  %s", rounded(took[i]), st.name)
	}
	s.sayf("%8s  in all", rounded(time.Since(begin)))
	return nil
}

// cleanUp undoes everything, even when ctx has ended, and reports what it could not undo.
func (s *story) cleanUp(ctx context.Context) error {
	if ctx.Err() != nil {
		s.write("\nInterrupted: cleaning up, which takes a few seconds.\n")
	} else {
		s.write("\nCleaning up.\n")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	var failures []error
	for _, c := range slices.Backward(s.cleanups) {
		s.sayf("%s", c.name)
		if err := c.run(ctx); err != nil {
			failures = append(failures, fmt.Errorf("cleaning up (%s): %w", c.name, err))
		}
	}
	s.cleanups = nil
	return errors.Join(failures...)
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
