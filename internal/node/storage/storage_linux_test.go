package storage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/node/storage"
)

const kilobyte = 1 << 10

// memory is a folder in memory for reservations.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "bowline-test-")
	if err != nil {
		t.Skipf("SKIPPED: there is no /dev/shm to write to: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func home(place string) string { return filepath.Join(place, fmt.Sprintf("bowline-%d", os.Geteuid())) }

func reserve(t *testing.T, options storage.Options, bytes int64) *storage.Reservation {
	t.Helper()
	r, err := storage.Reserve(t.Context(), options, bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestBudget(t *testing.T) {
	t.Parallel()
	options := storage.Options{Dir: memory(t), Limit: 10 * kilobyte}
	first := reserve(t, options, 6*kilobyte)
	reserve(t, options, 3*kilobyte)
	_, err := storage.Reserve(t.Context(), options, 2*kilobyte)
	wantOver(t, err, storage.BudgetError{Wanted: 2 * kilobyte, Used: 9 * kilobyte, Limit: 10 * kilobyte})
	if want := "the secrets need 2 KiB, other runs hold 9 KiB, and all may hold 10 KiB"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %q, want %q", err.Error(), want)
	}
	wantOver(t, first.Resize(t.Context(), 8*kilobyte),
		storage.BudgetError{Wanted: 8 * kilobyte, Used: 3 * kilobyte, Limit: 10 * kilobyte})
	if err := first.Resize(t.Context(), 7*kilobyte); err != nil {
		t.Errorf("growing within the budget: %v", err)
	}
	_, err = storage.Reserve(t.Context(), options, 1)
	wantOver(t, err, storage.BudgetError{Wanted: 1, Used: 10 * kilobyte, Limit: 10 * kilobyte})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Resize(t.Context(), 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("changing a closed one: got %v", err)
	}
	reserve(t, options, 7*kilobyte)
}

func wantOver(t *testing.T, err error, want storage.BudgetError) {
	t.Helper()
	if over := (*storage.BudgetError)(nil); !errors.As(err, &over) || *over != want {
		t.Errorf("got %v, want %v", err, want.Error())
	}
}

func TestDefaultBudget(t *testing.T) {
	t.Parallel()
	_, err := storage.Reserve(t.Context(), storage.Options{Dir: memory(t)}, 64<<20+1)
	wantOver(t, err, storage.BudgetError{Wanted: 64<<20 + 1, Limit: 64 << 20})
}

// TestManyAtOnce lets more runs reserve at once than the budget has room for.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const runs, fit = 24, 10
	options := storage.Options{Dir: memory(t), Limit: fit * kilobyte}
	var running sync.WaitGroup
	results := make([]*storage.Reservation, runs)
	for i := range results {
		running.Go(func() {
			r, err := storage.Reserve(t.Context(), options, kilobyte)
			if over := (*storage.BudgetError)(nil); err != nil && !errors.As(err, &over) {
				t.Error(err)
			}
			results[i] = r
		})
	}
	running.Wait()
	granted := 0
	for _, r := range results {
		if r == nil {
			continue
		}
		granted++
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if granted != fit {
		t.Errorf("%d were granted, want %d", granted, fit)
	}
}

func TestDeadRunsAreCleared(t *testing.T) {
	t.Parallel()
	place := memory(t)
	options := storage.Options{Dir: place}
	living := reserve(t, options, kilobyte)
	kept, err := living.Directory(os.Geteuid(), os.Getegid())
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	leaveBehind(t, home(place), outside)
	reserve(t, options, kilobyte)
	entries, err := os.ReadDir(home(place))
	if err != nil {
		t.Fatal(err)
	}
	if want := 4; len(entries) != want { // the lock, two reservations, one folder
		t.Errorf("there is %v", entries)
	}
	for _, path := range []string{kept, outside} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s was not to be cleared: %v", path, err)
		}
	}
}

// leaveBehind makes what dead runs leave, with links to elsewhere in it.
func leaveBehind(t *testing.T, home, elsewhere string) {
	t.Helper()
	problems := []error{
		os.WriteFile(filepath.Join(home, "1-dead.run"), []byte("123456789012\n"), 0o600),
		os.Symlink(elsewhere, filepath.Join(home, "3-link.run")),
	}
	for _, dead := range []string{"1-dead", "2-without-reservation"} {
		problems = append(problems,
			os.MkdirAll(filepath.Join(home, dead, "root"), 0o700),
			os.Symlink(filepath.Dir(elsewhere), filepath.Join(home, dead, "root", "link")))
	}
	if err := errors.Join(problems...); err != nil {
		t.Fatal(err)
	}
}

func TestFoldersThatCannotBeTrusted(t *testing.T) {
	t.Parallel()
	for reason, prepare := range map[string]func(t *testing.T, path string) error{
		"a link to a folder of one's own": func(t *testing.T, path string) error {
			other := filepath.Join(t.TempDir(), "private")
			return errors.Join(os.Mkdir(other, 0o700), os.Symlink(other, path))
		},
		"others can list it": func(_ *testing.T, path string) error {
			return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o755))
		},
		"others can write to it": func(_ *testing.T, path string) error {
			return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o722))
		},
		"another user's": func(t *testing.T, path string) error {
			if os.Geteuid() != 0 {
				t.Skip("SKIPPED, since it needs root")
			}
			return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 4242, 4242))
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			place := memory(t)
			if err := prepare(t, home(place)); err != nil {
				t.Fatal(err)
			}
			_, err := storage.Reserve(t.Context(), storage.Options{Dir: place}, 1)
			if unsafe := (*storage.UnsafeError)(nil); !errors.As(err, &unsafe) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// disk is a folder on a disk.
func disk(t *testing.T) string {
	t.Helper()
	place := t.TempDir()
	var found syscall.Statfs_t
	if err := syscall.Statfs(place, &found); err != nil {
		t.Fatal(err)
	}
	if found.Type == 0x01021994 { // tmpfs
		t.Skip("SKIPPED: the folder for temporary files is in memory")
	}
	return place
}

func TestDiskIsRefused(t *testing.T) {
	t.Parallel()
	place := disk(t)
	r := reserve(t, storage.Options{Dir: place}, 1)
	_, err := r.Directory(os.Geteuid(), os.Getegid())
	if disk := (*storage.DiskError)(nil); !errors.As(err, &disk) || disk.Path != home(place) || disk.FileSystem == "" {
		t.Errorf("got %v", err)
	}
}

func TestDiskIsAllowed(t *testing.T) {
	t.Parallel()
	r := reserve(t, storage.Options{Dir: disk(t), AllowDisk: true}, 1)
	folder, err := r.Directory(os.Geteuid(), os.Getegid())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestLockedOut waits for another process that holds the lock, no longer than its context.
func TestLockedOut(t *testing.T) {
	t.Parallel()
	place := memory(t)
	options := storage.Options{Dir: place}
	reserve(t, options, 1)
	held, err := os.Open(filepath.Join(home(place), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := storage.Reserve(ctx, options, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	reserve(t, options, 1)
}

// TestUnprivileged runs the other tests again as a user without any privilege.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, since it needs root")
	}
	dir, err := os.MkdirTemp("", "bowline-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const user = 1000
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("/proc/self/exe", "-test.v")
	command.Dir, command.Env = dir, []string{"TMPDIR=" + dir}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
