package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const securityPage = "docs/explanation/security-model.md"

// testName is how the page names a test: the folder of its package, and the function.
var testName = regexp.MustCompile("`([a-z/]+)\\.(Test\\w+)`")

// TestEveryAttackNamesItsTests sees that each row of the table of attacks is shown by tests, and that these exist.
func TestEveryAttackNamesItsTests(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(page(t, securityPage).prose, "| attack | what stops it | shown by |\n|---|---|---|\n")
	if !found {
		t.Fatalf("%s has no table of attacks", securityPage)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := 0
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		if len(cells) != 3 {
			t.Errorf("a row has %d cells: %s", len(cells), row)
			continue
		}
		rows++
		tests := testName.FindAllStringSubmatch(cells[2], -1)
		if len(tests) == 0 {
			t.Errorf("no test shows what stops: %s", cells[0])
		}
		for _, test := range tests {
			if !hasTest(t, test[1], test[2]) {
				t.Errorf("%s has no test %s, which is to show what stops: %s", test[1], test[2], cells[0])
			}
		}
	}
	if rows < 20 {
		t.Errorf("the table has %d rows: the test looks in the wrong place", rows)
	}
}

// hasTest says whether a test stands in a folder.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
