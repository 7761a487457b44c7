package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// forPeople are the packages whose words people read in a terminal.
var forPeople = []string{"cmd/pare", "cmd/internal/picture"}

// handedOn are the files that write bytes which were made elsewhere, and how often: results
// of commands, or notes that cmd/internal/screen has made.
var handedOn = map[string]int{
	"cmd/pare/call.go":          1, // answers
	"cmd/pare/change.go":        1, // receipts
	"cmd/pare/doctor.go":        1, // the table, made by screen
	"cmd/pare/doctor_repair.go": 4, // notes, made by screen
	"cmd/pare/doctor_watch.go":  2, // JSON, and notes made by screen
	"cmd/pare/field.go":         1, // JSON
	"cmd/pare/lines.go":         2, // a result, and notes made by screen
	"cmd/pare/log.go":           2, // lines of the log, in which its handler quotes what is not printable
	"cmd/pare/main.go":          1, // say
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

// TestDefectR2OneWriter: commands print through cmd/internal/screen, which makes text from
// elsewhere safe, and JSON through internal/plain.
func TestDefectR2OneWriter(t *testing.T) {
	seen := 0
	for _, dir := range forPeople {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			seen++
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			name := dir + "/" + filepath.Base(path)
			written := 0
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				why, bytes := prints(call)
				if bytes {
					written++
					if written <= handedOn[name] {
						why = ""
					}
				}
				if why != "" {
					t.Errorf("%s:%d: %s", name, fset.Position(call.Pos()).Line, why)
				}
				return true
			})
			if written < handedOn[name] {
				t.Errorf("%s hands on bytes %d times, the list says %d: lower it", name, written, handedOn[name])
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d files looked at", seen)
	}
}

// prints says why a call may let text from elsewhere out as it is; bytes, if it writes bytes
// or strings that are no constants.
func prints(call *ast.CallExpr) (why string, bytes bool) {
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
		return "fmt." + name + " prints text from elsewhere as it is: use screen." + name, false
	case from == "io" && name == "WriteString":
		return "io.WriteString writes text as it is: use screen.Fprint", false
	case from == "json" && (name == "Marshal" || name == "MarshalIndent" || name == "NewEncoder"):
		return "json." + name + " lets controls through: use encode, or plain.Marshal", false
	case from == "screen" && name == "Text" && !constant(call.Args[0]):
		return "screen.Text makes a text safe by saying so: use screen.Line or screen.Printf", false
	case from == "screen" && (name == "Printf" && !constant(call.Args[0]) || (name == "Fprintf" || name == "Appendf") && !constant(call.Args[1])):
		return "the format is no constant: it may be text from elsewhere", false
	case (name == "WriteString" || name == "Write") && len(call.Args) == 1 && !constant(call.Args[0]):
		return "writes bytes as they are: use screen, or list it in handedOn if they are a result", true
	}
	return "", false
}

// constant reports whether an expression is a literal, a name of a constant as far as its
// spelling says, or a sum of those.
func constant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.BinaryExpr:
		return constant(e.X) && constant(e.Y)
	case *ast.Ident:
		return e.Name == "readMore"
	}
	return false
}
