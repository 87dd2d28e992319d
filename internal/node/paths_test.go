package node_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/internal/node"
)

func TestCheckFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 255)
	tests := []struct {
		reason string
		paths  []string
		ok     bool
	}{
		{"plain and deep", []string{"a", "b/c", "b/d", ".hidden", "a..b", "b/..x", long}, true},
		{"empty", []string{""}, false},
		{"the volume itself", []string{"./"}, false},
		{"absolute", []string{"/a"}, false},
		{"upwards", []string{"a/.."}, false},
		{"upwards and down again", []string{"a/../b"}, false},
		{"reserved", []string{"..data"}, false},
		{"reserved, written otherwise", []string{"./..data"}, false},
		{"reserved, three dots", []string{"...a"}, false},
		{"a long name", []string{"a/" + long + "x"}, false},
		{"a long path", []string{strings.Repeat("x/", 2048) + "x"}, false},
		{"NUL", []string{"a\x00b"}, false},
		{"twice", []string{"a/b", "a//b"}, false},
		{"a file as a directory", []string{"a/b/c", "a"}, false},
	}
	for _, tc := range tests {
		var files []node.File
		for _, p := range tc.paths {
			files = append(files, node.File{Path: p})
		}
		if err := node.CheckFiles(files); (err == nil) != tc.ok || (err != nil && outcomeOf(err) != "path") {
			t.Errorf("%s: error %v, want none: %t", tc.reason, err, tc.ok)
		}
	}
}

func TestCheckedFilesStayInside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOf(rapid.RuneFrom([]rune("./a\x00"))).Draw(t, "path")
		if node.CheckFiles([]node.File{{Path: name}}) != nil {
			return
		}
		joined := path.Join("/volume", name)
		if !strings.HasPrefix(joined, "/volume/") || strings.HasPrefix(joined, "/volume/..") || strings.Contains(name, "\x00") {
			t.Errorf("%q leads to %q", name, joined)
		}
	})
}
