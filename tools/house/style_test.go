package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ratchetFile holds the highest count that is allowed for each rule of style. Counts may only
// fall; -update lowers them.
const ratchetFile = "testdata/style.txt"

const (
	mostFields     = 14
	mostParameters = 5
	mostResults    = 3
	mostAssigned   = 3
	longestBody    = 60 // lines of a function
	widestComment  = 100
)

// styleRules are the rules that are counted, in the order of the ratchet file.
var styleRules = []string{
	"doc comments that do not begin with the declared name",
	"comments longer than their function",
	"comment lines over 100 columns",
	"structs with more than 14 fields",
	"functions with more than 5 parameters",
	"functions with more than 3 results",
	"functions over 60 lines",
	"functions that only forward",
	"assignments of more than 3 values",
	"test names that are riddles",
}

// styleCount collects violations by rule.
type styleCount struct {
	files      *token.FileSet
	violations map[string][]string
}

func (c *styleCount) add(rule string, pos token.Pos, what string) {
	at := c.files.Position(pos)
	c.violations[rule] = append(c.violations[rule], fmt.Sprintf("%s:%d: %s", at.Filename, at.Line, what))
}

// TestStyleOnlyImproves counts violations of the style guide in the whole repository and fails
// if there are more than before. With -v it lists all of them.
func TestStyleOnlyImproves(t *testing.T) {
	c := styleCount{token.NewFileSet(), make(map[string][]string)}
	parsed := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(c.files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed++
		c.countFile(f, strings.HasSuffix(path, "_test.go"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if parsed < 500 {
		t.Errorf("only %d files were found", parsed)
	}
	c.compare(t)
}

// compare compares the counts with the ratchet file, and lowers it with -update.
func (c *styleCount) compare(t *testing.T) {
	t.Helper()
	allowed := readRatchets(t)
	var out strings.Builder
	for _, rule := range styleRules {
		found := c.violations[rule]
		t.Logf("%s: %d\n\t%s", rule, len(found), strings.Join(found, "\n\t"))
		limit, known := allowed[rule]
		if known && len(found) > limit && !*update {
			t.Errorf("%d %s, at most %d are allowed: go test ./tools/house -run TestStyleOnlyImproves -v lists them", len(found), rule, limit)
		}
		if !known || len(found) < limit {
			limit = len(found)
		}
		fmt.Fprintf(&out, "%d %s\n", limit, rule)
	}
	if *update {
		if err := os.WriteFile(ratchetFile, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func readRatchets(t *testing.T) map[string]int {
	t.Helper()
	raw, err := os.ReadFile(ratchetFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	allowed := make(map[string]int)
	for line := range strings.Lines(string(raw)) {
		number, rule, _ := strings.Cut(strings.TrimSpace(line), " ")
		limit, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%s: %v", ratchetFile, err)
		}
		allowed[rule] = limit
	}
	return allowed
}

func (c *styleCount) countFile(f *ast.File, isTest bool) {
	c.countCommentWidths(f)
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok && !isTest && s.Fields.NumFields() > mostFields {
			c.add("structs with more than 14 fields", s.Pos(), fmt.Sprintf("%d fields", s.Fields.NumFields()))
		}
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) > mostAssigned {
			c.add("assignments of more than 3 values", a.Pos(), fmt.Sprintf("%d values", len(a.Lhs)))
		}
		return true
	})
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			c.countFunction(d, isTest)
		case *ast.GenDecl:
			c.countDeclaration(d)
		}
	}
}

func (c *styleCount) countCommentWidths(f *ast.File) {
	for _, group := range f.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//go:") {
				continue
			}
			column := c.files.Position(comment.Pos()).Column
			for line := range strings.Lines(comment.Text) {
				if column+len([]rune(strings.TrimRight(line, "\n"))) > widestComment+1 {
					c.add("comment lines over 100 columns", comment.Pos(), strings.TrimSpace(line))
				}
				column = 1
			}
		}
	}
}

// countDeclaration checks the comments of types, and of variables and constants that are
// declared alone.
func (c *styleCount) countDeclaration(d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil && len(d.Specs) == 1 {
				doc = d.Doc
			}
			c.countDoc(doc, s.Name.Name)
		case *ast.ValueSpec:
			if len(d.Specs) == 1 && len(s.Names) == 1 {
				c.countDoc(d.Doc, s.Names[0].Name)
			}
		}
	}
}

// countDoc checks that a comment begins with the declared name, after an article if any.
func (c *styleCount) countDoc(doc *ast.CommentGroup, name string) {
	words := strings.Fields(doc.Text())
	if len(words) == 0 {
		return
	}
	if slices.Contains([]string{"A", "An", "The"}, words[0]) && len(words) > 1 {
		words = words[1:]
	}
	first := strings.TrimRight(words[0], ".,:;")
	if first != name && first != "Deprecated" {
		c.add("doc comments that do not begin with the declared name", doc.Pos(), name)
	}
}

func (c *styleCount) countFunction(d *ast.FuncDecl, isTest bool) {
	name := d.Name.Name
	c.countDoc(d.Doc, name)
	lines := c.lines(d.Pos(), d.End())
	if d.Doc != nil && d.Body != nil && lines > 3 && c.lines(d.Doc.Pos(), d.Doc.End()) > lines {
		c.add("comments longer than their function", d.Pos(), name)
	}
	if isTest {
		if strings.HasPrefix(name, "TestDefect") {
			c.add("test names that are riddles", d.Pos(), name)
		}
		return
	}
	if lines > longestBody {
		c.add("functions over 60 lines", d.Pos(), name)
	}
	if d.Type.Params.NumFields() > mostParameters {
		c.add("functions with more than 5 parameters", d.Pos(), name)
	}
	if d.Type.Results.NumFields() > mostResults {
		c.add("functions with more than 3 results", d.Pos(), name)
	}
	if onlyForwards(d) {
		c.add("functions that only forward", d.Pos(), name)
	}
}

func (c *styleCount) lines(from, to token.Pos) int {
	return c.files.Position(to).Line - c.files.Position(from).Line + 1
}

// onlyForwards reports whether the whole body is one call with the function's parameters in
// their order.
func onlyForwards(d *ast.FuncDecl) bool {
	if d.Body == nil || len(d.Body.List) != 1 || d.Type.Params.NumFields() == 0 {
		return false
	}
	var call ast.Expr
	switch s := d.Body.List[0].(type) {
	case *ast.ExprStmt:
		call = s.X
	case *ast.ReturnStmt:
		if len(s.Results) == 1 {
			call = s.Results[0]
		}
	}
	c, ok := call.(*ast.CallExpr)
	if !ok {
		return false
	}
	var parameters []string
	for _, field := range d.Type.Params.List {
		for _, name := range field.Names {
			parameters = append(parameters, name.Name)
		}
	}
	var arguments []string
	for _, a := range c.Args {
		id, ok := a.(*ast.Ident)
		if !ok {
			return false
		}
		arguments = append(arguments, id.Name)
	}
	return slices.Equal(parameters, arguments)
}

// TestForwardersAreFound checks the parser on functions that do and do not forward.
func TestForwardersAreFound(t *testing.T) {
	src := `package p
func forwards(a, b int) int { return other(a, b) }
func (t T) method(a int) { t.inner.method(a) }
func swaps(a, b int) int { return other(b, a) }
func adds(a int) int { return other(a, 1) }
func none() { other() }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && onlyForwards(fn) {
			found = append(found, fn.Name.Name)
		}
	}
	if !slices.Equal(found, []string{"forwards", "method"}) {
		t.Errorf("found %q", found)
	}
}

// TestPackagesStateConcurrency checks that the comment of each public package states whether
// its types may be used by several goroutines.
func TestPackagesStateConcurrency(t *testing.T) {
	for _, p := range list(t) {
		if _, public := exported[p.name()]; !public {
			continue
		}
		stated, hasTypes := false, false
		for _, file := range p.GoFiles {
			raw, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			stated = stated || bytes.Contains(raw, []byte("goroutine"))
			hasTypes = hasTypes || bytes.Contains(raw, []byte(" struct {"))
		}
		if hasTypes && !stated {
			t.Errorf("%s: state in doc.go whether several goroutines may use its types", p.ImportPath)
		}
	}
}
