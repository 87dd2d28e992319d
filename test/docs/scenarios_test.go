package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// scenarios is where the scenarios are that documents show, seen from the root.
const scenarios = "test/extensions/testdata"

// sections gives the sections of all scenarios, by file and name.
func sections(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, scenarios, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no scenarios: %v", err)
	}
	all := map[string]string{}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			all[filepath.Base(path)+" "+file.Name] = string(file.Data)
		}
	}
	return all
}

// TestScenariosAreShownAsTheyArePlayed: what documents show of a scenario is what test/extensions plays.
func TestScenariosAreShownAsTheyArePlayed(t *testing.T) {
	played := sections(t)
	shown := map[string]bool{}
	for _, d := range documents(t) {
		text := d.text
		for _, b := range d.blocks {
			if b.scenario == "" {
				continue
			}
			file, _, _ := strings.Cut(b.scenario, " ")
			shown[file] = true
			text = compareSection(t, d, b, text, played)
		}
		if text == d.text {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, d.path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name := range played {
		file, _, _ := strings.Cut(name, " ")
		if !shown[file] {
			t.Errorf("no document shows anything of %s/%s", scenarios, file)
			shown[file] = true
		}
	}
}

// compareSection compares a block with what is played, and gives the document's text as it is to be.
func compareSection(t *testing.T, d document, b block, text string, played map[string]string) string {
	t.Helper()
	want, ok := played[b.scenario]
	switch {
	case !ok:
		t.Errorf("%s:%d: there is no section %s", d.path, b.line, b.scenario)
	case *update:
		return strings.Replace(text, markedBlock(b, b.text), markedBlock(b, want), 1)
	default:
		if diff := cmp.Diff(want, b.text); diff != "" {
			t.Errorf("%s:%d is not what is played; run: go test ./test/docs -run TestScenarios -update (-played +shown):\n%s", d.path, b.line, diff)
		}
	}
	return text
}

// markedBlock is how a block stands in its document, with the mark above it.
func markedBlock(b block, text string) string {
	info := strings.Join(append([]string{b.language}, b.words...), " ")
	return fmt.Sprintf("<!-- scenario: %s -->\n```%s\n%s```\n", b.scenario, info, text)
}
