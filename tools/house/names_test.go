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

var update = flag.Bool("update", false, "write testdata/names.txt and lower testdata/style.txt")

// exported is the highest number of exported names of each public package: constants,
// variables, functions, types, and methods of exported types. Numbers should only fall.
var exported = map[string]int{
	"":                56,
	"agentlog":        7,
	"archive":         25,
	"config":          4,
	"paretest":        5,
	"proxy":           32,
	"rules":           26,
	"store":           113,
	"store/storehttp": 7,
	"summary":         7,
	"tokens":          41,
	"transcript":      72,
	"wire":            73,
}

// knownNames is the file with all exported names, as pkg.Name or pkg.Type.Method.
const knownNames = "testdata/names.txt"

// TestExportedNames reports new exported names and checks the number of each package. If users
// need a new name, add it with -update and raise the number by hand.
func TestExportedNames(t *testing.T) {
	var all []string
	for _, p := range list(t) {
		name := p.name()
		limit, public := exported[name]
		if !public {
			if isImportable(name) {
				t.Errorf("users can import %s: give it a number in this table, or put it below internal", name)
			}
			continue
		}
		names := exportedNames(t, p)
		if len(names) > limit {
			t.Errorf("%s exports %d names, and %d are allowed", p.ImportPath, len(names), limit)
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	if *update {
		if err := os.WriteFile(knownNames, []byte(strings.Join(all, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(knownNames)
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Fields(string(raw))
	for _, name := range all {
		if _, ok := slices.BinarySearch(before, name); !ok {
			t.Errorf("%s is new; unexport it, or write it into %s with -update", name, knownNames)
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d names found", len(all))
	}
	t.Logf("%d exported names", len(all))
}

// isImportable reports whether users can import a package: it is neither internal nor a
// program nor one of our tools.
func isImportable(name string) bool {
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
					add(receiverName(d.Recv.List[0].Type), d.Name.Name)
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

// receiverName returns the name of the type of a receiver.
func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
