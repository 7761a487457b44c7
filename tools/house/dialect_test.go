package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// dialectComparisons counts the comparisons with a dialect that files may have. Only detection
// needs them.
var dialectComparisons = map[string]int{"internal/dialect/detect_body.go": 1, "internal/dialect/detect_element.go": 1}

// TestSharedCodeComparesNoDialects checks that shared code asks the grammar of a dialect and
// does not compare dialects. The files of one dialect are exempt.
func TestSharedCodeComparesNoDialects(t *testing.T) {
	names := dialectNames(t)
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel("../..", path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || isDialectFile(name):
			return nil
		}
		files++
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found := findComparisons(f, filepath.Dir(name) == "internal/dialect", names)
		if len(found) <= dialectComparisons[name] {
			return nil
		}
		for _, pos := range found {
			t.Errorf("%s:%d compares dialects: ask the grammar, or a method of wire.Dialect", name, fset.Position(pos).Line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("only %d files were found", files)
	}
}

// isDialectFile reports whether a file belongs to one dialect.
func isDialectFile(name string) bool {
	base := filepath.Base(name)
	for _, part := range []string{"_parse.go", "_check.go", "_write.go", "_rules.go"} {
		if filepath.Dir(name) == "internal/dialect" && strings.HasSuffix(base, part) {
			return true
		}
	}
	return filepath.Dir(name) == "paretest" && strings.HasPrefix(base, "render_")
}

// dialectNames returns the constants of wire.Dialect, without Auto.
func dialectNames(t *testing.T) map[string]bool {
	f, err := parser.ParseFile(token.NewFileSet(), "../../internal/dialect/dialect.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			if n := s.(*ast.ValueSpec).Names[0].Name; n != "Auto" && ast.IsExported(n) {
				names[n] = true
			}
		}
	}
	if len(names) < 5 {
		t.Fatalf("only %d dialects", len(names))
	}
	return names
}

// findComparisons lists the places that compare a value with a dialect.
func findComparisons(f *ast.File, inWire bool, names map[string]bool) (found []token.Pos) {
	is := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return inWire && names[e.Name]
		case *ast.SelectorExpr:
			x, ok := e.X.(*ast.Ident)
			return ok && x.Name == "wire" && names[e.Sel.Name]
		}
		return false
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (is(n.X) || is(n.Y)) {
				found = append(found, n.Pos())
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				if is(e) {
					found = append(found, e.Pos())
				}
			}
		}
		return true
	})
	return found
}
