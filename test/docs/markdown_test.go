package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// document is a Markdown file, taken apart.
type document struct {
	// path from the root of the repository.
	path string
	text string
	// prose is the text without blocks.
	prose   string
	blocks  []block
	anchors map[string]bool
}

// block is one fenced block.
type block struct {
	line int
	// language and the words after it, such as "fragment" or "file=NAME".
	language string
	words    []string
	text     string
	// scenario is the file and the section that the block is, as in <!-- scenario: a.txtar want.yaml -->; empty for none.
	scenario string
}

// scenarioMark stands in the line above a block that is a section of a scenario.
var scenarioMark = regexp.MustCompile(`^<!-- scenario: ([a-z0-9-]+\.txtar [a-z0-9-]+\.(?:yaml|txt)) -->$`)

// file is the name that a block is to be saved under; "" for none.
func (b block) file() string {
	for _, word := range b.words {
		if name, ok := strings.CutPrefix(word, "file="); ok {
			return name
		}
	}
	return ""
}

// documents reads every document of the repository's top and of docs.
func documents(t *testing.T) []document {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".md" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatalf("looking for documents: %v", err)
	}
	all := make([]document, 0, len(paths))
	for _, path := range paths {
		all = append(all, read(t, path))
	}
	return all
}

// page reads one document, named from the root of the repository.
func page(t *testing.T, name string) document {
	t.Helper()
	return read(t, filepath.Join(root, name))
}

func read(t *testing.T, path string) document {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("reading a document: %v", err)
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(filepath.ToSlash(name), string(text))
}

// parse takes a document apart. Of Markdown it knows what the documents use: fenced blocks, headings and links.
func parse(path, text string) document {
	d := document{path: path, text: text, anchors: map[string]bool{}}
	var open *block
	var prose strings.Builder
	above := ""
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			words := strings.Fields(info)
			open = opened(words, above)
			open.line = i + 1
		case fence:
			d.blocks = append(d.blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		default:
			prose.WriteString(line + "\n")
			if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
				d.anchors[anchor(title)] = true
			}
		}
		above = line
	}
	d.prose = prose.String()
	return d
}

// opened begins a block; above is the line before it.
func opened(words []string, above string) *block {
	b := &block{}
	if mark := scenarioMark.FindStringSubmatch(above); mark != nil {
		b.scenario = mark[1]
	}
	if len(words) > 0 {
		b.language, b.words = words[0], words[1:]
	}
	return b
}

var notInAnchors = regexp.MustCompile(`[^a-z0-9 _-]`)

// anchor is what a heading is linked by.
func anchor(title string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

func TestParse(t *testing.T) {
	t.Parallel()
	d := parse("x.md", "# A `b` title\n\n```yaml file=a.yaml\nb: c\n```\n\n    # no heading\n<!-- scenario: a.txtar b.txt -->\n```text\nx\n```\n")
	if !d.anchors["a-b-title"] || len(d.anchors) != 1 {
		t.Errorf("anchors: %v", d.anchors)
	}
	if len(d.blocks) != 2 || d.blocks[0].scenario != "" || d.blocks[1].scenario != "a.txtar b.txt" || d.blocks[0].text != "b: c\n" || d.blocks[0].file() != "a.yaml" || d.blocks[0].line != 3 {
		t.Errorf("blocks: %+v", d.blocks)
	}
	if strings.Contains(d.prose, "b: c") {
		t.Error("the prose holds a block")
	}
}
