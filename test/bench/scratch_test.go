package main

import (
	"os"
	"testing"
)

func TestOwnerOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		folder string
		want   int
		ok     bool
	}{
		{"/tmp/bowline-bench-123-456", 123, true},
		{"/tmp/bowline-bench-x-456", 0, false},
		{"/tmp/bowline-bench--456", 0, false},
	} {
		if got, ok := ownerOf(test.folder); got != test.want || ok != test.ok {
			t.Errorf("%s: got %d, %v; want %d, %v", test.folder, got, ok, test.want, test.ok)
		}
	}
}

func TestExists(t *testing.T) {
	t.Parallel()
	if !exists(os.Getpid()) {
		t.Error("this very process was not found")
	}
	if exists(1 << 30) {
		t.Error("a process beyond every pid was found")
	}
}
