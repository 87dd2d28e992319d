package storage

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		uid     int
		runtime string
		want    []string
	}{
		{"a session", 1000, "/run/user/1000", []string{"/run/user/1000", "/run/user/1000", "/dev/shm", os.TempDir()}},
		{"no session", 1000, "", []string{"/run/user/1000", "/dev/shm", os.TempDir()}},
		{"a relative path is no place", 1000, "run", []string{"/run/user/1000", "/dev/shm", os.TempDir()}},
		{"root's must be passable", 0, "/run/user/0", []string{"/dev/shm", "/run/user/0", "/run/user/0", "/dev/shm", os.TempDir()}},
	} {
		got := places(test.uid, func(string) string { return test.runtime })
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.reason, diff)
		}
	}
}

func TestFirstInMemory(t *testing.T) {
	t.Parallel()
	if kind, memory, err := kindOf("/dev/shm"); err != nil || !memory {
		t.Skipf("SKIPPED: /dev/shm is not in memory: %s, %v", kind, err)
	}
	for _, test := range []struct {
		reason string
		listed []string
		want   string
	}{
		{"what is not there is left out", []string{"/no/such/place", "/dev/shm", "/tmp"}, "/dev/shm"},
		{"what is no place in memory is left out", []string{"/proc", "/dev/shm", "/tmp"}, "/dev/shm"},
		{"the last one, if there is none in memory", []string{"/no/such/place", "/proc"}, "/proc"},
	} {
		if got := firstInMemory(test.listed); got != test.want {
			t.Errorf("%s: got %s, want %s", test.reason, got, test.want)
		}
	}
}
