package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// source is the Go source of the repository's own packages, tests and generated files left out.
type source struct {
	packages map[string]*packageSource
	// uses counts each identifier.
	uses map[string]int
}

type packageSource struct {
	files     []*ast.File
	constants map[string]string
}

// sources parses the packages below some folders, named from the root of the repository.
func sources(t *testing.T, folders ...string) *source {
	t.Helper()
	s := &source{packages: map[string]*packageSource{}, uses: map[string]int{}}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			name := entry.Name()
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") ||
				strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_") {
				return err
			}
			return s.add(path)
		})
		if err != nil {
			t.Fatalf("reading the source below %s: %v", folder, err)
		}
	}
	for _, p := range s.packages {
		p.evaluate()
	}
	return s
}

func (s *source) add(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	at, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	if s.packages[at] == nil {
		s.packages[at] = &packageSource{constants: map[string]string{}}
	}
	s.packages[at].files = append(s.packages[at].files, file)
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			s.uses[id.Name]++
		}
		return true
	})
	return nil
}

// evaluate finds the package's constants that are text. One may be made of others, in any order.
func (p *packageSource) evaluate() {
	for before := -1; before != len(p.constants); {
		before = len(p.constants)
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok || len(spec.Values) != len(spec.Names) {
					return true
				}
				for i, name := range spec.Names {
					if text, ok := p.text(spec.Values[i]); ok {
						p.constants[name.Name] = text
					}
				}
				return true
			})
		}
	}
}

// text is the value of an expression made of literals and the package's own constants.
func (p *packageSource) text(expression ast.Expr) (string, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		text, ok := p.constants[e.Name]
		return text, ok
	case *ast.BinaryExpr:
		left, ok := p.text(e.X)
		right, also := p.text(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}

// texts gives every text in a package: literals, and what constants are made of.
func (p *packageSource) texts() map[string]bool {
	found := map[string]bool{}
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if _, isImport := n.(*ast.ImportSpec); isImport {
				return false
			}
			if e, ok := n.(ast.Expr); ok {
				if text, ok := p.text(e); ok {
					found[text] = true
				}
			}
			return true
		})
	}
	return found
}

// events gives the reasons that are written out where an event is made.
func (p *packageSource) events() []string {
	const reasonAt = 3 // of Eventf(regarding, related, type, reason, action, note, ...)
	var found []string
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) <= reasonAt {
				return true
			}
			if called, ok := call.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Eventf" {
				if reason, ok := p.text(call.Args[reasonAt]); ok {
					found = append(found, reason)
				}
			}
			return true
		})
	}
	return found
}
