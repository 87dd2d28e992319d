package bindings_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

// lay lays out 50 bindings of 10 entries, and lists their files.
func lay(b *testing.B) (*bindingstest.Root, []string) {
	b.Helper()
	root := bindingstest.New(b)
	var files []string
	for i := range 50 {
		name, e := fmt.Sprintf("binding-%02d", i), bindingstest.Entries{"type": "test"}
		for j := range 9 {
			e[fmt.Sprintf("entry-%d", j)] = fmt.Sprintf("value %d of %d", j, i)
		}
		root.Add(name, e)
		for entry := range e {
			files = append(files, filepath.Join(root.Path(), name, entry))
		}
	}
	return root, files
}

// BenchmarkFromEnv is to be within twice BenchmarkFloor.
func BenchmarkFromEnv(b *testing.B) {
	root, _ := lay(b)
	b.Setenv(bindings.RootVariable, root.Path())
	b.ReportAllocs()
	for b.Loop() {
		if set, err := bindings.FromEnv(); err != nil || set.Len() != 50 {
			b.Fatal(set.Len(), err)
		}
	}
}

// BenchmarkFloor reads the same files, knowing their names.
func BenchmarkFloor(b *testing.B) {
	_, files := lay(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, file := range files {
			if _, err := os.ReadFile(file); err != nil {
				b.Fatal(err)
			}
		}
	}
}
