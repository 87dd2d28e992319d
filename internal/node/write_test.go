package node_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/node"
)

func TestWriteLooksLikeTheKubelet(t *testing.T) {
	t.Parallel()
	dir, err := node.NewDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	plan := &node.Plan{Mounts: []node.Mount{
		{Path: "/bindings/events", Files: []node.File{
			{Path: "deep/a", Value: value("A"), Mode: 0o644},
			{Path: "deep/b", Value: value("B"), Mode: 0o644},
			{Path: "type", Value: value("nats"), Mode: 0o444},
		}},
		{Path: "/bindings/empty"},
	}}
	if err := plan.Write(dir); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"drwx------ bindings",
		"drwx------ bindings/empty", "drwx------ bindings/empty/..1", "..1 <- bindings/empty/..data",
		"drwx------ bindings/events", "drwx------ bindings/events/..1", "drwx------ bindings/events/..1/deep",
		"-rw------- bindings/events/..1/deep/a", "-rw------- bindings/events/..1/deep/b",
		"-r-------- bindings/events/..1/type",
		"..1 <- bindings/events/..data", "..data/deep <- bindings/events/deep", "..data/type <- bindings/events/type",
	}
	if diff := cmp.Diff(want, listing(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join(dir, "bindings", "events", "deep", "b"))
	if err != nil || string(text) != "B" {
		t.Errorf("reading through the links: %q, %v", text, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is open to others: %v, %v", info.Mode(), err)
	}
}

// listing describes what lies below dir.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if e.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			lines = append(lines, target+" <- "+name)
			return err
		}
		info, err := e.Info()
		if err == nil {
			lines = append(lines, info.Mode().String()+" "+name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestWriteStaysInside(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	tests := []struct {
		reason string
		mounts []node.Mount
		ok     bool
	}{
		{reason: "dots in a mount path lead no higher than the directory", ok: true,
			mounts: []node.Mount{{Path: "/../../x", Files: []node.File{{Path: "f", Mode: 0o600}}}}},
		{reason: "dots in a file's path are refused",
			mounts: []node.Mount{{Path: "/x", Files: []node.File{{Path: "../../../f", Mode: 0o600}}}}},
		{reason: "a link that leads outside is not followed",
			mounts: []node.Mount{{Path: "/link", Files: []node.File{{Path: "f", Mode: 0o600}}}}},
		{reason: "two mounts at one place are refused", mounts: []node.Mount{{Path: "/x"}, {Path: "/x"}}},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			err := (&node.Plan{Mounts: tc.mounts}).Write(dir)
			if (err == nil) != tc.ok {
				t.Errorf("error = %v, want success: %t", err, tc.ok)
			}
			if left := listing(t, outside); len(left) != 0 {
				t.Errorf("written outside: %v", left)
			}
		})
	}
}

func TestEnvironMovesTheRoot(t *testing.T) {
	t.Parallel()
	plan := &node.Plan{Env: []node.Variable{
		{Name: "A", Value: value("/bindings")},
		{Name: node.RootVariable, Value: value("/bindings")},
	}}
	want := []string{"A=/bindings", "SERVICE_BINDING_ROOT=/private/bindings"}
	if diff := cmp.Diff(want, plan.Environ("/private")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
