package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/node"
)

var errStep = errors.New("does not hold")

// emptyRoot is a repository in which everything has been built, into empty files.
func emptyRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bowline", "bowline-controlplane", "greeter"} {
		if err := os.WriteFile(filepath.Join(root, "bin", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(root, "examples", "greeter", "manifests"), os.DirFS(manifestDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(root, describedFolder), os.DirFS(filepath.Join("..", "..", describedFolder))); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestPlay(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	good := step{"good", func(_ context.Context, s *story) error {
		s.later("undo good", func(ctx context.Context) error { return ctx.Err() })
		return nil
	}}
	tests := []struct {
		name string
		ctx  context.Context //nolint:containedctx // a table of calls
		last step
		want error
	}{
		{"all holds", t.Context(), step{"last", func(context.Context, *story) error { return nil }}, nil},
		{"a step does not hold", t.Context(), step{"last", func(context.Context, *story) error { return errStep }}, errStep},
		{"interrupted", ctx, step{"last", func(ctx context.Context, _ *story) error {
			interrupt()
			<-ctx.Done()
			return ctx.Err()
		}}, errInterrupted},
		{"cleaning up fails", t.Context(), step{"last", func(_ context.Context, s *story) error {
			s.later("undo last", func(context.Context) error { return errStep })
			return nil
		}}, errStep},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			s, err := newStory(emptyRoot(t), &out)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.play(tc.ctx, []step{good, tc.last}); !errors.Is(err, tc.want) {
				t.Errorf("error = %v, want %v", err, tc.want)
			}
			if !strings.Contains(out.String(), "undo good") {
				t.Error("a cleanup did not run")
			}
			for _, dir := range []string{s.scratch, s.private} {
				if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is left behind: %v", dir, err)
				}
			}
		})
	}
}

func TestPlayCleansUpAfterAPanic(t *testing.T) {
	t.Parallel()
	s, err := newStory(emptyRoot(t), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("the panic was swallowed")
		}
		if _, err := os.Stat(s.private); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", s.private, err)
		}
	}()
	_ = s.play(t.Context(), []step{{"panics", func(context.Context, *story) error { panic("unexpected") }}})
}

func TestCleanUpRunsBackwards(t *testing.T) {
	t.Parallel()
	s := &story{narrator: &narrator{out: &bytes.Buffer{}}}
	var order []string
	for _, name := range []string{"first", "second", "third"} {
		s.later(name, func(context.Context) error {
			order = append(order, name)
			return errStep
		})
	}
	if err := s.cleanUp(t.Context()); !errors.Is(err, errStep) {
		t.Errorf("error = %v, want %v", err, errStep)
	}
	if diff := cmp.Diff([]string{"third", "second", "first"}, order); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestScratchStaysWhenThePlaneCannotBeStopped(t *testing.T) {
	t.Parallel()
	s, err := newStory(emptyRoot(t), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	// The binaries of emptyRoot cannot be run.
	err = s.play(t.Context(), []step{{"start", startPlane}})
	t.Cleanup(func() {
		if err := os.RemoveAll(s.scratch); err != nil {
			t.Error(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "bin/bowline down --dir "+s.scratch) {
		t.Errorf("error = %v, want advice how to stop what runs", err)
	}
	if _, err := os.Stat(s.scratch); err != nil {
		t.Errorf("what tells what runs was removed: %v", err)
	}
}

func TestNewStoryNeedsTheBinaries(t *testing.T) {
	t.Parallel()
	if _, err := newStory(t.TempDir(), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("error = %v, want advice to build", err)
	}
}

func TestCheckTranscript(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{"nothing to see": true, "it is hunter2!": false, "data: aHVudGVyMg==": false} {
		s := &story{narrator: &narrator{out: &bytes.Buffer{}}}
		s.former = []node.Value{node.NewValue([]byte("hunter2"))}
		s.service.password = node.NewValue([]byte("hunter3"))
		s.quote("one line\n" + text)
		if err := checkTranscript(t.Context(), s); (err == nil) != ok {
			t.Errorf("%q: error = %v, want none: %t", text, err, ok)
		}
	}
}
