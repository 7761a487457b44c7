package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// repairFiles are the files of internal/dialect that change requests. The others read and check them.
var repairFiles = []string{"repair*.go", "pen.go", "*_write.go", "write.go", "draft*.go", "list.go", "edits.go", "editset.go", "rewrite.go", "unsign.go", "trail.go"}

// sharedFiles may use both sides.
var sharedFiles = []string{"operations.go"}

// TestCheckingDoesNotRepair checks that files of internal/dialect that read and check requests use no
// declaration of a file that changes them.
func TestCheckingDoesNotRepair(t *testing.T) {
	files, err := filepath.Glob("../../internal/dialect/*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	reads, declared, methods := make(map[string]*ast.File), make(map[string]string), make(map[string]string)
	for _, path := range files {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") || matches(sharedFiles, name) {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, 0) // with object resolution, which resolves names of the same file
		if err != nil {
			t.Fatal(err)
		}
		if !matches(repairFiles, name) {
			reads[name] = f
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[d.Name.Name] = name
				} else {
					declared[d.Name.Name] = name
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						declared[s.Name.Name] = name
					case *ast.ValueSpec:
						for _, n := range s.Names {
							declared[n.Name] = name
						}
					}
				}
			}
		}
	}
	if len(reads) < 50 || len(declared) < 100 || len(methods) < 200 {
		t.Fatalf("found %d files that read, and %d names and %d methods that repair: files are missing", len(reads), len(declared), len(methods))
	}
	for _, f := range reads { // a method of the same name may exist on the reading side
		for _, name := range fieldsAndMethods(f) {
			delete(methods, name)
		}
	}
	for name, f := range reads {
		for _, id := range f.Unresolved {
			if in := declared[id.Name]; in != "" {
				t.Errorf("%s:%d checks requests and uses %s of %s, which changes them", name, fset.Position(id.Pos()).Line, id.Name, in)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && methods[sel.Sel.Name] != "" {
				t.Errorf("%s:%d checks requests and calls %s of %s, which changes them", name, fset.Position(sel.Pos()).Line, sel.Sel.Name, methods[sel.Sel.Name])
			}
			return true
		})
	}
}

// matches reports whether a name matches one of the patterns.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := filepath.Match(p, name); ok {
			return true
		}
	}
	return false
}

// fieldsAndMethods returns the fields and methods that a file declares, and the names that it
// uses of other packages.
func fieldsAndMethods(f *ast.File) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil {
				names = append(names, n.Name.Name)
			}
		case *ast.Field:
			for _, id := range n.Names {
				names = append(names, id.Name)
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Obj == nil {
				names = append(names, n.Sel.Name)
			}
		}
		return true
	})
	return names
}
