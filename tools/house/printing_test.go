package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// terminalPackages print text that people read in a terminal.
var terminalPackages = []string{"cmd/pare", "cmd/internal/picture"}

// rawWrites counts the places per file that write bytes without cmd/internal/screen: results of
// commands, or notes that screen already made safe.
var rawWrites = map[string]int{
	"cmd/pare/change.go":        1, // receipts
	"cmd/pare/doctor.go":        1, // the table, made by screen
	"cmd/pare/doctor_repair.go": 4, // notes, made by screen
	"cmd/pare/doctor_watch.go":  2, // JSON, and notes made by screen
	"cmd/pare/dataset.go":       1, // JSON
	"cmd/pare/linemode.go":      2, // a result, and notes made by screen
	"cmd/pare/lines.go":         1, // answers
	"cmd/pare/log.go":           2, // lines of the log, in which its handler quotes what is not printable
	"cmd/pare/usage.go":         1, // the output of a command
	"cmd/pare/progress.go":      2, // a result, and notes made by screen
	"cmd/pare/replay.go":        1, // tables, made safe by replay
	"cmd/pare/shorten.go":       1, // what is left of a text, or JSON
	"cmd/pare/split.go":         1, // the parts
	"cmd/pare/store_export.go":  3, // entries as they are stored
	"cmd/pare/store_fsck.go":    1, // JSON
	"cmd/pare/store_list.go":    1, // JSON
	"cmd/pare/store_search.go":  1, // JSON
	"cmd/pare/store_show.go":    2, // JSON, and entries as they are stored
	"cmd/pare/view.go":          1, // a note, made by screen
}

// TestCommandsPrintThroughScreen checks that commands print with cmd/internal/screen, which
// removes control characters of text from conversations, and JSON with internal/plain.
func TestCommandsPrintThroughScreen(t *testing.T) {
	seen := 0
	for _, dir := range terminalPackages {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		parsed := parseSources(t, fset, files)
		constants := constantNames(parsed)
		for path, f := range parsed {
			seen++
			name := dir + "/" + filepath.Base(path)
			written := 0
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				reason, isRaw := unsafePrint(call, constants)
				if isRaw {
					written++
					if written <= rawWrites[name] {
						reason = ""
					}
				}
				if reason != "" {
					t.Errorf("%s:%d: %s", name, fset.Position(call.Pos()).Line, reason)
				}
				return true
			})
			if written < rawWrites[name] {
				t.Errorf("%s writes bytes %d times, the table has %d: lower it", name, written, rawWrites[name])
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d files were found", seen)
	}
}

// unsafePrint returns the reason why a call may print text of a conversation as it is, or "".
// isRaw reports whether the call writes bytes or strings that are not constants.
func unsafePrint(call *ast.CallExpr, constants map[string]bool) (reason string, isRaw bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	from := ""
	if x, ok := sel.X.(*ast.Ident); ok {
		from = x.Name
	}
	name := sel.Sel.Name
	switch {
	case from == "fmt" && (strings.HasPrefix(name, "Fprint") || strings.HasPrefix(name, "Print") || strings.HasPrefix(name, "Append")):
		return "fmt." + name + " prints control characters: use screen." + name, false
	case from == "io" && name == "WriteString":
		return "io.WriteString writes control characters: use screen.Fprint", false
	case from == "json" && (name == "Marshal" || name == "MarshalIndent" || name == "NewEncoder"):
		return "json." + name + " writes control characters: use encode, or plain.Marshal", false
	case from == "screen" && name == "Text" && !isConstant(call.Args[0], constants):
		return "screen.Text marks a variable text as safe: use screen.Line or screen.Printf", false
	case from == "screen" && (name == "Printf" && !isConstant(call.Args[0], constants) || (name == "Fprintf" || name == "Appendf") && !isConstant(call.Args[1], constants)):
		return "the format is not a constant: it may be text of a conversation", false
	case (name == "WriteString" || name == "Write") && len(call.Args) == 1 && !isConstant(call.Args[0], constants):
		return "writes bytes without screen: use screen, or add it to rawWrites if the bytes are a result", true
	}
	return "", false
}

// isConstant reports whether an expression is a literal, a named constant, or a sum of those.
func isConstant(e ast.Expr, constants map[string]bool) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.BinaryExpr:
		return isConstant(e.X, constants) && isConstant(e.Y, constants)
	case *ast.Ident:
		return constants[e.Name]
	}
	return false
}

// parseSources parses files without tests, by path.
func parseSources(t *testing.T, fset *token.FileSet, paths []string) map[string]*ast.File {
	t.Helper()
	parsed := make(map[string]*ast.File)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed[path] = f
	}
	return parsed
}

// constantNames returns the names of all constants that files declare at package level.
func constantNames(files map[string]*ast.File) map[string]bool {
	names := make(map[string]bool)
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					names[name.Name] = true
				}
			}
		}
	}
	return names
}
