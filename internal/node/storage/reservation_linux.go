package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	suffix      = ".run"
	filesMode   = 0o600
	longestSize = 32
)

// Reservation is a run's share of the budget. It ends with Close, or with the process.
type Reservation struct {
	options Options
	home    *home
	name    string
	file    *os.File

	mu     sync.Mutex
	closed bool
}

// Reserve sets bytes aside for a run, once what dead runs left behind is cleared. More than the budget leaves is a BudgetError.
func Reserve(ctx context.Context, options Options, bytes int64) (*Reservation, error) {
	h, err := openHome(options, os.Getenv)
	if err != nil {
		return nil, err
	}
	r := &Reservation{options: options, home: h, name: strconv.Itoa(os.Getpid()) + "-" + strings.ToLower(rand.Text())}
	if err := h.locked(ctx, func() error { return r.take(bytes) }); err != nil {
		return nil, errors.Join(fmt.Errorf("reserving memory for secrets: %w", err), h.close())
	}
	return r, nil
}

func (r *Reservation) take(bytes int64) error {
	if err := r.check(bytes); err != nil {
		return err
	}
	file, err := r.home.root.OpenFile(r.name+suffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, filesMode)
	if err != nil {
		return fmt.Errorf("creating a reservation: %w", err)
	}
	r.file = file
	err = flock(file)
	if err == nil {
		err = r.record(bytes)
	}
	if err != nil {
		return errors.Join(err, r.home.root.Remove(r.name+suffix), file.Close())
	}
	return nil
}

// check clears what dead runs left, and compares what is wanted with what the living ones leave.
func (r *Reservation) check(bytes int64) error {
	used, err := r.home.sweep(r.name)
	if err != nil {
		return err
	}
	if limit := r.options.Budget(); bytes > limit-used {
		return &BudgetError{Wanted: bytes, Used: used, Limit: limit}
	}
	return nil
}

func (r *Reservation) record(bytes int64) error {
	text := fmt.Sprintf("%-*d\n", longestSize-1, bytes)
	if _, err := r.file.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("writing a reservation: %w", err)
	}
	return nil
}

// Resize sets another number of bytes aside, in place of the present one. If the budget does not leave them, the present
// reservation stays.
func (r *Reservation) Resize(ctx context.Context, bytes int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fmt.Errorf("changing a reservation: %w", os.ErrClosed)
	}
	err := r.home.locked(ctx, func() error {
		if err := r.check(bytes); err != nil {
			return err
		}
		return r.record(bytes)
	})
	if err != nil {
		return fmt.Errorf("changing a reservation: %w", err)
	}
	return nil
}

// Directory makes the run's private folder, in memory unless the options allow a disk, and returns its path. It belongs to
// the user and group given, as far as this process may give it away; nobody else can enter it.
func (r *Reservation) Directory(uid, gid int) (string, error) {
	path := filepath.Join(r.home.path, r.name)
	kind, memory, err := r.home.kind()
	if err != nil {
		return "", err
	}
	if !memory && !r.options.AllowDisk {
		return "", &DiskError{Path: r.home.path, FileSystem: kind}
	}
	if err := r.home.root.Mkdir(r.name, ownMode); err != nil {
		return "", fmt.Errorf("making a private folder: %w", err)
	}
	if os.Geteuid() == 0 {
		if err := r.home.root.Lchown(r.name, uid, gid); err != nil {
			return "", fmt.Errorf("giving the private folder %s away: %w", path, err)
		}
	}
	return path, nil
}

// Close removes the private folder and gives the bytes back. Calling it again does nothing.
func (r *Reservation) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	// The folder goes first: as long as the file is locked, nobody takes the run for dead.
	err := errors.Join(r.home.root.RemoveAll(r.name), r.home.root.Remove(r.name+suffix), r.file.Close(), r.home.close())
	if err != nil {
		return fmt.Errorf("giving memory for secrets back: %w", err)
	}
	return nil
}

// sweep removes what dead runs left and returns what living ones other than the one named hold.
func (h *home) sweep(except string) (int64, error) {
	names, err := h.entries()
	if err != nil {
		return 0, err
	}
	var used int64
	living := map[string]bool{except: true, lockName: true}
	for _, name := range names {
		run, isRun := strings.CutSuffix(name, suffix)
		if !isRun || run == except {
			continue
		}
		bytes, alive, err := h.inspect(name)
		if err != nil {
			return 0, err
		}
		if alive {
			used += bytes
			living[run] = true
		}
	}
	for _, name := range names {
		if living[strings.TrimSuffix(name, suffix)] {
			continue
		}
		if err := h.root.RemoveAll(name); err != nil {
			return 0, fmt.Errorf("clearing what a dead run left: %w", err)
		}
	}
	return used, nil
}

// inspect says whether the run of a reservation lives, and what it holds.
func (h *home) inspect(name string) (int64, bool, error) {
	info, err := h.root.Lstat(name)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return 0, false, nil // it is just gone, or no run made it
	}
	if err != nil {
		return 0, false, fmt.Errorf("looking at a reservation: %w", err)
	}
	file, err := h.root.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("opening a reservation: %w", err)
	}
	defer func() { _ = file.Close() }()
	err = flock(file)
	if err == nil {
		return 0, false, nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false, err
	}
	bytes, err := h.held(file)
	return bytes, err == nil, err
}

// held reads what a reservation holds.
func (h *home) held(file *os.File) (int64, error) {
	text, err := io.ReadAll(io.LimitReader(file, longestSize))
	if err != nil {
		return 0, fmt.Errorf("reading a reservation: %w", err)
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || bytes < 0 {
		return 0, &UnsafeError{Path: file.Name(), Problem: "it holds no number of bytes"}
	}
	return bytes, nil
}

// flock takes the lock on a file, or returns EWOULDBLOCK.
func flock(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return fmt.Errorf("locking %s: %w", file.Name(), err)
	}
	var locking error
	if err := raw.Control(func(fd uintptr) { locking = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		return fmt.Errorf("locking %s: %w", file.Name(), err)
	}
	if locking != nil {
		return fmt.Errorf("locking %s: %w", file.Name(), locking)
	}
	return nil
}
