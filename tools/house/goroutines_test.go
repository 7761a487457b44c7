package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoroutines: every exported type of the packages that others import says whether many
// goroutines may use it. Types that are a number, a word or a function need not.
func TestGoroutines(t *testing.T) {
	for _, dir := range []string{".", "transcript", "wire", "tokens", "archive", "rules", "summary", "paretest", "internal/config", "internal/agentlog", "store", "proxy"} {
		seen := 0
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				seen += goroutines(t, name, d)
			}
		}
		if seen == 0 {
			t.Errorf("%s: no type was seen", dir)
		}
	}
}

// goroutines looks at the types of a declaration, and counts them.
func goroutines(t *testing.T, file string, d ast.Decl) (seen int) {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.TYPE {
		return 0
	}
	for _, s := range g.Specs {
		spec := s.(*ast.TypeSpec)
		_, isStruct := spec.Type.(*ast.StructType)
		_, isInterface := spec.Type.(*ast.InterfaceType)
		if !spec.Name.IsExported() || spec.Assign.IsValid() || !isStruct && !isInterface {
			continue
		}
		seen++
		if !strings.Contains(g.Doc.Text()+spec.Doc.Text(), "goroutine") {
			t.Errorf("%s: the comment of %s does not say whether many goroutines may use it", file, spec.Name)
		}
	}
	return seen
}
