package doctest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/internal/trial"
)

// imports are the packages that a snippet may name without importing them.
var imports = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "log": "log", "os": "os", "io": "io", "http": "net/http",
	"bytes": "bytes", "strings": "strings", "time": "time", "json": "encoding/json", "slices": "slices",
	"pare": "github.com/pare-llm/pare", "wire": "github.com/pare-llm/pare/wire", "rules": "github.com/pare-llm/pare/rules",
	"tokens": "github.com/pare-llm/pare/tokens", "summary": "github.com/pare-llm/pare/summary",
	"transcript": "github.com/pare-llm/pare/transcript", "config": "github.com/pare-llm/pare/config",
	"agentlog": "github.com/pare-llm/pare/agentlog",
	"store":    "github.com/pare-llm/pare/store", "proxy": "github.com/pare-llm/pare/proxy",
	"archive": "github.com/pare-llm/pare/archive", "paretest": "github.com/pare-llm/pare/paretest",
}

// predeclared are the variables that a snippet may use without declaring them.
var predeclared = []struct{ name, declare, needs string }{
	{"body", `body, _ := os.ReadFile("examples/prune-me.json")`, "os"},
	{"ctx", `ctx := context.Background()`, "context"},
	{"r", `r, _ := func() (*wire.Request, error) { raw, _ := os.ReadFile("examples/prune-me.json"); return pare.Parse(raw) }()`, "os wire pare"},
	{"model", `model := "claude-sonnet-4-5"`, ""},
	{"count", `count := tokens.For("claude-sonnet-4-5")`, "tokens"},
	{"used", `used := 4_000`, ""},
	{"name", `name := "session.jsonl"`, ""},
	{"raw", `raw, _ := os.ReadFile("examples/prune-me.json")`, "os"},
}

// TestGoBlocksCompile compiles every Go block, all of them as one program, and runs those whose
// output is on the page.
func TestGoBlocksCompile(t *testing.T) {
	trial.Long(t, "compiles every snippet of the documentation")
	var snippets, outputs []*block // outputs[i] is the output of snippets[i], or nil
	for _, p := range pages(t) {
		for _, b := range p.blocks(t) {
			switch {
			case b.inside != "":
				t.Run(fmt.Sprintf("%s:%d", p.name, b.first), b.compileInside)
			case b.lang == "go" && b.notRun == "":
				snippets, outputs = append(snippets, b), append(outputs, nil)
			case b.output && (len(snippets) == 0 || snippets[len(snippets)-1].page != p):
				t.Errorf("%s:%d: there is no program of which this is the output", p.name, b.first)
			case b.output:
				outputs[len(outputs)-1] = b
			}
		}
	}
	if len(snippets) < 5 {
		t.Fatalf("only %d snippets found", len(snippets))
	}
	program := compile(t, snippets)
	for i, b := range slices.Backward(outputs) {
		if b == nil {
			continue
		}
		dir, _ := snippets[i].prepareFolders(t)
		cmd := exec.Command(program, fmt.Sprint(i))
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s:%d: %v\n%s", b.page.name, snippets[i].first, err, out)
			continue
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		switch {
		case matches(b.body(), got):
		case *update:
			b.replace(got)
			b.page.write(t)
		default:
			t.Errorf("%s:%d: the program prints\n%s\nthe page says\n%s", b.page.name, b.first, strings.Join(got, "\n"), strings.Join(b.body(), "\n"))
		}
	}
}

// compile builds one program of all snippets, which runs the one of a number.
func compile(t *testing.T, snippets []*block) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	o := overlay{dir: t.TempDir()}
	var head, body strings.Builder
	for i, b := range snippets {
		text, err := b.asPackage(i)
		if err != nil {
			t.Fatalf("%s:%d: %v", b.page.name, b.first, err)
		}
		o.add(t, filepath.Join(here, "run", fmt.Sprintf("s%d", i), "s.go"), text)
		fmt.Fprintf(&head, "import s%d %q\n", i, fmt.Sprintf("github.com/pare-llm/pare/tools/doctest/run/s%d", i))
		fmt.Fprintf(&body, "\tcase %q:\n\t\ts%d.Main()\n", fmt.Sprint(i), i)
	}
	o.add(t, filepath.Join(here, "run", "main.go"),
		"package main\n\nimport \"os\"\n"+head.String()+"\nfunc main() {\n\tswitch os.Args[1] {\n"+body.String()+"\t}\n}\n")
	return o.build(t, "./tools/doctest/run")
}

// compileInside compiles an element of a list inside a package of this module.
func (b *block) compileInside(t *testing.T) {
	pkg, typ, _ := strings.Cut(b.inside, ".")
	top, err := filepath.Abs(filepath.Join(root, pkg))
	if err != nil {
		t.Fatal(err)
	}
	o := overlay{dir: t.TempDir()}
	o.add(t, filepath.Join(top, "doctest_snippet.go"),
		fmt.Sprintf("package %s\n\nvar _ = []%s{\n//line %s:%d\n%s\n}\n", filepath.Base(pkg), typ, b.page.name, b.first+1, strings.Join(b.body(), "\n")))
	o.build(t, "./"+pkg)
}

// An overlay lays files over the tree, so that nothing is written into it.
type overlay struct {
	dir     string
	Replace map[string]string
}

func (o *overlay) add(t *testing.T, name, text string) {
	t.Helper()
	real := filepath.Join(o.dir, fmt.Sprintf("%d.go", len(o.Replace)))
	if err := os.WriteFile(real, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if o.Replace == nil {
		o.Replace = map[string]string{}
	}
	o.Replace[name] = real
}

// build builds a package with the files laid over the tree, and returns the program.
func (o *overlay) build(t *testing.T, pkg string) string {
	t.Helper()
	list, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(o.dir, "overlay.json")
	if err := os.WriteFile(name, list, 0o666); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(o.dir, "program.exe")
	cmd := exec.Command("go", "build", "-overlay", name, "-o", program, pkg)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("it does not compile:\n%s", out)
	}
	return program
}

// asPackage makes a package with a function Main of a snippet: a whole program, declarations,
// or statements.
func (b *block) asPackage(n int) (string, error) {
	text := strings.Join(b.body(), "\n")
	line := fmt.Sprintf("//line %s:%d\n", b.page.name, b.first+1)
	if strings.HasPrefix(strings.TrimSpace(text), "package main") {
		return strings.Replace(line+strings.Replace(text, "package main", fmt.Sprintf("package s%d", n), 1), "func main()", "func Main()", 1), nil
	}
	head := fmt.Sprintf("package s%d\n", n)
	asFile := head + line + text + "\n\nfunc Main() {}\n"
	f, err := parser.ParseFile(token.NewFileSet(), "", asFile, 0)
	if err == nil {
		return head + useNames(f, nil) + line + text + "\n\nfunc Main() {}\n", nil
	}
	f, err = parser.ParseFile(token.NewFileSet(), "", head+"func Main() {\n"+line+text+"\n}\n", 0)
	if err != nil {
		return "", fmt.Errorf("neither declarations nor statements: %w", err)
	}
	var declare, used strings.Builder
	var needs []string
	for _, g := range predeclared {
		if slices.ContainsFunc(f.Unresolved, func(id *ast.Ident) bool { return id.Name == g.name }) {
			fmt.Fprintf(&declare, "\t%s\n", g.declare)
			needs = append(needs, strings.Fields(g.needs)...)
		}
	}
	for _, name := range declaredNames(f) {
		fmt.Fprintf(&used, "\t_ = %s\n", name)
	}
	return head + useNames(f, needs) + "func Main() {\n" + declare.String() + line + text + "\n" + used.String() + "}\n", nil
}

// useNames returns the imports for the names that a file uses and does not declare.
func useNames(f *ast.File, needs []string) string {
	for _, id := range f.Unresolved {
		needs = append(needs, id.Name)
	}
	slices.Sort(needs)
	var b strings.Builder
	for _, name := range slices.Compact(needs) {
		if path, ok := imports[name]; ok {
			fmt.Fprintf(&b, "import %q\n", path)
		}
	}
	return b.String()
}

// declaredNames returns the variables that the statements of Main declare, so that none of them
// counts as unused.
func declaredNames(f *ast.File) []string {
	var names []string
	main := f.Decls[len(f.Decls)-1].(*ast.FuncDecl)
	for _, s := range main.Body.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			for _, lhs := range s.Lhs {
				if id, ok := lhs.(*ast.Ident); ok && s.Tok == token.DEFINE && id.Name != "_" {
					names = append(names, id.Name)
				}
			}
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, id := range v.Names {
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// parsers say whether a file is a program of a language, without running it.
var parsers = map[string][]string{
	"python": {"python3", "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())"},
	"js":     {"node", "--check"},
}

// checkSyntax checks the syntax of a program, if the machine has the language.
func checkSyntax(t *testing.T, lang, text string) error {
	t.Helper()
	parser := parsers[lang]
	if _, err := exec.LookPath(parser[0]); err != nil {
		return nil
	}
	name := filepath.Join(t.TempDir(), "block.mjs")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return err
	}
	out, err := exec.Command(parser[0], append(slices.Clone(parser[1:]), name)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("not a program in %s: %s", lang, out)
	}
	return nil
}

// TestDataBlocksAreValid checks the blocks of TOML, JSON, Python and JavaScript, and that commands are in
// console blocks.
func TestDataBlocksAreValid(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.blocks(t) {
			text := strings.Join(b.body(), "\n")
			switch {
			case b.notRun != "" || b.lang == "console" || b.lang == "go" || b.output:
			case b.lang == "toml":
				_, err := config.Parse(b.file, []byte(text))
				if (err != nil) != strings.HasPrefix(b.file, "bad") {
					t.Errorf("%s:%d: %v; only a file whose name begins with bad is wrong", p.name, b.first, err)
				}
			case b.lang == "json":
				if err := validJSON(text); err != nil {
					t.Errorf("%s:%d: %v", p.name, b.first, err)
				}
			case parsers[b.lang] != nil:
				if err := checkSyntax(t, b.lang, text); err != nil {
					t.Errorf("%s:%d: %v", p.name, b.first, err)
				}
			case b.lang != "" && b.lang != "text" && b.lang != "sh":
				t.Errorf("%s:%d: nothing checks a block of %s", p.name, b.first, b.lang)
			case slices.ContainsFunc(b.body(), func(s string) bool { return strings.HasPrefix(s, "$ ") || strings.HasPrefix(s, "pare ") }):
				t.Errorf("%s:%d: commands belong in a console block, each behind \"$ \"", p.name, b.first)
			}
		}
	}
}

// validJSON checks that a text contains one or several JSON values.
func validJSON(text string) error {
	dec := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		var v any
		switch err := dec.Decode(&v); {
		case err != nil && n > 0 && !dec.More():
			return nil
		case err != nil:
			return errors.Join(errors.New("not JSON"), err)
		}
	}
}
