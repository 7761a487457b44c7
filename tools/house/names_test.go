package house

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the exported names into testdata/names.txt")

// exported bounds the exported names of each package that users import: constants, variables,
// functions, types, and methods of exported types. A number may fall and should not rise.
var exported = map[string]int{
	"":           87,
	"agentlog":   7,
	"archive":    25,
	"config":     4,
	"paretest":   5,
	"proxy":      32,
	"rules":      26,
	"store":      105,
	"summary":    7,
	"tokens":     41,
	"transcript": 68,
	"wire":       73,
}

// known lists the names that were exported when somebody last looked, one a line, as pkg.Name
// or pkg.Type.Method.
const known = "testdata/names.txt"

// TestExportedNames names every exported name that is new, and holds the number of each
// package. What nobody outside of its package needs is not exported; for what somebody does,
// write it into the list with -update and raise the number by hand.
func TestExportedNames(t *testing.T) {
	var all []string
	for _, p := range list(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		most, public := exported[name]
		if !public {
			if imported(name) {
				t.Errorf("users can import %s: give it a number in this table, or put it below internal", name)
			}
			continue
		}
		names := exportedNames(t, p)
		if len(names) > most {
			t.Errorf("%s exports %d names, and %d are allowed", p.ImportPath, len(names), most)
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	if *update {
		if err := os.WriteFile(known, []byte(strings.Join(all, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(known)
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Fields(string(raw))
	for _, name := range all {
		if _, ok := slices.BinarySearch(before, name); !ok {
			t.Errorf("%s is new; unexport it, or write it into %s with -update", name, known)
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d names found", len(all))
	}
	t.Logf("%d exported names", len(all))
}

// imported reports whether users can import a package: it is neither internal nor a program
// nor one of our tools.
func imported(name string) bool {
	return !strings.Contains("/"+name+"/", "/internal/") && !strings.HasPrefix(name, "cmd/") && !strings.HasPrefix(name, "tools/") && !strings.HasPrefix(name+"/", "bindings/")
}

// exportedNames lists the exported names of a package.
func exportedNames(t *testing.T, p pkg) (names []string) {
	t.Helper()
	own := ""
	add := func(parts ...string) {
		for _, part := range parts {
			if !ast.IsExported(part) {
				return
			}
		}
		names = append(names, own+"."+strings.Join(parts, "."))
	}
	for _, file := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		own = f.Name.Name
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name.Name)
				} else {
					add(receiver(d.Recv.List[0].Type), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name.Name)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							add(n.Name)
						}
					}
				}
			}
		}
	}
	return names
}

// receiver is the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
