package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const securityPage = "docs/explanation/security-model.md"

// testName is how the page names a test: the folder of its package, and the function.
var testName = regexp.MustCompile("`([a-z0-9/]+)\\.(Test\\w+)`")

// TestEveryAttackNamesItsTests sees that each row of the table of attacks is shown by tests, and that these exist.
func TestEveryAttackNamesItsTests(t *testing.T) {
	t.Parallel()
	checkRows(t, securityPage, "| attack | what stops it | shown by |\n|---|---|---|\n", 20)
}

// TestEveryRequirementNamesItsTests sees the same of each requirement and use case of the design of Secrets.
func TestEveryRequirementNamesItsTests(t *testing.T) {
	t.Parallel()
	checkRows(t, "docs/reference/secrets-design.md", "| the design asks | done by | shown by |\n|---|---|---|\n", 40)
}

// checkRows sees that each row of the tables with this head has no empty cell and names tests that exist in its last one.
func checkRows(t *testing.T, name, head string, least int) {
	t.Helper()
	tables := strings.Split(page(t, name).prose, head)[1:]
	rows := 0
	for _, table := range tables {
		table, _, _ = strings.Cut(table, "\n\n")
		for row := range strings.Lines(table) {
			rows++
			checkRow(t, row)
		}
	}
	if rows < least {
		t.Errorf("the tables of %s have %d rows: the test looks in the wrong place", name, rows)
	}
}

func checkRow(t *testing.T, row string) {
	t.Helper()
	cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
	if len(cells) != 3 || slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) == "" }) {
		t.Errorf("a row has not three cells with something in each: %s", row)
		return
	}
	tests := testName.FindAllStringSubmatch(cells[2], -1)
	if len(tests) == 0 {
		t.Errorf("no test shows: %s", cells[0])
	}
	for _, test := range tests {
		if !hasTest(t, test[1], test[2]) {
			t.Errorf("%s has no test %s, which is to show: %s", test[1], test[2], cells[0])
		}
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
