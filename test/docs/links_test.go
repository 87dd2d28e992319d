package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	target = regexp.MustCompile("`make ([a-z0-9-]+)[^`]*`|(?m)^    make ([a-z0-9-]+)")
)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := documents(t)
	known := map[string]document{}
	for _, d := range all {
		known[d.path] = d
	}
	for _, d := range all {
		for _, match := range link.FindAllStringSubmatch(d.prose, -1) {
			to, fragment, _ := strings.Cut(match[1], "#")
			if strings.HasPrefix(to, "https://") {
				continue
			}
			at := d.path
			if to != "" {
				at = path.Join(path.Dir(d.path), to)
			}
			if _, err := os.Stat(filepath.Join(root, at)); err != nil {
				t.Errorf("%s links to %s, which is not there", d.path, match[1])
				continue
			}
			if fragment != "" && !known[at].anchors[fragment] {
				t.Errorf("%s links to %s, which has no such heading", d.path, match[1])
			}
		}
	}
}

func TestEveryDocumentIsLinked(t *testing.T) {
	t.Parallel()
	linked := map[string]bool{"README.md": true}
	all := documents(t)
	for _, d := range all {
		for _, match := range link.FindAllStringSubmatch(d.prose, -1) {
			to, _, _ := strings.Cut(match[1], "#")
			linked[path.Join(path.Dir(d.path), to)] = true
		}
	}
	for _, d := range all {
		if !linked[d.path] {
			t.Errorf("no document links to %s", d.path)
		}
	}
}

func TestMakeTargetsExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents(t) {
		for _, match := range target.FindAllStringSubmatch(d.text, -1) {
			name := match[1] + match[2]
			if !strings.Contains("\n"+string(makefile), "\n"+name+":") {
				t.Errorf("%s tells to run make %s, which the Makefile does not have", d.path, name)
			}
		}
	}
}
